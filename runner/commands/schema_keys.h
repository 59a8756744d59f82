/* Tables of keys as JSON Schema (draft 07), which editors and validators read. */
#ifndef PE_COMMANDS_SCHEMA_KEYS_H
#define PE_COMMANDS_SCHEMA_KEYS_H

#include "base/keys.h"

#include <jansson.h>

/* The schema of a mapping that has the keys of a table: types, ranges, choices, defaults and meanings; a key that the
 * table lacks is refused. Keys of the types KEY_ENTRIES and KEY_SWEEP are left to the caller. A new reference, or NULL
 * where memory is short. Tensors refer to #/definitions/numbers, which the caller defines by schema_numbers. */
json_t *schema_of_table(const struct key_table *table);

/* Numbers, or nested lists of them. A new reference or NULL. */
json_t *schema_numbers(void);

/* {"anyOf": [first, second]}; steals both, either may be NULL. */
json_t *schema_any_of(json_t *first, json_t *second);

#endif
