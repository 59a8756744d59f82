/* key=value arguments, applied to the tree before it is read, so that they meet the same checks as a config's text. */
#ifndef PE_CONFIG_OVERRIDES_H
#define PE_CONFIG_OVERRIDES_H

#include "config/key_path.h"

/* Apply `count` arguments in order. The value is YAML (numbers, text, [lists], {mappings}); null takes the key away,
 * so that its default stands. What is wrong is reported with the argument's number, from 1; false where anything was.
 */
bool overrides_apply(struct reader *reader, struct node *root, const struct entry_list *schemes,
                     const struct entry_list *experiments, const char *const *arguments, size_t count);

#endif
