/* Reports slopes with the sign of the bias. */
#include "sound.h"

static uint32_t count(const pe_instance *self, double seq_len) {
  (void)self, (void)seq_len;
  return 1;
}

static pe_status spoiled(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                         size_t len, size_t *need) {
  (void)seq_len, (void)which, (void)len;
  *need = self->n_heads;
  *out = (pe_derived){.name = "slopes", .rank = 1, .dim = {self->n_heads, 1}, .data = buf};
  for (size_t h = 0; buf && h < self->n_heads; h++) {
    buf[h] = -self->slope * self->gain[h];
  }
  return PE_OK;
}

static const pe_scheme scheme = {SOUND, .derived_count = count, .derived = spoiled};
SOUND_ENTRY(&scheme)
