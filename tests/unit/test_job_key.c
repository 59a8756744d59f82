/* A job's key covers what decides its result, and nothing else. Expected: which jobs a change concerns, by what it is.
 */
#include "jobs/job_key.h"
#include "real_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_JOBS = 64 };

struct keys {
  size_t count;
  char id[MOST_JOBS][200];
  char key[MOST_JOBS][HASH_TEXT];
};

static void keys_of(struct keys *keys, const char *text, const char *override, struct job_key_setting setting) {
  struct real_plan real;
  struct error err = {0};
  real_plan_open(&real, text, &override, override ? 1 : 0);
  keys->count = real.plan->n_jobs;
  assert_in_range(keys->count, 1, MOST_JOBS);
  if (job_keys(real.plan, &setting, keys->key, &err)) {
    fail_msg("%s", err.text);
  }
  for (size_t i = 0; i < keys->count; i++) {
    char *id = plan_job_id(real.plan, &real.plan->jobs[i], &err);
    snprintf(keys->id[i], sizeof keys->id[i], "%s", id);
    free(id);
    assert_int_equal(strlen(keys->key[i]), 64);
  }
  real_plan_close(&real);
}

static const char *key_of(const struct keys *keys, const char *id) {
  for (size_t i = 0; i < keys->count; i++) {
    if (!strcmp(keys->id[i], id)) {
      return keys->key[i];
    }
  }
  return NULL;
}

static const char config[] = "model: {random: {heads: 2, head_dim: 8, d_model: 12, length: 6}}\n"
                             "title: one\nseed: 3\noutput: a.h5\n"
                             "schemes: [none, rope, alibi]\n"
                             "experiments: [equivariance, {relative_position: {length: 6}}]\n";
static const struct job_key_setting plain = {.reference = false};

/* Every job has a key of its own, the same every time. */
static void keys_are_distinct_and_stable(void **state) {
  (void)state;
  struct keys once, again;
  keys_of(&once, config, NULL, plain);
  keys_of(&again, config, NULL, plain);
  assert_int_equal(once.count, 6);
  for (size_t i = 0; i < once.count; i++) {
    assert_string_equal(once.key[i], again.key[i]);
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(once.key[i], once.key[k]);
    }
  }
}

/* What each change concerns: every job whose id contains the text. */
static void keys_follow_what_decides(void **state) {
  (void)state;
  static const struct {
    const char *override, *concerned;
  } changes[] = {
      {"title=two", "nothing"},
      {"output=b.h5", "nothing"},
      {"expect=[equivariance.deviation.rope.max > 0]", "nothing"},
      {"seed=4", ""},
      {"model.random.heads=4", ""},
      {"model.random.correlation=0.25", ""},
      {"rope.base=5e5", "/rope"},
      {"rope.base=10000.000000000002", "/rope"}, /* the next double */
      {"rope.base=1e4", "nothing"},              /* the default, spelt out */
      {"relative_position.shifts=[1,2]", "relative_position/"},
      {"equivariance.mask=[none]", "equivariance/"},
      {"equivariance.save=[q]", "equivariance/"},
  };
  struct keys before, after;
  keys_of(&before, config, NULL, plain);
  for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
    keys_of(&after, config, changes[c].override, plain);
    assert_int_equal(after.count, before.count);
    for (size_t i = 0; i < before.count; i++) {
      bool concerned = strstr(before.id[i], changes[c].concerned) != NULL;
      if (!strcmp(before.key[i], after.key[i]) == concerned) {
        fail_msg("%s: the key of %s %s", changes[c].override, before.id[i], concerned ? "is the same" : "is another");
      }
    }
  }
}

static void arithmetic_and_the_trained_scheme_count(void **state) {
  (void)state;
  struct keys before, reference, trained;
  keys_of(&before, config, NULL, plain);
  keys_of(&reference, config, NULL, (struct job_key_setting){.reference = true});
  keys_of(&trained, config, NULL, (struct job_key_setting){.trained = (const char *const[]){"aa", "aa"}});
  for (size_t i = 0; i < before.count; i++) {
    assert_string_not_equal(before.key[i], reference.key[i]);
    assert_string_not_equal(before.key[i], trained.key[i]);
  }
}

