/* From a config's text to a plan: what is read, defaulted, printed and numbered. */
#include "comma_locale.h"
#include "config/paths.h"
#include "config_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char basic[] = "title: Which one?\n"
                            "seed: 5\n"
                            "output: out/a.h5\n"
                            "model:\n"
                            "  weights: data/use-lite.h5\n"
                            "  tokens: {file: [data/a.txt, data/b.txt], unknown: skip}\n"
                            "schemes:\n"
                            "  - sinusoidal:\n"
                            "  - rope: {base: 5e5, rotary_dim: 32}\n"
                            "    label: rope_far\n"
                            "    positions: {divide: auto}\n"
                            "    weights: data/rope.h5\n"
                            "  - learned: {max_positions: 2, table: [[1, 2], [3, 4.5]]}\n"
                            "experiments:\n"
                            "  - extrapolation: {train_length: 128, lengths: [128, 1024]}\n"
                            "  - attention\n";

static struct plan *load(const char *text, const char *const *overrides, size_t count) {
  struct plan_request request = config_fixture_request(text, overrides, count);
  struct diagnostics diagnostics = {0};
  struct plan *plan = plan_load(&request, &diagnostics);
  if (!plan) {
    diagnostics_print(&diagnostics, stderr);
  }
  assert_non_null(plan);
  assert_int_equal(diagnostics_exit_code(&diagnostics), 0);
  diagnostics_free(&diagnostics);
  return plan;
}

static void reads_the_basic_path(void **state) {
  (void)state;
  struct plan *plan = load(basic, NULL, 0);
  assert_string_equal(plan->title, "Which one?");
  assert_int_equal(plan->seed, 5);
  assert_int_equal(plan->n_seeds, 1);
  assert_string_equal(plan->output, "out/a.h5");
  assert_string_equal(section_get(plan->model, "weights")->text, "data/use-lite.h5");
  const struct section *tokens = section_get(plan->model, "tokens")->section;
  assert_int_equal(section_get(tokens, "file")->count, 2);
  assert_string_equal(section_get(tokens, "file")->texts[1], "data/b.txt");
  assert_string_equal(section_get(tokens, "unknown")->text, "skip");
  assert_false(section_get(tokens, "ids")->given);

  assert_int_equal(plan->n_schemes, 4);
  assert_string_equal(plan->schemes[0].label, "sinusoidal");
  assert_true(section_get(plan->schemes[0].params, "base")->real == 10000);
  assert_false(section_get(plan->schemes[0].params, "base")->by_user);
  const struct plan_scheme *rope = &plan->schemes[1];
  assert_string_equal(rope->label, "rope_far");
  assert_true(section_get(rope->params, "base")->real == 500000);
  assert_int_equal(section_get(rope->params, "base")->line, 9);
  assert_int_equal(section_get(rope->params, "base")->column, 18);
  assert_int_equal(section_get(rope->params, "rotary_dim")->integer, 32);
  assert_int_equal(rope->map.kind, POSITION_DIVIDE);
  assert_true(rope->map.automatic);
  assert_string_equal(rope->weights, "data/rope.h5");
  const struct plan_scheme *learned = &plan->schemes[2];
  assert_int_equal(learned->tensors[0].rank, 2);
  assert_int_equal(learned->tensors[0].dim[0], 2);
  assert_true(learned->tensors[0].list[3] == 4.5);
  assert_string_equal(plan->schemes[3].label, "none");
  assert_true(plan->schemes[3].implied);

  assert_int_equal(plan->n_experiments, 2);
  const struct key_value *lengths = section_get(plan->experiments[0].keys, "lengths");
  assert_int_equal(lengths->count, 2);
  assert_true(lengths->list[1] == 1024);
  assert_string_equal(section_get(plan->experiments[0].keys, "mask")->text, "causal");
  /* The control runs where it is wanted only. */
  assert_int_equal(plan->n_jobs, 4 + 3);
  assert_int_equal(plan->jobs[3].scheme, 3);
  assert_int_equal(plan->jobs[4].experiment, 1);
  plan_free(plan);
}

