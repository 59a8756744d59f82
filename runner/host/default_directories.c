#include "host/host.h"

#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *beside_binary(const char *folder, const char *below, struct error *err) {
  struct text path = {0};
  text_printf(&path, "%s/%s", folder, below);
  return text_take(&path, err);
}

int host_default_directories(char *out[HOST_DEFAULT_DIRECTORIES], struct error *err) {
  char binary[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", binary, sizeof binary - 1);
  if (length <= 0) {
    return error_set(err, ERROR_INTERNAL, "/proc/self/exe: the place of pe-run itself cannot be read: %s",
                     strerror(errno));
  }
  binary[length] = '\0';
  char *slash = strrchr(binary, '/');
  if (slash) {
    *slash = '\0';
  }
  out[0] = beside_binary(binary, "plugins", err);
  if (!out[0]) {
    return ERROR_MEMORY;
  }
  out[1] = beside_binary(binary, PE_RUN_PLUGINS_FROM_BIN, err);
  if (!out[1]) {
    free(out[0]);
    out[0] = NULL;
    return ERROR_MEMORY;
  }
  return 0;
}
