/* Sound: built for a later minor version, whose structs are longer. */
#include "sound.h"

static const struct {
  pe_scheme known;
  void (*later[8])(void);
} scheme = {{SOUND, .id = "newer_minor", .struct_size = sizeof(pe_scheme) + 8 * sizeof(void (*)(void))}, {0}};
static const pe_scheme *const schemes[] = {&scheme.known};
/* Declared under its own type, which begins with the one of this header. */
struct later_entry {
  pe_entry known;
  uint64_t later[8];
};
__attribute__((visibility("default"))) const struct later_entry later_plugin_entry __asm__("pe_plugin_entry") = {
    {SOUND_HEADER, .struct_size = sizeof(struct later_entry), .abi_minor = PE_ABI_MINOR + 1, .schemes = schemes,
     .n_schemes = 1},
    {0}};
