/* Text as YAML that every reader takes for the same text. */
#ifndef PE_CONFIG_YAML_WRITE_H
#define PE_CONFIG_YAML_WRITE_H

#include "base/text.h"

/* Append `value` (UTF-8): plain where no reader, YAML 1.1 ones included, can take it for something else, neither in a
 * block nor in a list; else in double quotes. */
void yaml_write_text(struct text *text, const char *value);

#endif
