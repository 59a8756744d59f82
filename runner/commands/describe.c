/* pe-run describe SCHEME|EXPERIMENT [key=value ...] */
#include "commands/commands.h"
#include "commands/describe_model.h"
#include "commands/scheme_arguments.h"
#include "commands/session.h"
#include "commands/shape_options.h"
#include "commands/usage.h"
#include "commands/words.h"
#include "experiments/experiment.h"
#include "host/instance.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
  struct session_options session;
  const char *id;
  const char **settings;
  size_t n_settings;
  struct shape_options shape;
  const char *plugin;
  const char *from;
};

enum { OPTION_PLUGIN = 0x200, OPTION_FROM };

static const struct argp_option options[] = {
    {"plugin", OPTION_PLUGIN, "FILE", 0, "take the scheme from this file", 1},
    {"from", OPTION_FROM, "config.json", 0, "what a released model's config does: parameters and shape are read there",
     1},
    {0}};

static bool is_default(const struct shape_options *shape) {
  const struct shape_options *usual = &shape_defaults;
  return shape->heads == usual->heads && shape->head_dim == usual->head_dim && shape->d_model == usual->d_model &&
         shape->length == usual->length && shape->train_length == usual->train_length;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    state->child_inputs[1] = &a->shape;
    return 0;
  case OPTION_PLUGIN:
    a->plugin = argument;
    return 0;
  case OPTION_FROM:
    session_once(state, "from", &a->from, argument);
    return 0;
  case ARGP_KEY_ARG:
    if (!a->id) {
      a->id = argument;
    } else {
      a->settings[a->n_settings++] = argument;
    }
    return 0;
  case ARGP_KEY_END:
    if (!a->id) {
      argp_error(state, "no SCHEME given; `pe-run list` names them");
    }
    if (a->from && !is_default(&a->shape)) {
      argp_error(state, "--from takes the shape from the file: no --heads, --head-dim, --d-model, --length or "
                        "--train-length beside it");
    }
    if (a->from && (a->n_settings || a->plugin)) {
      argp_error(state, "--from takes everything from the file: no KEY=VALUE and no --plugin beside it");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {&shape_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "SCHEME|EXPERIMENT [KEY=VALUE ...]",
    .doc = "Describe a scheme (parameters, tensors, and the values that follow from KEY=VALUE at one shape and length) "
           "or an experiment (its keys).",
    .children = children,
};

/* "0.5, 0.25, ... 12 in all", as many as fit a line. */
static int show_numbers(struct table *table, const pe_derived *derived, struct error *err) {
  enum { SHOWN = 8 };
  size_t count = derived->dim[0] * (derived->rank == 2 ? derived->dim[1] : 1);
  struct text text = {0};
  for (size_t i = 0; i < count; i++) {
    if (count > 2 * SHOWN && i == SHOWN) {
      text_append(&text, ", ...");
      i = count - SHOWN / 2;
    }
    text_append(&text, i ? ", " : "");
    char number[32];
    snprintf(number, sizeof number, "%.9g", derived->data[i]);
    text_append(&text, number);
  }
  char *shown = text_take(&text, err);
  int status = shown ? table_text(table, err, "%s", shown) : (int)err->code;
  free(shown);
  return status;
}

static int fill_derived(const struct instance *instance, double length, struct table *table, struct error *err) {
  int status = table_column(table, "value", "value", false, false, err);
  status = status ? status : table_column(table, "shape", "shape", false, false, err);
  status = status ? status : table_column(table, "numbers", "numbers", false, true, err);
  size_t count = instance_derived_count(instance, length);
  for (size_t i = 0; !status && i < count; i++) {
    pe_derived derived;
    double *data;
    status = instance_derived(instance, length, i, &derived, &data, err);
    if (status) {
      break;
    }
    status = table_text(table, err, "%s", derived.name);
    status = status              ? status
             : derived.rank == 2 ? table_text(table, err, "%zu x %zu", derived.dim[0], derived.dim[1])
                                 : table_text(table, err, "%zu", derived.dim[0]);
    status = status ? status : show_numbers(table, &derived, err);
    free(data);
  }
  return status;
}

static int show(const struct arguments *a, struct table *table, struct error *err) {
  struct table_style style = session_style(&a->session);
  return table_show(table, &style, stdout, err);
}

static int describe_derived(const struct arguments *a, const struct scheme_choice *choice, struct error *err) {
  pe_shape shape = shape_of_options(&a->shape);
  struct instance *instance = scheme_instance(choice, &shape, 0, err);
  if (!instance) {
    return err->code;
  }
  double length = shape_length(&a->shape);
  struct table table = {0};
  int status = table_title(&table, err, "Derived values: %u heads, head_dim %u, length %.0f, trained at %.0f",
                           a->shape.heads, a->shape.head_dim, length, a->shape.train_length);
  status = status ? status : fill_derived(instance, length, &table, err);
  if (!status && instance_derived_count(instance, length)) {
    status = show(a, &table, err);
  }
  table_free(&table);
  instance_free(instance);
  return status;
}

static int describe_tensors(const struct arguments *a, const struct scheme_info *info, struct error *err) {
  struct table table = {0};
  int status = table_title(&table, err, "Tensors of %s", info->id);
  status = status ? status : table_column(&table, "tensor", "tensor", false, false, err);
  status = status ? status : table_column(&table, "meaning", "meaning", false, true, err);
  for (size_t i = 0; !status && i < info->n_tensors; i++) {
    status = table_text(&table, err, "%s", info->tensors[i].name);
    status = status ? status : table_text(&table, err, "%s", info->tensors[i].doc);
  }
  status = status ? status : show(a, &table, err);
  table_free(&table);
  return status;
}

static int describe_scheme(const struct arguments *a, const struct scheme_choice *choice, struct error *err) {
  const struct scheme_info *info = &choice->scheme->info;
  struct table table = {0};
  int status = table_title(&table, err, "%s: %s", info->id, info->title);
  status = status ? status : words_keys(&info->params, &table, err);
  status = status ? status : table_note(&table, err, "acts on: %s", words_sites(info->sites));
  status = status ? status : table_note(&table, err, "reference: %s", info->reference);
  if (!status && *info->path) {
    status = table_note(&table, err, "plugin: %s %s", info->plugin_name, info->plugin_version);
  }
  status = status ? status : show(a, &table, err);
  table_free(&table);
  if (!status && info->n_tensors) {
    status = describe_tensors(a, info, err);
  }
  return status ? status : describe_derived(a, choice, err);
}

static int describe_experiment(const struct arguments *a, const struct experiment_info *info, struct error *err) {
  if (a->n_settings) {
    return error_set(err, ERROR_USAGE, "an experiment is described without KEY=VALUE");
  }
  struct table table = {0};
  int status = table_title(&table, err, "%s: %s", info->id, info->title);
  status = status ? status : words_keys(info->keys, &table, err);
  status = status ? status : show(a, &table, err);
  table_free(&table);
  return status;
}

static int describe(const struct arguments *a, struct session *session, struct error *err) {
  const struct experiment *experiment = experiment_find(a->id);
  if (experiment) {
    return describe_experiment(a, &experiment->info, err);
  }
  struct scheme_arguments arguments = {a->id, a->plugin, a->settings, a->n_settings};
  struct scheme_choice choice;
  int status = scheme_choose(session, &arguments, &choice, err);
  status = status ? status : describe_scheme(a, &choice, err);
  scheme_choice_free(&choice);
  return status;
}

int command_describe(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.shape = shape_defaults};
  a.settings = memory_new((size_t)argc, sizeof *a.settings, "arguments", &err);
  if (!a.settings) {
    return command_fail(&err);
  }
  command_parse(&argp, argc, argv, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  if (!code) {
    code = a.from                         ? describe_model(&session, &a.session, a.id, a.from)
           : describe(&a, &session, &err) ? command_fail(&err)
                                          : 0;
    session_close(&session);
  }
  free(a.settings);
  return code;
}
