/* A plugin's file handed to the dynamic linker, and its entry found and checked. */
#ifndef PE_HOST_PLUGIN_LOAD_H
#define PE_HOST_PLUGIN_LOAD_H

#include "base/error.h"
#include "pe/plugin.h"

#include <stdbool.h>

/* Load `path` (absolute, judged by plugin_file_check) with all symbols bound now and none of them visible to others,
 * and check its entry: ERROR_PLUGIN_LOAD with the linker's sentence, ERROR_PLUGIN_NO_ENTRY, ERROR_PLUGIN_ABI or
 * ERROR_PLUGIN_TABLE. `shown` is the path as the user knows it. The object stays mapped until the process ends,
 * whatever comes of it: thread-local destructors and running threads may need it. *changed_fp_state tells that loading
 * changed the floating-point environment, which is restored. [any; constructors of the plugin run here] */
int plugin_load(const char *path, const char *shown, const pe_entry **entry, bool *changed_fp_state, struct error *err);

#endif
