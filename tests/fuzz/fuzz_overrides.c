/* Any lines as key=value arguments on a config with everything in it. */
#include "config_fixture.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ARGUMENTS = 16 };

static const char config[] = "title: a\n"
                             "model: {random: {heads: 4}, positions: [1, 2]}\n"
                             "schemes:\n"
                             "  - rope: {factors: [1, 2], share: [0.5]}\n"
                             "  - learned: {max_positions: 2, table: [[1, 2], [3, 4]]}\n"
                             "    label: table_of_two\n"
                             "    positions: {divide: auto}\n"
                             "  - sinusoidal\n"
                             "experiments:\n"
                             "  - extrapolation: {lengths: [1, 2, 3], save: [q, k]}\n"
                             "  - attention\n"
                             "sweep: {rope.base: [10, 20]}\n"
                             "expect: [a.none.mean < 1]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) {
    return 0;
  }
  if (size) {
    memcpy(text, data, size);
  }
  text[size] = '\0';
  const char *arguments[MAX_ARGUMENTS];
  size_t count = 0;
  char *rest = text;
  for (char *line; count < MAX_ARGUMENTS && (line = strsep(&rest, "\n"));) {
    arguments[count++] = line;
  }
  struct plan_request request = config_fixture_request(config, arguments, count);
  config_fixture_check(&request);
  free(text);
  return 0;
}
