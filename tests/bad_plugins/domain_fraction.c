/* Needs whole numbers and rounds the others. */
#include "sound.h"

static pe_status whole(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->integer_only = 1;
  out->min = -1e6;
  out->max = 1e6;
  return PE_OK;
}

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = sound_check_rows(rows, err);
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    rows->out[r * rows->out_stride] += (float)sin(floor(rows->pos[r]));
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .domain = whole, .embed_add = spoiled};
SOUND_ENTRY(&scheme)
