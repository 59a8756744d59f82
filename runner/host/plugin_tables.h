/* Whether what a plugin exports is sound: checked member by member before any of its code runs.
 *
 * Members are read only where the struct's own size covers them. Every refusal is one sentence that names the file, the
 * scheme and the member.
 */
#ifndef PE_HOST_PLUGIN_TABLES_H
#define PE_HOST_PLUGIN_TABLES_H

#include "base/error.h"
#include "pe/plugin.h"

/* The entry: magic, size and version (ERROR_PLUGIN_ABI), then its other members and every scheme's tables
 * (ERROR_PLUGIN_TABLE). `path` is for messages. */
int plugin_tables_check(const char *path, const pe_entry *entry, struct error *err);

/* Rows of a scheme's tables, by the plugin's stride. */
const pe_param *plugin_param(const pe_scheme *scheme, size_t which);
const pe_tensor *plugin_tensor(const pe_scheme *scheme, size_t which);

#endif
