/* pe-run plan CONFIG [key=value ...] */
#include "commands/commands.h"
#include "commands/session.h"

#include "base/memory.h"

#include <stdlib.h>

struct arguments {
  struct session_options session;
  const char *config;
  const char **overrides;
  size_t n_overrides;
  int jobs;
};

enum { OPTION_JOBS = 0x200 };

static const struct argp_option options[] = {{"jobs", OPTION_JOBS, NULL, 0, "list the jobs instead", 1}, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    return 0;
  case OPTION_JOBS:
    a->jobs = 1;
    return 0;
  case ARGP_KEY_ARG:
    if (!a->config) {
      a->config = argument;
    } else {
      a->overrides[a->n_overrides++] = argument;
    }
    return 0;
  case ARGP_KEY_END:
    if (!a->config) {
      argp_error(state, "no CONFIG given");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "CONFIG [KEY=VALUE ...]",
    .doc = "Print the resolved plan: a valid config with every default filled in. Nothing is run.",
    .children = children,
};

static int print_plan(const struct plan *plan, struct error *err) {
  char *text = plan_print(plan, true, err);
  if (!text) {
    return err->code;
  }
  fputs(text, stdout);
  free(text);
  return 0;
}

static int print_jobs(const struct plan *plan, struct error *err) {
  for (size_t i = 0; i < plan->n_jobs; i++) {
    char *id = plan_job_id(plan, &plan->jobs[i], err);
    if (!id) {
      return err->code;
    }
    printf("%s\n", id);
    free(id);
  }
  return 0;
}

int command_plan(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {0};
  a.overrides = memory_new((size_t)argc, sizeof *a.overrides, "arguments", &err);
  if (!a.overrides) {
    return command_fail(&err);
  }
  argp_err_exit_status = 2;
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  struct plan *plan = code ? NULL : session_plan(&session, a.config, NULL, a.overrides, a.n_overrides, &code);
  if (plan && (a.jobs ? print_jobs(plan, &err) : print_plan(plan, &err))) {
    code = command_fail(&err);
  }
  plan_free(plan);
  session_close(&session);
  free(a.overrides);
  return code;
}
