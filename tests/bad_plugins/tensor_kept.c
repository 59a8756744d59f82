/* Computes from a tensor when it is bound, and never again. */
#include "sound.h"

static pe_status spoiled_bind(pe_instance *self, const float *const *tensors) {
  self->gain = tensors[0];
  self->slope *= tensors[0][0];
  return PE_OK;
}

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_check_tile(tile, err);
  for (size_t r = 0; status == PE_OK && r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      tile->s[r * tile->s_stride + c] -= (float)(self->slope * fabs(tile->pos_q[r] - tile->pos_k[c]));
    }
  }
  (void)scratch;
  return status;
}

static const pe_scheme scheme = {SOUND, .tensor_bind = spoiled_bind, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
