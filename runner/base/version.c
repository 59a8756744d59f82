#include "base/version.h"

#include "base/numeric_version.h"

const char *pe_run_version(void) {
  return PE_RUN_VERSION;
}

const char *pe_numeric_version(void) {
  return PE_NUMERIC_VERSION;
}
