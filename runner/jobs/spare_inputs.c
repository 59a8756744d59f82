#include "jobs/spare_inputs.h"

#include "base/memory.h"
#include "input/regular_file.h"
#include "input/tensor_file.h"

#include <stdlib.h>

static int refuse(const char *output, const char *input, struct error *err) {
  return error_set(err, ERROR_FILE_REFUSED,
                   "the output '%s' is a file that this run reads (%s): it is not overwritten; choose another output",
                   output, input);
}

/* As the plan is printed, every path passes here. */
static char *look_at_path(void *context, const char *path, struct error *err) {
  const char *output = context;
  bool same;
  if (tensor_is_in(path, output, &same, err) || (same && refuse(output, path, err))) {
    return NULL;
  }
  return memory_copy_text("", err);
}

static int look_at_piece(const struct plan *plan, enum plan_piece piece, size_t index, struct error *err) {
  const struct path_names names = {look_at_path, plan->output};
  char *text = plan_print_piece(plan, piece, index, &names, err);
  free(text);
  return text ? 0 : (int)err->code;
}

int spare_inputs(const struct plan *plan, struct error *err) {
  if (plan->config_path[0] && regular_file_same(plan->config_path, plan->output)) {
    return refuse(plan->output, plan->config_path, err);
  }
  int status = plan->model ? look_at_piece(plan, PIECE_MODEL, 0, err) : 0;
  for (size_t i = 0; !status && i < plan->n_schemes; i++) {
    const char *plugin = plan->schemes[i].plugin;
    status = look_at_piece(plan, PIECE_SCHEME, i, err);
    if (!status && plugin && regular_file_same(plugin, plan->output)) {
      status = refuse(plan->output, plugin, err);
    }
  }
  for (size_t i = 0; !status && i < plan->n_experiments; i++) {
    status = look_at_piece(plan, PIECE_EXPERIMENT, i, err);
  }
  return status || !plan->decision ? status : look_at_piece(plan, PIECE_DECISION, 0, err);
}
