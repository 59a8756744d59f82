/* A run without a YAML file, as the text of a config and overrides. */
#ifndef PE_COMMANDS_WITHOUT_FILE_H
#define PE_COMMANDS_WITHOUT_FILE_H

#include "experiments/experiment.h"

struct without_file {
  char *text;
  char **overrides; /* [n_overrides] */
  size_t n_overrides;
};

/* words: scheme ids, and KEY=VALUE, where a plain key of the experiment (lengths=[128,512]) is that experiment's. The
 * model is one with random weights, its training length 128 where the experiment asks for one. ERROR_USAGE where no
 * scheme is named. */
int without_file_new(const struct experiment *experiment, const char *const *words, size_t n_words,
                     struct without_file *out, struct error *err);
void without_file_free(struct without_file *config);

#endif
