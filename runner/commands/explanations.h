/* What every error code means: cause, fix, and an example that gives it. The words behind `pe-run explain`. */
#ifndef PE_COMMANDS_EXPLANATIONS_H
#define PE_COMMANDS_EXPLANATIONS_H

#include "base/error.h"

struct explanation {
  const char *cause, *fix; /* paragraphs */
  /* Commands, each line after "$ ", or a config. Beside it stands a config.yaml that is sound, and for a line such as
   * `plugin: ends_abort.so` the plugin that is meant. NULL where nothing a user does should give it. */
  const char *example;
  const char *says; /* how what pe-run then prints goes on after "error[CODE]: "; NULL without example */
};

/* Of every code in ERROR_LIST. */
const struct explanation *explanation_of(enum error_code code);

#endif
