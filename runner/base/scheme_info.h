/* What the runner knows of a scheme without running its code: a plain copy of the plugin's tables. It outlives the
 * plugin and may come from another process.
 */
#ifndef PE_BASE_SCHEME_INFO_H
#define PE_BASE_SCHEME_INFO_H

#include "base/hash.h"
#include "base/keys.h"

#include <stdbool.h>
#include <stdint.h>

struct scheme_tensor_info {
  const char *name, *doc;
  int init;       /* PE_INIT_* of pe/plugin.h */
  unsigned flags; /* PE_TENSOR_* */
  double init_a, init_b;
};

struct scheme_info {
  const char *id, *title, *reference;
  uint32_t version;
  uint32_t sites, traits;  /* PE_SITE_*, PE_TRAIT_* */
  struct key_table params; /* the plugin's parameters as keys, in table order; name is the scheme's id */
  struct scheme_tensor_info *tensors;
  size_t n_tensors;
  const char *plugin_name, *plugin_version;
  const char *path;       /* file it came from; "" for the control `none` */
  char sha256[HASH_TEXT]; /* of that file's bytes; "" for none */
  bool changed_fp_state;  /* loading it changed the floating-point environment (restored) */
};

/* Release what a description owns. Of one that was built at run time every string and array comes from malloc, and this
 * is its owner's to call; for all others it is read only. */
void scheme_info_clear(struct scheme_info *info);

#endif