static void overrides_change_any_key(void **state) {
  (void)state;
  const char *const overrides[] = {"seed=7", "rope_far.base=1e4", "extrapolation.lengths=[512]",
                                   "schemes[0].layout=interleaved", "model.tokens={text: I work he}"};
  struct plan *plan = load(basic, overrides, 5);
  assert_int_equal(plan->seed, 7);
  assert_true(section_get(plan->schemes[1].params, "base")->real == 10000);
  assert_int_equal(section_get(plan->schemes[1].params, "base")->line, -2);
  assert_true(section_get(plan->experiments[0].keys, "lengths")->list[0] == 512);
  assert_string_equal(section_get(plan->schemes[0].params, "layout")->text, "interleaved");
  assert_string_equal(section_get(section_get(plan->model, "tokens")->section, "text")->texts[0], "I work he");
  plan_free(plan);
}

static void the_printed_plan_gives_the_same_plan(void **state) {
  (void)state;
  struct error err;
  struct plan *plan = load(basic, NULL, 0);
  char *printed = plan_print(plan, true, &err);
  struct plan *again = load(printed, NULL, 0);
  char *printed_again = plan_print(again, true, &err);
  assert_string_equal(printed, printed_again);
  assert_int_equal(again->n_jobs, plan->n_jobs);
  char *id = plan_job_id(plan, &plan->jobs[4], &err);
  assert_string_equal(id, "attention/sinusoidal");
  free(id);
  free(printed);
  free(printed_again);
  plan_free(plan);
  plan_free(again);
}

/* Inputs of a config in a folder, as this process finds them and as the record keeps them. */
static const char folder_config[] = "\xef\xbb\xbf"
                                    "model:\r\n"
                                    "  weights: ../data/w.h5\r\n"
                                    "  tokens: {file: [a.txt, /tmp/b.txt]}\r\n"
                                    "schemes:\r\n"
                                    "  - learned: {max_positions: 2, table: t.npy}\r\n"
                                    "    weights: ./w.h5\r\n"
                                    "experiments: [attention]\r\n";

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static struct plan *load_file(const char *path, const char *const *overrides, size_t count) {
  struct plan_request request = config_fixture_request(NULL, overrides, count);
  request.path = path;
  struct diagnostics diagnostics = {0};
  struct plan *plan = plan_load(&request, &diagnostics);
  if (!plan) {
    diagnostics_print(&diagnostics, stderr);
  }
  assert_non_null(plan);
  diagnostics_free(&diagnostics);
  return plan;
}

static void paths_are_relative_to_the_config(void **state) {
  (void)state;
  char folder[] = "/tmp/pe-run-test-XXXXXX";
  struct error err;
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  assert_int_equal(mkdir("configs", 0777), 0);
  assert_int_equal(mkdir("other", 0777), 0);
  write_file("configs/far.yaml", folder_config);
  const char *const overrides[] = {"model.tokens.file=data/c.txt"};

  struct plan *plan = load_file("configs/far.yaml", NULL, 0);
  assert_string_equal(plan->output, "results/far.h5");
  assert_string_equal(plan->config_text, folder_config);
  assert_string_equal(plan->config_path, "configs/far.yaml");
  assert_string_equal(section_get(plan->model, "weights")->text, "configs/../data/w.h5");
  const struct key_value *files = section_get(section_get(plan->model, "tokens")->section, "file");
  assert_string_equal(files->texts[0], "configs/a.txt");
  assert_string_equal(files->texts[1], "/tmp/b.txt");
  assert_string_equal(plan->schemes[0].weights, "configs/./w.h5");
  assert_string_equal(plan->schemes[0].tensors[0].text, "configs/t.npy");
  char *record = plan_print(plan, false, &err);
  assert_null(strstr(record, "output"));
  assert_non_null(strstr(record, "weights: ../data/w.h5\n"));
  assert_non_null(strstr(record, "file: [a.txt, /tmp/b.txt]\n"));
  assert_non_null(strstr(record, "table: t.npy\n"));
  plan_free(plan);

  /* The record works beside the config and does not depend on where the run was started. */
  write_file("configs/again.yaml", record);
  static const char *const starts[][2] = {
      {".", "configs/again.yaml"}, {"configs", "again.yaml"}, {"../other", "../configs/far.yaml"}};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(chdir(starts[i][0]), 0);
    plan = load_file(starts[i][1], NULL, 0);
    char *again = plan_print(plan, false, &err);
    assert_string_equal(again, record);
    free(again);
    plan_free(plan);
  }
  assert_int_equal(chdir(folder), 0);
  free(record);

  /* What was typed is relative to where it was typed; the record has it from the config's folder. */
  plan = load_file("configs/far.yaml", overrides, 1);
  files = section_get(section_get(plan->model, "tokens")->section, "file");
  assert_string_equal(files->texts[0], "data/c.txt");
  record = plan_print(plan, false, &err);
  assert_non_null(strstr(record, "file: ../data/c.txt\n"));
  free(record);
  char *here = plan_print(plan, true, &err);
  assert_non_null(strstr(here, "weights: configs/../data/w.h5\n"));
  assert_non_null(strstr(here, "file: data/c.txt\n"));
  assert_non_null(strstr(here, "output: results/far.h5\n"));
  free(here);
  plan_free(plan);
  unlink("configs/far.yaml");
  unlink("configs/again.yaml");
  rmdir("configs");
  rmdir("other");
  assert_int_equal(chdir("/"), 0);
  rmdir(folder);
}

