/* Works in one buffer for all threads. */
#include "sound.h"

#include <sched.h>

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  static double angle[4096];
  pe_status status = sound_check_rows(rows, err);
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    for (size_t c = 0; c < self->d_model && c < 4096; c++) {
      angle[c] = rows->pos[r] * pow(self->base, -(double)c / self->d_model);
    }
    sched_yield(); /* as an interruption would */
    for (size_t c = 0; c < self->d_model && c < 4096; c++) {
      rows->out[r * rows->out_stride + c] += (float)sin(angle[c]);
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
