#include "host/host.h"

const struct scheme *host_none(void) {
  static const struct scheme NONE = {.info = {.id = "none",
                                              .title = "no positional encoding, the control",
                                              .reference = "Kazemnejad et al. 2023 (NoPE)",
                                              .version = 1,
                                              .params = {.name = "none", .doc = "no positional encoding, the control"},
                                              .plugin_name = "pe-run",
                                              .plugin_version = "",
                                              .path = ""}};
  return &NONE;
}