static void paths_are_written_back_as_they_were_read(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      /* folder, as written, resolved */
      {"", "a.h5", "a.h5"},
      {"", "/a.h5", "/a.h5"},
      {"configs", "a.h5", "configs/a.h5"},
      {"configs", "../data/a.h5:/x", "configs/../data/a.h5:/x"},
      {"/", "a.h5", "/a.h5"},
      {"/x/y", "../a.h5", "/x/y/../a.h5"},
      {"x", "/data/a.h5", "/data/a.h5"},
      {"x", "/xy", "/xy"},
  };
  struct error err;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *resolved = path_join(cases[i][0], cases[i][1], &err);
    assert_string_equal(resolved, cases[i][2]);
    char *written = path_relative(cases[i][0], resolved, &err);
    assert_string_equal(written, cases[i][1]);
    free(resolved);
    free(written);
  }
  static const char *const elsewhere[][3] = {
      /* folder, path from here, what stands in a config of the folder */
      {"configs", "data/a.h5", "../data/a.h5"},
      {"a/b", "a/c/./d.h5", "../c/d.h5"},
      {"a/../b", "c/../b/d.h5", "d.h5"},
      {"configs", "configs2/a.h5", "../configs2/a.h5"},
  };
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
    char *written = path_relative(elsewhere[i][0], elsewhere[i][1], &err);
    assert_string_equal(written, elsewhere[i][2]);
    free(written);
  }
}

static void a_sweep_is_crossed_with_experiments_and_seeds(void **state) {
  (void)state;
  struct plan *plan = load("model: {random: {}}\n"
                           "seed: 3\n"
                           "seeds: 2\n"
                           "schemes: [rope]\n"
                           "experiments: [extrapolation, attention]\n"
                           "sweep: {rope.base: [10, 20]}\n",
                           NULL, 0);
  static const char *const ids[] = {"extrapolation/rope_base_10/3", "extrapolation/rope_base_10/4",
                                    "extrapolation/rope_base_20/3", "extrapolation/rope_base_20/4",
                                    "extrapolation/none/3",         "extrapolation/none/4",
                                    "attention/rope_base_10/3",     "attention/rope_base_10/4",
                                    "attention/rope_base_20/3",     "attention/rope_base_20/4"};
  assert_int_equal(plan->n_jobs, sizeof ids / sizeof *ids);
  for (size_t i = 0; i < plan->n_jobs; i++) {
    struct error err;
    char *id = plan_job_id(plan, &plan->jobs[i], &err);
    assert_string_equal(id, ids[i]);
    free(id);
  }
  plan_free(plan);
}

static void expectations_are_taken_apart(void **state) {
  (void)state;
  struct plan *plan = load("model: {random: {}}\n"
                           "schemes: [rope]\n"
                           "experiments: [attention]\n"
                           "expect:\n"
                           "  - truncation_jsd.rope.mean < 0.1\n"
                           "  - attention.deviation[mask=causal, length = 0.5].rope >= -1e-3\n",
                           NULL, 0);
  assert_int_equal(plan->n_expectations, 2);
  const struct plan_expectation *first = &plan->expectations[0], *second = &plan->expectations[1];
  assert_string_equal(first->text, "truncation_jsd.rope.mean < 0.1");
  assert_string_equal(first->experiment, "");
  assert_string_equal(first->measure, "truncation_jsd");
  assert_string_equal(first->label, "rope");
  assert_int_equal(first->reduction, EXPECT_MEAN);
  assert_int_equal(first->relation, EXPECT_LESS);
  assert_true(first->number == 0.1);
  assert_int_equal(first->n_choices, 0);
  assert_string_equal(second->experiment, "attention");
  assert_string_equal(second->measure, "deviation");
  assert_int_equal(second->reduction, EXPECT_VALUE);
  assert_int_equal(second->relation, EXPECT_GREATER_OR_EQUAL);
  assert_true(second->number == -1e-3);
  assert_int_equal(second->n_choices, 2);
  assert_string_equal(second->choices[0].axis, "mask");
  assert_string_equal(second->choices[0].value, "causal");
  assert_string_equal(second->choices[1].axis, "length");
  assert_string_equal(second->choices[1].value, "0.5");
  assert_string_equal(expect_reduction_name(first->reduction), "mean");
  assert_string_equal(expect_relation_name(second->relation), ">=");
  plan_free(plan);
}

