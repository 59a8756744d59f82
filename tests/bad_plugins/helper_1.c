/* Sound, but with a helper that is visible to all and called as in helper_2.c: each must call its own. */
#include "sound.h"

__attribute__((visibility("default"))) float helper(void);
float helper(void) {
  return 1;
}

static pe_status use_helper(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  pe_status status = sound_check_rows(rows, err);
  for (size_t r = 0; status == PE_OK && r < rows->n; r++) {
    for (size_t c = 0; c < self->d_model; c++) {
      rows->out[r * rows->out_stride + c] += helper();
    }
  }
  return status;
}

static const pe_scheme scheme = {SOUND_EMBED, .id = "helper_1", .embed_add = use_helper};
SOUND_ENTRY(&scheme)
