#include "commands/output_file.h"

#include "input/tensor_file.h"
#include "results/results.h"

#include <stdbool.h>
#include <string.h>

static int is_other(const char *file, const char *input, struct error *err) {
  bool same = false;
  int status = input ? tensor_is_in(input, file, &same, err) : 0;
  return same ? error_set(err, ERROR_FILE_REFUSED,
                          "--out: '%s' is read by this very command (%s): it is not overwritten; choose another name",
                          file, input)
              : status;
}

int output_file_check(const char *file, enum replace_kind kind, const char *const *inputs, size_t n_inputs,
                      const struct scheme_arguments *scheme, struct error *err) {
  int status = is_other(file, scheme->plugin, err);
  for (size_t i = 0; !status && i < n_inputs; i++) {
    status = is_other(file, inputs[i], err);
  }
  for (size_t i = 0; !status && i < scheme->n_settings; i++) {
    const char *equals = strchr(scheme->settings[i], '=');
    status = is_other(file, equals ? equals + 1 : NULL, err);
  }
  status = status ? status : results_may_replace(file, kind, err);
  return status ? status : results_prepare(file, err);
}
