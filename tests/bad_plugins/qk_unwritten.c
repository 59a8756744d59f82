/* Forgets the last channel of each row. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_check_rows(rows, err);
  size_t pairs = self->head_dim / 2;
  for (size_t h = 0; status == PE_OK && h < rows->n_heads; h++) {
    for (size_t r = 0; r < rows->n; r++) {
      const float *in = rows->in + h * rows->in_head_stride + r * rows->in_stride;
      float *out = rows->out + h * rows->out_head_stride + r * rows->out_stride;
      for (size_t i = 0; i < pairs; i++) {
        double angle = rows->pos[r] * sound_frequency(self, i);
        float a = in[i], b = in[i + pairs], c = (float)cos(angle), s = (float)sin(angle);
        out[i] = a * c - b * s;
        if (i + 1 < pairs) {
          out[i + pairs] = b * c + a * s;
        }
      }
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