/* A larger config, in another order: what was there has the same keys. */
static void other_jobs_do_not_count(void **state) {
  (void)state;
  struct keys small, large;
  keys_of(&small, config, NULL, plain);
  keys_of(&large,
          "model: {random: {heads: 2, head_dim: 8, d_model: 12, length: 6}}\nseed: 3\n"
          "schemes: [sinusoidal, alibi, rope, {rope: {base: 5}, label: other}, none]\n"
          "experiments: [{relative_position: {length: 6}}, attention, equivariance]\n",
          NULL, plain);
  for (size_t i = 0; i < small.count; i++) {
    const char *key = key_of(&large, small.id[i]);
    assert_non_null(key);
    assert_string_equal(key, small.key[i]);
  }
}

static void seeds_are_told_apart(void **state) {
  (void)state;
  struct keys one, three;
  keys_of(&one, config, NULL, plain);
  keys_of(&three, config, "seeds=3", plain);
  assert_string_equal(key_of(&one, "equivariance/rope"), key_of(&three, "equivariance/rope/3"));
  assert_string_not_equal(key_of(&three, "equivariance/rope/3"), key_of(&three, "equivariance/rope/4"));
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* Files count by what they hold: a moved one is the same, a changed one is another. */
static void files_count_by_content(void **state) {
  (void)state;
  char folder[] = "/tmp/pe-run-key-XXXXXX", path[3][64], text[512];
  struct keys keys[3];
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < 3; i++) {
    snprintf(path[i], sizeof path[i], "%s/%d.txt", folder, i);
    write_text(path[i], i < 2 ? "a 1 2 3 4\nb 2 3 4 5\n" : "a 1 2 3 4\nb 2 3 4 6\n");
    snprintf(text, sizeof text,
             "model: {embeddings: {file: %s, heads: 1, head_dim: 4}, tokens: {text: a b}}\n"
             "schemes: [none, rope]\nexperiments: [attention]\n",
             path[i]);
    keys_of(&keys[i], text, NULL, plain);
  }
  for (size_t i = 0; i < keys[0].count; i++) {
    assert_string_equal(keys[0].key[i], keys[1].key[i]);
    assert_string_not_equal(keys[0].key[i], keys[2].key[i]);
  }
  for (int i = 0; i < 3; i++) {
    unlink(path[i]);
  }
  rmdir(folder);
}

/* A dataset counts by its file's bytes and its name in there, a table in the config by its numbers. */
static void tensors_count_by_content(void **state) {
  (void)state;
  static const char *const tables[] = {
      TEST_SOURCE_DIR "/data/use-lite.h5:/one", TEST_SOURCE_DIR "/data/use-lite.h5:/two",
      TEST_SOURCE_DIR "/data/glove-100d.h5:/one", "[[1, 2], [3, 4]]", "[[1, 2], [3, 5]]"};
  enum { TABLES = sizeof tables / sizeof *tables };
  char text[1024];
  struct keys keys[TABLES];
  for (int i = 0; i < TABLES; i++) {
    snprintf(text, sizeof text,
             "model: {matrix: {x: [[1, 0], [0, 1]]}}\nexperiments: [attention]\n"
             "schemes: [{learned: {max_positions: 2, table: \"%s\"}}]\n",
             tables[i]);
    if (tables[i][0] == '[') {
      snprintf(text, sizeof text,
               "model: {matrix: {x: [[1, 0], [0, 1]]}}\nexperiments: [attention]\n"
               "schemes: [{learned: {max_positions: 2, table: %s}}]\n",
               tables[i]);
    }
    keys_of(&keys[i], text, NULL, plain);
    for (int k = 0; k < i; k++) {
      assert_string_not_equal(keys[i].key[0], keys[k].key[0]);
    }
  }
}

static void a_file_that_is_not_there_is_named(void **state) {
  (void)state;
  struct real_plan real;
  struct error err = {0};
  char keys[8][HASH_TEXT];
  real_plan_open(&real,
                 "model: {matrix: {x: [[1, 0], [0, 1]]}}\n"
                 "schemes: [none, {rope: {}, weights: /nowhere/w.h5}]\nexperiments: [attention]\n",
                 NULL, 0);
  assert_int_equal(job_keys(real.plan, &plain, keys, &err), ERROR_FILE_READ);
  assert_non_null(strstr(err.text, "/nowhere/w.h5"));
  real_plan_close(&real);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_are_distinct_and_stable),
      cmocka_unit_test(keys_follow_what_decides),
      cmocka_unit_test(arithmetic_and_the_trained_scheme_count),
      cmocka_unit_test(other_jobs_do_not_count),
      cmocka_unit_test(seeds_are_told_apart),
      cmocka_unit_test(files_count_by_content),
      cmocka_unit_test(tensors_count_by_content),
      cmocka_unit_test(a_file_that_is_not_there_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
