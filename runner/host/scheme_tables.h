/* A plain copy of a plugin's tables: what the runner knows of a scheme without running its code. */
#ifndef PE_HOST_SCHEME_TABLES_H
#define PE_HOST_SCHEME_TABLES_H

#include "base/scheme_info.h"
#include "host/plugin_file.h"
#include "pe/plugin.h"

/* Copy the checked tables of `scheme` into *out; released with scheme_info_clear. Parameters become keys in table
 * order: PE_BOOL KEY_BOOL, PE_INT KEY_INT, PE_REAL KEY_REAL, PE_CHOICE KEY_CHOICE (with KEY_OR_LIST where a list is
 * accepted), PE_REAL_LIST KEY_REAL_LIST; defaults become texts as a config would hold them, reals by their shortest
 * round trip. 0 or ERROR_MEMORY, and then *out is empty. */
int scheme_tables_copy(const pe_entry *entry, const pe_scheme *scheme, const struct plugin_file *file,
                       struct scheme_info *out, struct error *err);

#endif
