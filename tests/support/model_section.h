/* The section `model` of a config, made by hand: for tests of the inputs that do without a config.
 *
 *     struct section *section = model_section_new();
 *     model_section_text(section, "weights", path);
 *     model_section_text(section, "tokens.text", "he works");
 *     ... section_free(section);
 */
#ifndef MODEL_SECTION_H
#define MODEL_SECTION_H

#include "base/keys.h"

/* All keys absent but the defaults of the config's table. */
struct section *model_section_new(void);

/* Set the key at a dotted path. Texts may be set again, which makes a list of them (tokens.text, tokens.file). */
void model_section_text(struct section *section, const char *path, const char *text);
void model_section_number(struct section *section, const char *path, double number);
/* Numbers, as a list or as a tensor of one axis; and as rows. */
void model_section_list(struct section *section, const char *path, const double *list, size_t count);
void model_section_matrix(struct section *section, const char *path, const double *list, size_t rows, size_t columns);

#endif
