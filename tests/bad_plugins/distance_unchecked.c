/* Says how far it reaches and reads on beyond its table. */
#include "sound.h"

static const float TABLE[64] = {1, 2, 3, 4, 5, 6, 7, 8, [63] = 1};

static pe_status near(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -1e6;
  out->max = 1e6;
  out->max_distance = 62;
  return PE_OK;
}

static pe_status spoiled(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  pe_status status = sound_check_tile(tile, err);
  for (size_t r = 0; status == PE_OK && r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      tile->s[r * tile->s_stride + c] += TABLE[(size_t)fabs(tile->pos_q[r] - tile->pos_k[c]) % 64];
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .domain = near, .bias_add = spoiled};
SOUND_ENTRY(&scheme)
