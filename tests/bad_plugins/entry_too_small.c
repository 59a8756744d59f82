/* The entry has no room for a version. */
#include <pe/plugin.h>

__attribute__((visibility("default"))) const uint32_t small_plugin_entry __asm__("pe_plugin_entry") = PE_ABI_MAGIC;
