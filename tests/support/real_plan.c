#include "real_plan.h"

#include "experiments/experiment.h"
#include "jobs/job_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const struct scheme_info *find(void *context, const char *id, const char *plugin, struct error *err) {
  const struct scheme *scheme = host_find(context, id, plugin, err);
  return scheme ? &scheme->info : NULL;
}

void real_plan_open(struct real_plan *real, const char *text, const char *const *overrides, size_t n_overrides) {
  static const char *const directories[] = {TEST_PLUGIN_DIR}, *const ids[] = {NULL};
  struct error err = {0};
  struct diagnostics diagnostics = {0};
  struct host_options options = {.directories = directories, .n_directories = 1};
  *real = (struct real_plan){0};
  assert_int_equal(host_open(&options, &real->host, &err), 0);
  struct plan_request request = {.text = text,
                                 .overrides = overrides,
                                 .n_overrides = n_overrides,
                                 .schemes = {find, ids, real->host},
                                 .experiments = experiment_infos(),
                                 .default_seeds = experiment_default_seeds,
                                 .scheme_defaults = experiment_scheme_defaults,
                                 .experiment_check = experiment_check};
  real->plan = plan_load(&request, &diagnostics);
  if (!real->plan) {
    diagnostics_print(&diagnostics, stderr);
    fail_msg("the test's config is refused");
  }
  diagnostics_free(&diagnostics);
  real->model = model_open(real->plan->model, real->plan->seed, &err);
  if (!real->model) {
    fail_msg("%s", err.text);
  }
}

void real_plan_run(const struct real_plan *real, size_t index, struct record *record) {
  struct error err = {0};
  struct job_setting setting = {.plan = real->plan, .host = real->host};
  assert_int_equal(job_run(&setting, &real->plan->jobs[index], real->model, record, &err), 0);
}

void real_plan_close(struct real_plan *real) {
  model_close(real->model);
  plan_free(real->plan);
  host_close(real->host);
}
