/* Built for an older layout of the contract, with one member fewer. */
#include <pe/plugin.h>

struct older_entry {
  uint32_t magic, struct_size, abi_major, abi_minor;
  const char *name, *version;
  const pe_scheme *const *schemes;
};
/* Declared under its own type: this file does not use the header's declaration. */
__attribute__((visibility("default"))) const struct older_entry older_plugin_entry __asm__("pe_plugin_entry") = {
    PE_ABI_MAGIC, sizeof(struct older_entry), PE_ABI_MAJOR, 0, "older", "1", 0};
