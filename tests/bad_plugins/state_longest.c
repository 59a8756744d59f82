/* Remembers the longest sequence that it has seen (a dynamic base that never comes down). */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  static double longest;
  longest = rows->seq_len > longest ? rows->seq_len : longest;
  pe_instance scaled = *self;
  scaled.base = self->base * (1 + longest / 1024);
  return sound_qk_apply(&scaled, rows, scratch, err);
}

static const pe_scheme scheme = {SOUND, .traits = PE_TRAIT_RELATIVE | PE_TRAIT_LENGTH_DEPENDENT, .derived_count = NULL,
                                 .derived = NULL, .qk_apply = spoiled};
SOUND_ENTRY(&scheme)
