/* Refuses a shape without a sentence. */
#include "sound.h"

static pe_status spoiled(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                         pe_error *err) {
  return shape->head_dim % 2 ? PE_ERR_SHAPE : sound_create(host, shape, values, out, err);
}

static const pe_scheme scheme = {SOUND, .create = spoiled};
SOUND_ENTRY(&scheme)
