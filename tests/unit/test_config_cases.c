/* Configs and what comes of them: the message to the letter, or the resolved plan.
 *
 * config_cases/NAME.txt holds cases: a line "==== name", the config, a line ">>>> key=value" for each argument, a line
 * "----", and what is expected. A config without model, schemes or experiments gets them at its end (model: {random:
 * {}}, schemes: [rope], experiments: [attention]) unless the name ends in "(as it is)"; with "(no file)" there is
 * none. A plan that comes out is read again as a config, and must come out the same.
 */
#include "base/text.h"
#include "config_fixture.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_ARGUMENTS = 16 };

struct config_case {
  char name[200];
  struct text config, expected;
  char *arguments[MAX_ARGUMENTS];
  size_t n_arguments;
};

static bool has_key(const struct text *config, const char *key) {
  size_t length = strlen(key);
  for (const char *line = config->data ? config->data : ""; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (!strncmp(line, key, length) && line[length] == ':') {
      return true;
    }
  }
  return false;
}

static void complete(struct config_case *item) {
  static const char *const parts[][2] = {{"model", "model: {random: {}}\n"},
                                         {"schemes", "schemes: [rope]\n"},
                                         {"experiments", "experiments: [attention]\n"}};
  for (size_t i = 0; i < 3; i++) {
    if (!has_key(&item->config, parts[i][0]) && !strchr(item->name, '(')) {
      text_append(&item->config, parts[i][1]);
    }
  }
}

/* Number of cases that came out otherwise: 0 or 1. */
static int run(struct config_case *item) {
  struct error err;
  complete(item);
  char *config = text_take(&item->config, &err), *expected = text_take(&item->expected, &err);
  struct plan_request request = config_fixture_request(strstr(item->name, "(no file)") ? NULL : config,
                                                       (const char *const *)item->arguments, item->n_arguments);
  char *outcome = config_fixture_outcome(&request);
  int wrong = strcmp(outcome, expected) != 0;
  if (!wrong && !strncmp(outcome, "title: ", 7)) {
    struct plan_request again = config_fixture_request(outcome, NULL, 0);
    char *second = config_fixture_outcome(&again);
    wrong = strcmp(second, outcome) != 0;
    free(outcome);
    outcome = second;
  }
  if (wrong) {
    print_error("==== %s\n%s---- expected\n%s---- got\n%s", item->name, config, expected, outcome);
  }
  for (size_t i = 0; i < item->n_arguments; i++) {
    free(item->arguments[i]);
  }
  free(outcome);
  free(config);
  free(expected);
  *item = (struct config_case){0};
  return wrong;
}

static int run_file(const char *path, size_t *cases) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  struct config_case item = {0};
  bool expecting = false;
  char *line = NULL;
  size_t capacity = 0;
  int wrong = 0;
  while (getline(&line, &capacity, file) > 0) {
    if (!strncmp(line, "==== ", 5)) {
      wrong += item.name[0] ? run(&item) : 0;
      line[strcspn(line, "\n")] = '\0';
      snprintf(item.name, sizeof item.name, "%s", line + 5);
      expecting = false;
      ++*cases;
    } else if (!strncmp(line, ">>>> ", 5)) {
      line[strcspn(line, "\n")] = '\0';
      assert_true(item.n_arguments < MAX_ARGUMENTS);
      item.arguments[item.n_arguments++] = strdup(line + 5);
    } else if (!strcmp(line, "----\n")) {
      expecting = true;
    } else {
      text_append(expecting ? &item.expected : &item.config, line);
    }
  }
  wrong += item.name[0] ? run(&item) : 0;
  free(line);
  fclose(file);
  return wrong;
}

static int is_case_file(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 4 && !strcmp(entry->d_name + length - 4, ".txt");
}

static void every_case_comes_out_to_the_letter(void **state) {
  (void)state;
  static const char folder[] = TEST_SOURCE_DIR "/tests/unit/config_cases";
  struct dirent **files;
  int count = scandir(folder, &files, is_case_file, alphasort), wrong = 0;
  size_t cases = 0;
  assert_true(count > 0);
  for (int i = 0; i < count; i++) {
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, files[i]->d_name) > 0);
    wrong += run_file(path, &cases);
    free(path);
    free(files[i]);
  }
  free(files);
  print_message("%zu cases\n", cases);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_comes_out_to_the_letter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
