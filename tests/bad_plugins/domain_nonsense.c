/* A domain that ends before it begins. */
#include "sound.h"

static pe_status spoiled(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = 10;
  out->max = -10;
  return PE_OK;
}

static const pe_scheme scheme = {SOUND, .domain = spoiled};
SOUND_ENTRY(&scheme)
