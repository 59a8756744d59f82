/* `sweep: {rope.base: [10000, 500000], ...}`: one entry becomes several, each with its values and a label that tells
 * them: rope_base_10000, rope_base_500000.
 *
 * Keys of the same entry are crossed with each other, the first key of the config slowest; the points take the entry's
 * place in its list, in that order. Schemes and experiments are crossed with each other by the jobs anyway. In a label
 * the point of a number becomes p, its minus m, and whatever else labels do not have becomes _.
 */
#ifndef PE_CONFIG_SWEEP_H
#define PE_CONFIG_SWEEP_H

#include "base/text.h"
#include "config/key_path.h"

/* Points of one entry, and entries of a list after the sweep. */
enum { SWEEP_MAX_POINTS = 1000 };

/* Replace the swept entries in the tree by their points. What is wrong is reported, and the tree is then as it was. */
void sweep_expand(struct reader *reader, struct node *root, const struct entry_list *schemes,
                  const struct entry_list *experiments);

/* Append a value as it stands in a label: "500000", "0p25", "m3", "half", "128_256". */
void sweep_append_value(struct text *label, const struct node *value);

#endif
