/* What commands that print tables share: the word after --format.
 */
#ifndef PE_COMMANDS_OUTPUT_H
#define PE_COMMANDS_OUTPUT_H

#include "results/show_table.h"

#include <argp.h>

/* Parse table, json, csv or md; ends the program with a message where it is another word. */
enum table_format output_format(const char *word, const struct argp_state *state);

/* The style for tables on stdout. */
struct table_style output_style(enum table_format format);

#endif
