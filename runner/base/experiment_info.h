/* What the config needs to know of an experiment: its id and its table of keys. */
#ifndef PE_BASE_EXPERIMENT_INFO_H
#define PE_BASE_EXPERIMENT_INFO_H

#include "base/keys.h"

struct experiment_info {
  const char *id;               /* as in a config */
  const char *title;            /* the question, one line */
  const struct key_table *keys; /* static */
  bool wants_control;           /* the control `none` is run even where the config does not list it */
  bool trains;                  /* makes its own models: needs no section `model`, and is one job a scheme */
};

#endif