static void hints_name_the_nearest(void **state) {
  (void)state;
  static const char *const names[] = {"base", "layout", "rotary_dim", "max_positions", "x", NULL};
  static const char *const cases[][2] = {{"bsae", "base"},
                                         {"Base", "base"},
                                         {"basee", "base"},
                                         {"layuot", "layout"},
                                         {"rotary_dims", "rotary_dim"},
                                         {"max_pos", "max_positions"},
                                         {"zzzz", NULL},
                                         {"", NULL},
                                         {"y", NULL},
                                         {"lay", "layout"},
                                         {"b", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *near = config_nearest(cases[i][0], names);
    if (!cases[i][1]) {
      assert_null(near);
    } else {
      assert_non_null(near);
      assert_string_equal(near, cases[i][1]);
    }
  }
}

static void at_most_a_hundred_faults_are_shown(void **state) {
  (void)state;
  char text[8192] = "model: {matrix: {x: [[";
  for (int i = 0; i < 120; i++) {
    strcat(text, "x, ");
  }
  strcat(text, "1]]}}\nschemes: [rope]\nexperiments: [attention]\n");
  struct plan_request request = config_fixture_request(text, NULL, 0);
  struct diagnostics diagnostics = {0};
  assert_null(plan_load(&request, &diagnostics));
  assert_int_equal(diagnostics.count, DIAGNOSTICS_MAX);
  assert_int_equal(diagnostics.left_out, 20);
  assert_int_equal(diagnostics_exit_code(&diagnostics), 2);
  diagnostics_free(&diagnostics);
}

static void a_refused_plugin_decides_the_exit_code(void **state) {
  (void)state;
  struct plan_request request = config_fixture_request("model: {random: {}}\n"
                                                       "schemes:\n"
                                                       "  - rope:\n"
                                                       "    plugin: missing.so\n"
                                                       "experiments: [attention]\n",
                                                       NULL, 0);
  struct diagnostics diagnostics = {0};
  assert_null(plan_load(&request, &diagnostics));
  assert_int_equal(diagnostics_exit_code(&diagnostics), 3);
  diagnostics_free(&diagnostics);
}

static void a_decimal_comma_changes_nothing(void **state) {
  (void)state;
  static const char text[] = "model: {random: {correlation: 0.25}}\n"
                             "schemes:\n"
                             "  - rope: {share: .125}\n"
                             "    positions: {offset: 1.5e-3}\n"
                             "experiments: [attention]\n"
                             "sweep: {rope.base: [2.5]}\n"
                             "expect: a.rope_base_2p5.mean < 0.5\n";
  struct plan_request request = config_fixture_request(text, NULL, 0);
  char *plain = config_fixture_outcome(&request);
  assert_non_null(strstr(plain, "offset: 0.0015"));
  if (!comma_locale_set()) {
    free(plain);
    skip();
  }
  char *comma = config_fixture_outcome(&request);
  assert_string_equal(comma, plain);
  free(plain);
  free(comma);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_basic_path),
      cmocka_unit_test(overrides_change_any_key),
      cmocka_unit_test(the_printed_plan_gives_the_same_plan),
      cmocka_unit_test(paths_are_relative_to_the_config),
      cmocka_unit_test(paths_are_written_back_as_they_were_read),
      cmocka_unit_test(a_sweep_is_crossed_with_experiments_and_seeds),
      cmocka_unit_test(expectations_are_taken_apart),
      cmocka_unit_test(hints_name_the_nearest),
      cmocka_unit_test(at_most_a_hundred_faults_are_shown),
      cmocka_unit_test(a_refused_plugin_decides_the_exit_code),
      cmocka_unit_test(a_decimal_comma_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
