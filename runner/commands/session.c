#include "commands/session.h"

#include "base/memory.h"
#include "commands/commands.h"
#include "commands/guard.h"
#include "commands/output.h"
#include "config/number.h"
#include "experiments/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTION_PLUGIN_DIR = 0x100, OPTION_TRUST, OPTION_FORMAT };

static const struct argp_option session_options[] = {
    {"plugin-dir", OPTION_PLUGIN_DIR, "DIR", 0, "look for plugins in DIR first (may be given again)", 10},
    {"trust-plugin-dir", OPTION_TRUST, NULL, 0, "accept plugins from places that others can write to", 10},
    {"format", OPTION_FORMAT, "FORMAT", 0, "tables as table, json, csv or md", 10},
    {0}};

/* What is named on the command line is there; a folder of PE_PLUGIN_PATH may be missing, as in any path. */
static void check_folder(const char *path, const struct argp_state *state) {
  struct stat there;
  int failed = stat(path, &there);
  if (failed || !S_ISDIR(there.st_mode)) {
    argp_error(state, "--plugin-dir: '%s' is not a folder%s%s", path, failed ? ": " : "",
               failed ? strerror(errno) : "");
  }
}

static error_t parse_session(int key, char *argument, struct argp_state *state) {
  struct session_options *options = state->input;
  switch (key) {
  case OPTION_PLUGIN_DIR:
    if (options->n_plugin_directories == MOST_PLUGIN_DIRECTORIES) {
      argp_error(state, "--plugin-dir: at most %d directories", MOST_PLUGIN_DIRECTORIES);
    }
    check_folder(argument, state);
    options->plugin_directories[options->n_plugin_directories++] = argument;
    return 0;
  case OPTION_TRUST:
    options->trust_plugin_directories = 1;
    return 0;
  case OPTION_FORMAT:
    options->format = output_format(argument, state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

const struct argp session_argp = {.options = session_options, .parser = parse_session};

double session_number(struct argp_state *state, const char *option, const char *text, double min, double max) {
  struct number number;
  if (number_parse(text, &number) != NUMBER_OK || number.real != floor(number.real) || number.real < min ||
      number.real > max) {
    argp_error(state, "--%s: '%s' is not a whole number from %.0f to %.0f", option, text, min, max);
  }
  return number.real;
}

void session_once(const struct argp_state *state, const char *option, const char **value, const char *text) {
  if (*value) {
    argp_error(state, "--%s is given twice: '%s' and '%s'", option, *value, text);
  }
  *value = text;
}

int command_fail(const struct error *err) {
  fflush(stdout);
  fprintf(stderr, "pe-run: error[%s]: %s\n", error_id(err->code), err->text);
  return error_exit_code(err->code);
}

/* The directories to search; strings that had to be made are owned by the session. */
static int collect_directories(const struct session_options *options, struct session *session,
                               const char *directories[], size_t *count, struct error *err) {
  *count = 0;
  for (size_t i = 0; i < options->n_plugin_directories; i++) {
    directories[(*count)++] = options->plugin_directories[i];
  }
  session->owned = memory_new(MOST_PLUGIN_DIRECTORIES + 3, sizeof *session->owned, "plugin directories", err);
  if (!session->owned) {
    return err->code;
  }
  const char *rest = command_environment.plugin_path;
  while (*rest && *count < 2 * MOST_PLUGIN_DIRECTORIES && session->n_owned < MOST_PLUGIN_DIRECTORIES) {
    size_t length = strcspn(rest, ":");
    if (length == 0) {
      return error_set(err, ERROR_PLUGIN_UNTRUSTED,
                       "PE_PLUGIN_PATH has an empty element, which would mean the current folder: write it out");
    }
    char *directory = memory_new(length + 1, 1, "plugin directory", err);
    if (!directory) {
      return err->code;
    }
    memcpy(directory, rest, length);
    session->owned[session->n_owned++] = directory;
    directories[(*count)++] = directory;
    rest += length + (rest[length] == ':');
    if (rest[-1] == ':' && !*rest) {
      return error_set(err, ERROR_PLUGIN_UNTRUSTED,
                       "PE_PLUGIN_PATH has an empty element, which would mean the current folder: write it out");
    }
  }
  char *own[HOST_DEFAULT_DIRECTORIES];
  int status = host_default_directories(own, err);
  for (size_t i = 0; !status && i < HOST_DEFAULT_DIRECTORIES; i++) {
    session->owned[session->n_owned++] = own[i];
    directories[(*count)++] = own[i];
  }
  return status;
}

static int list_ids(struct session *session, struct error *err) {
  const struct scheme_info *const *schemes;
  size_t count;
  int status = catalogue_list(session->catalogue, &schemes, &count, NULL, err);
  if (status) {
    return status;
  }
  session->ids = memory_new(count + 1, sizeof *session->ids, "scheme ids", err);
  for (size_t i = 0; session->ids && i < count; i++) {
    session->ids[i] = schemes[i]->id;
  }
  return session->ids ? 0 : (int)err->code;
}

int session_open(const struct session_options *options, struct session *session) {
  struct error err = {0};
  const char *directories[2 * MOST_PLUGIN_DIRECTORIES + 2];
  size_t count;
  *session = (struct session){0};
  int status = collect_directories(options, session, directories, &count, &err);
  if (!status) {
    session->process = (struct process_setting){"/proc/self/exe", command_environment.variables, NULL};
    struct catalogue_setting setting = {.process = options->probe ? &session->process : NULL};
    setting.plugins = (struct host_options){.directories = directories, .n_directories = count};
    setting.plugins.trust_directories = options->trust_plugin_directories != 0;
    setting.plugins.loading = command_environment.guarded ? guard_loading : NULL;
    status = catalogue_open(&setting, &session->catalogue, &err);
    session->host = status ? NULL : catalogue_host(session->catalogue);
  }
  if (!status && command_environment.guarded) {
    status = guard_take(session->host, &err);
  }
  if (!status) {
    status = list_ids(session, &err);
    guard_uses("", true);
  }
  if (status) {
    session_close(session);
    return command_fail(&err);
  }
  return 0;
}

void session_close(struct session *session) {
  catalogue_close(session->catalogue);
  for (size_t i = 0; i < session->n_owned; i++) {
    free(session->owned[i]);
  }
  free(session->owned);
  free(session->ids);
  *session = (struct session){0};
}

static const struct scheme_info *find_scheme(void *context, const char *id, const char *plugin, struct error *err) {
  struct session *session = context;
  return catalogue_find(session->catalogue, id, plugin, err);
}

struct plan *session_plan(struct session *session, const char *path, const char *text, const char *const *overrides,
                          size_t n_overrides, int *exit_code) {
  struct plan_request request = {
      .path = path,
      .text = text,
      .overrides = overrides,
      .n_overrides = n_overrides,
      .schemes = {find_scheme, session->ids, session},
      .experiments = experiment_infos(),
      .default_seeds = experiment_default_seeds,
      .scheme_defaults = experiment_scheme_defaults,
      .experiment_check = experiment_check,
  };
  struct diagnostics diagnostics = {0};
  struct plan *plan = plan_load(&request, &diagnostics);
  if (!plan) {
    fflush(stdout);
    diagnostics_print(&diagnostics, stderr);
    *exit_code = diagnostics_exit_code(&diagnostics);
  }
  diagnostics_free(&diagnostics);
  return plan;
}

struct table_style session_style(const struct session_options *options) {
  return output_style(options->format);
}
