/* Sections from and to text, outside a config file: parameters in a weights file, attributes in the results. */
#ifndef PE_CONFIG_SECTION_TEXT_H
#define PE_CONFIG_SECTION_TEXT_H

#include "base/error.h"
#include "base/keys.h"

/* Read a mapping (JSON or YAML flow text such as {"base": 10000, "layout": "halves"}) against a table, defaults filled
 * in, with the same checks as a config. `what` names it in messages. NULL with the first error. To be freed with
 * section_free. */
struct section *config_section_from_text(const struct key_table *table, const char *text, const char *what,
                                         struct error *err);

/* The given values of a section as a JSON object in table order, shortest round-trip numbers; "{}" for NULL. To be
 * freed. */
char *config_section_to_json(const struct section *section, struct error *err);

/* Whether two sections of tables with the same keys hold the same values. */
bool section_equal(const struct section *a, const struct section *b);

#endif
