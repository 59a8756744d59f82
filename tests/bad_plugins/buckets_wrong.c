/* Reports buckets that are wider than those it has. */
#include "sound.h"

static uint32_t count(const pe_instance *self, double seq_len) {
  (void)self, (void)seq_len;
  return 1;
}

static pe_status spoiled(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                         size_t len, size_t *need) {
  (void)self, (void)seq_len, (void)which, (void)len;
  static const double EDGES[] = {0, 1, 2, 4, 8};
  *need = 5;
  *out = (pe_derived){.name = "bucket_edges", .rank = 1, .dim = {5, 1}, .data = buf};
  for (size_t i = 0; buf && i < 5; i++) {
    buf[i] = EDGES[i];
  }
  return PE_OK;
}

static const pe_scheme scheme = {SOUND, .derived_count = count, .derived = spoiled};
SOUND_ENTRY(&scheme)
