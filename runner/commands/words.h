/* Tables' entries in words, for list and describe. */
#ifndef PE_COMMANDS_WORDS_H
#define PE_COMMANDS_WORDS_H

#include "base/keys.h"
#include "base/table.h"

/* "embedding", "query and key", "scores", joined with ", "; "nothing" for none. Static text. */
const char *words_sites(unsigned sites);

/* Fill a table with the rows of a key table: key, type, default, range, meaning. 0 or ERROR_MEMORY. */
int words_keys(const struct key_table *keys, struct table *table, struct error *err);

#endif
