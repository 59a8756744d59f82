/* pe-run list */
#include "commands/commands.h"
#include "commands/session.h"
#include "commands/words.h"
#include "experiments/experiment.h"

#include <stdlib.h>

static error_t parse(int key, char *argument, struct argp_state *state) {
  (void)argument;
  if (key == ARGP_KEY_INIT) {
    state->child_inputs[0] = state->input;
    return 0;
  }
  if (key == ARGP_KEY_ARG) {
    argp_error(state, "list takes no argument; `pe-run describe %s` describes one scheme", argument);
  }
  return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .parser = parse,
    .doc = "List the schemes that can be used, where each acts and where it comes from, and the experiments.",
    .children = children,
};

static int fill_schemes(struct host *host, struct table *table, struct error *err) {
  const struct scheme *const *schemes;
  const char *const *refused;
  size_t count;
  int status = host_list(host, &schemes, &count, &refused, err);
  status = status ? status : table_title(table, err, "Schemes");
  status = status ? status : table_column(table, "scheme", "scheme", false, false, err);
  status = status ? status : table_column(table, "acts_on", "acts on", false, false, err);
  status = status ? status : table_column(table, "relative", "relative", false, false, err);
  status = status ? status : table_column(table, "title", "title", false, true, err);
  status = status ? status : table_column(table, "reference", "reference", false, true, err);
  for (size_t i = 0; !status && i < count; i++) {
    const struct scheme_info *info = &schemes[i]->info;
    status = table_text(table, err, "%s", info->id);
    status = status ? status : table_text(table, err, "%s", words_sites(info->sites));
    status = status ? status : table_text(table, err, "%s", info->traits & PE_TRAIT_RELATIVE ? "yes" : "no");
    status = status ? status : table_text(table, err, "%s", info->title);
    status = status ? status : table_text(table, err, "%s", info->reference);
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
  struct session_options options = {0};
  argp_err_exit_status = 2;
  argp_parse(&argp, argc, argv, 0, NULL, &options);
  struct session session;
  int code = session_open(&options, &session);
  if (code) {
    return code;
  }
  struct table schemes = {0};
  struct table experiments = {0};
  struct table_style style = session_style(&options);
  int status = fill_schemes(session.host, &schemes, &err);
  status = status ? status : fill_experiments(&experiments, &err);
  status = status ? status : table_show(&schemes, &style, stdout, &err);
  status = status ? status : table_show(&experiments, &style, stdout, &err);
  table_free(&schemes);
  table_free(&experiments);
  session_close(&session);
  return status ? command_fail(&err) : 0;
}
