/* From a config's text to a plan: what is read, defaulted, printed and numbered. */
#include "config_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_basic_path),
      cmocka_unit_test(overrides_change_any_key),
      cmocka_unit_test(the_printed_plan_gives_the_same_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
