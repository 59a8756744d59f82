/* Built for a later major version of the contract: nothing behind the version may be read. */
#include "sound.h"

const pe_entry pe_plugin_entry = {SOUND_HEADER, .abi_major = PE_ABI_MAJOR + 99, .abi_minor = 3,
                                  .schemes = (const pe_scheme *const *)8, .n_schemes = 77};
