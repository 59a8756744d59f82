/* Dereferences a pointer that the model does not give. */
#include "sound.h"

static pe_status spoiled(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                         pe_error *err) {
  (void)values, (void)out, (void)err, (void)host;
  return shape->given[0].rank ? PE_OK : PE_ERR_SHAPE;
}

static const pe_scheme scheme = {SOUND, .create = spoiled};
SOUND_ENTRY(&scheme)
