#include "base/version.h"

const char *pe_run_version(void) {
  return PE_RUN_VERSION;
}
