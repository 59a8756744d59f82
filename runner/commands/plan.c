/* pe-run plan CONFIG [key=value ...] */
#include "commands/commands.h"
#include "commands/session.h"
#include "commands/usage.h"

#include "base/memory.h"
#include "input/model.h"

#include <stdlib.h>

struct arguments {
  struct session_options session;
  const char *config;
  const char **overrides;
  size_t n_overrides;
  int jobs, tokens;
};

enum { OPTION_JOBS = 0x200, OPTION_TOKENS };

static const struct argp_option options[] = {
    {"jobs", OPTION_JOBS, NULL, 0, "list the jobs instead", 1},
    {"tokens", OPTION_TOKENS, NULL, 0, "list the tokens instead: text, place, id and piece of vocabulary", 1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    return 0;
  case OPTION_JOBS:
    a->jobs = 1;
    return 0;
  case OPTION_TOKENS:
    a->tokens = 1;
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

static int fill_tokens(const struct model *model, struct table *table, struct error *err) {
  int status = table_title(table, err, "Tokens");
  status = status ? status : table_column(table, "text", "text", false, false, err);
  status = status ? status : table_column(table, "place", "place", true, false, err);
  status = status ? status : table_column(table, "id", "id", true, false, err);
  status = status ? status : table_column(table, "piece", "piece", false, false, err);
  for (size_t t = 0; t < model->n_texts; t++) {
    const struct text_tokens *text = &model->texts[t];
    for (size_t i = 0; !status && text->ids && i < text->count; i++) {
      status = table_text(table, err, "%s", text->name);
      status = status ? status : table_number(table, (double)i, err);
      status = status ? status : table_number(table, text->ids[i], err);
      status = status ? status : table_text(table, err, "%s", model_piece(model, text->ids[i]));
    }
    if (!status && !text->ids) {
      status = table_note(table, err, "%s: no ids, the model is not given as tokens", text->name);
    }
  }
  return status;
}

static int print_tokens(const struct arguments *a, const struct plan *plan, struct error *err) {
  struct model *model = model_open(plan->model, plan->seed, err);
  if (!model) {
    return err->code;
  }
  struct table table = {0};
  struct table_style style = session_style(&a->session);
  int status = fill_tokens(model, &table, err);
  status = status ? status : table_show(&table, &style, stdout, err);
  table_free(&table);
  model_close(model);
  return status;
}

static int print(const struct arguments *a, const struct plan *plan, struct error *err) {
  return a->tokens ? print_tokens(a, plan, err) : a->jobs ? print_jobs(plan, err) : print_plan(plan, err);
}

int command_plan(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.session = {.probe = 1}};
  a.overrides = memory_new((size_t)argc, sizeof *a.overrides, "arguments", &err);
  if (!a.overrides) {
    return command_fail(&err);
  }
  command_parse(&argp, argc, argv, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  struct plan *plan = code ? NULL : session_plan(&session, a.config, NULL, a.overrides, a.n_overrides, &code);
  if (plan && print(&a, plan, &err)) {
    code = command_fail(&err);
  }
  plan_free(plan);
  session_close(&session);
  free(a.overrides);
  return code;
}
