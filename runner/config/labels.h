/* Labels of schemes and experiments: names of groups and variables in the results, and parts of keys. */
#ifndef PE_CONFIG_LABELS_H
#define PE_CONFIG_LABELS_H

#include "config/reader.h"

/* Why a text cannot be a label, a sentence in static memory, or NULL where it can. A label is
 * [A-Za-z][A-Za-z0-9_]{0,63}; not comparison..., not ..._status, not the name of an axis, all of which the results use
 * themselves; of an experiment: sorting before `run`, which stands last in the file. */
const char *label_refusal(const char *label, bool of_experiment);

/* The same for a label in a config: false after a report at `at`. */
bool label_check(struct reader *reader, const char *label, bool of_experiment, const struct node *at, const char *path);

#endif
