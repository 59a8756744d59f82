/* Names and texts that plugins hand over. */
#ifndef PE_HOST_PLUGIN_NAMES_H
#define PE_HOST_PLUGIN_NAMES_H

#include <stdbool.h>

/* [A-Za-z][A-Za-z0-9_]{0,63} */
bool plugin_name_is_scheme_id(const char *name);

/* [A-Za-z][A-Za-z0-9_]{0,63}; lower case alone with `lower`. */
bool plugin_name_is_key(const char *name, bool lower);

/* A word that stands beside the parameters in a config's scheme entry, or a name with a meaning of its own in results.
 */
bool plugin_name_is_reserved_key(const char *name);
bool plugin_name_is_reserved_id(const char *name);

/* One line of UTF-8 without control characters, at most 1000 bytes. */
bool plugin_text_is_line(const char *text);

/* Make a text fit for a sentence: bytes that are not clean UTF-8 become '?', line ends become spaces. */
void plugin_text_clean(char *text);

#endif
