/* Makes instances for shapes that it cannot serve. */
#include "sound.h"

static pe_status spoiled(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                         pe_error *err) {
  pe_shape even = *shape;
  even.head_dim += even.head_dim % 2;
  return sound_create(host, &even, values, out, err);
}

static const pe_scheme scheme = {SOUND, .create = spoiled};
SOUND_ENTRY(&scheme)
