/* pe-run list */
#include "commands/commands.h"
#include "commands/guard.h"
#include "commands/session.h"
#include "commands/shape_options.h"
#include "commands/usage.h"
#include "commands/words.h"
#include "experiments/experiment.h"
#include "experiments/literature.h"
#include "host/instance.h"

#include <math.h>
#include <stdlib.h>

struct arguments {
  struct session_options session;
  struct shape_options shape;
};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  if (key == ARGP_KEY_INIT) {
    state->child_inputs[0] = &a->session;
    state->child_inputs[1] = &a->shape;
    return 0;
  }
  if (key == ARGP_KEY_ARG) {
    argp_error(state, "list takes no argument; `pe-run describe %s` describes one scheme", argument);
  }
  return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {&shape_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .parser = parse,
    .doc = "List the schemes that can be used and the experiments. For each scheme with its defaults on a given model: "
           "where it "
           "acts, how many values it learns, whether it gives a value beyond the training length, whether scores "
           "depend on "
           "the distance alone by construction, and what the literature says of it beyond the training length.",
    .children = children,
};

/* What only an instance knows; unknown where the scheme cannot be made with its defaults. */
struct traits {
  bool known;
  double learnable;
  bool beyond, relative;
};

static struct traits traits_of(const struct scheme *scheme, const struct shape_options *options) {
  struct error ignored = {0};
  struct instance_request request = {.scheme = scheme, .shape = shape_of_options(options)};
  struct instance *instance = instance_new(&request, &ignored);
  if (!instance) {
    return (struct traits){0};
  }
  struct traits traits = {.known = true};
  pe_domain domain = instance_domain(instance);
  double beyond = 4 * options->train_length;
  traits.beyond = domain.max >= beyond && domain.max_distance >= beyond;
  traits.relative = instance_sites(instance) == 0 || (instance_traits(instance) & PE_TRAIT_RELATIVE) != 0;
  for (size_t t = 0; t < scheme->info.n_tensors; t++) {
    pe_dims dims = {0};
    double count = instance_tensor(instance, t, &dims) ? 1 : 0;
    for (uint32_t d = 0; d < dims.rank; d++) {
      count *= (double)dims.dim[d];
    }
    traits.learnable += count;
  }
  instance_free(instance);
  return traits;
}

static int add_scheme(const struct scheme *scheme, const struct shape_options *shape, struct table *table,
                      struct error *err) {
  const struct scheme_info *info = &scheme->info;
  struct traits traits = traits_of(scheme, shape);
  const struct literature *literature = literature_of(info->id);
  int status = table_text(table, err, "%s", info->id);
  status = status ? status : table_text(table, err, "%s", words_sites(info->sites));
  char learnable[32] = "-";
  if (traits.known) {
    snprintf(learnable, sizeof learnable, "%.0f", traits.learnable);
  }
  double number = traits.known ? traits.learnable : NAN;
  status = status ? status : table_number_as(table, number, err, "%s", learnable);
  status = status ? status : table_text(table, err, "%s", !traits.known ? "-" : traits.beyond ? "yes" : "no");
  status = status ? status : table_text(table, err, "%s", !traits.known ? "-" : traits.relative ? "yes" : "no");
  status = status ? status : table_text(table, err, "%s", literature_word_name(literature->word));
  status = status ? status : table_text(table, err, "%s", literature->statement);
  return status ? status : table_text(table, err, "%s", info->reference);
}

static int fill_schemes(struct host *host, const struct shape_options *shape, struct table *table, struct error *err) {
  const struct scheme *const *schemes;
  const char *const *refused;
  size_t count;
  int status = host_list(host, &schemes, &count, &refused, err);
  status = status ? status
                  : table_title(table, err,
                                "Schemes, with their defaults on %u heads of %u channels, trained on %.0f tokens",
                                shape->heads, shape->head_dim, shape->train_length);
  status = status ? status : table_column(table, "scheme", "scheme", false, false, err);
  status = status ? status : table_column(table, "acts_on", "acts on", false, true, err);
  status = status ? status : table_column(table, "learnable", "learnable values", true, false, err);
  status = status ? status : table_column(table, "beyond", "defined beyond L", false, false, err);
  status = status ? status : table_column(table, "relative", "shift-invariant", false, false, err);
  status = status ? status : table_column(table, "literature", "literature beyond L", false, false, err);
  status = status ? status : table_column(table, "literature_source", "says", false, true, err);
  status = status ? status : table_column(table, "reference", "reference", false, true, err);
  for (size_t i = 0; !status && i < count; i++) {
    guard_uses(schemes[i]->info.path, true);
    status = add_scheme(schemes[i], shape, table, err);
  }
  for (size_t i = 0; !status && refused && refused[i]; i++) {
    status = table_note(table, err, "refused: %s", refused[i]);
  }
  return status;
}

static int fill_experiments(struct table *table, struct error *err) {
  int status = table_title(table, err, "Experiments");
  status = status ? status : table_column(table, "experiment", "experiment", false, false, err);
  status = status ? status : table_column(table, "question", "question", false, true, err);
  for (size_t i = 0; !status && experiment_infos()[i]; i++) {
    status = table_text(table, err, "%s", experiment_infos()[i]->id);
    status = status ? status : table_text(table, err, "%s", experiment_infos()[i]->title);
  }
  return status;
}

int command_list(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.shape = shape_defaults};
  command_parse(&argp, argc, argv, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  if (code) {
    return code;
  }
  struct table schemes = {0};
  struct table experiments = {0};
  struct table_style style = session_style(&a.session);
  int status = fill_schemes(session.host, &a.shape, &schemes, &err);
  status = status ? status : fill_experiments(&experiments, &err);
  status = status ? status : table_show(&schemes, &style, stdout, &err);
  status = status ? status : table_show(&experiments, &style, stdout, &err);
  table_free(&schemes);
  table_free(&experiments);
  session_close(&session);
  return status ? command_fail(&err) : 0;
}
