/* Any bytes as a config: they are refused, or give a plan that is the same when printed and read again. */
#include "config_fixture.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) {
    return 0;
  }
  if (size) {
    memcpy(text, data, size);
  }
  text[size] = '\0';
  struct plan_request request = config_fixture_request(text, NULL, 0);
  config_fixture_check(&request);
  free(text);
  return 0;
}
