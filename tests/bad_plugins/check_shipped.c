/* check_shipped LEVEL [PLUGIN.so]: every plugin of the build, or this one, passes every check of `quick`, `full` or
 * `deep`. */
#include "host/check/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(void *plugin, const struct check_result *result) {
  if (result->outcome != CHECK_PASS && result->outcome != CHECK_SKIP) {
    printf("%s, %s: %s is %s: %s\n", (const char *)plugin, result->scheme, result->id,
           check_outcome_name(result->outcome), result->text);
  }
}

static int is_plugin(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 3 && !strcmp(entry->d_name + length - 3, ".so");
}

int main(int argc, char **argv) {
  static const char *const LEVELS[] = {"quick", "full", "deep"};
  struct check_options options = {.seed = 17};
  size_t level = 0;
  while (level < 3 && (argc < 2 || argc > 3 || strcmp(argv[1], LEVELS[level]) != 0)) {
    level++;
  }
  if (level == 3) {
    fprintf(stderr, "usage: check_shipped quick|full|deep [PLUGIN.so]\n");
    return 2;
  }
  options.level = (enum check_level)level;
  options.time_limit = 120; /* other tests run beside this one */
  struct dirent **names = NULL;
  int count = scandir(TEST_PLUGIN_DIR, &names, is_plugin, alphasort);
  size_t passed = 0, bad = 0, checked = 0;
  for (int i = 0; i < count; i++) {
    char path[600];
    struct error err;
    struct check_summary summary;
    if (argc == 3 && strcmp(argv[2], names[i]->d_name) != 0) {
      free(names[i]);
      continue;
    }
    checked++;
    snprintf(path, sizeof path, "%s/%s", TEST_PLUGIN_DIR, names[i]->d_name);
    if (check_plugin(path, &options, report, names[i]->d_name, &summary, &err)) {
      printf("%s: %s\n", names[i]->d_name, err.text);
      bad++;
    }
    passed += summary.count[CHECK_PASS];
    bad += summary.count[CHECK_FAIL] + summary.count[CHECK_CRASHED];
    free(names[i]);
  }
  free(names);
  printf("%zu plugins, %zu checks passed, %zu not\n", checked, passed, bad);
  return checked < (argc == 3 ? 1 : 3) || bad > 0;
}
