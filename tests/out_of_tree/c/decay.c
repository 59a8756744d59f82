/* A bias that falls with the logarithm of the distance: -slope * log2(1 + |m - n|). */
#include <math.h>
#include <stdlib.h>

#include <pe/plugin.h>

struct pe_instance {
  double slope;
};

static const pe_param params[] = {{.key = "slope",
                                   .doc = "bias per doubling of the distance",
                                   .type = PE_REAL,
                                   .min = 0,
                                   .max = INFINITY,
                                   .dflt = {.r = 0.5}}};

static pe_status decay_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                              pe_error *err) {
  (void)host;
  (void)shape;
  pe_instance *self = malloc(sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "%zu bytes are not to be had", sizeof *self);
  }
  self->slope = values[0].r;
  *out = self;
  return PE_OK;
}

static void decay_destroy(pe_instance *self) {
  free(self);
}

/* Index of the first position that is not a finite number, or -1. */
static int64_t first_bad(const double *positions, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(positions[i])) {
      return (int64_t)i;
    }
  }
  return -1;
}

static pe_status decay_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  int64_t bad_q = first_bad(tile->pos_q, tile->nq), bad_k = first_bad(tile->pos_k, tile->nk);
  if (bad_q >= 0 || bad_k >= 0) {
    return pe_fail(err, PE_ERR_POS_RANGE, bad_q >= 0 ? bad_q : bad_k, "a %s position is not finite",
                   bad_q >= 0 ? "query" : "key");
  }
  for (size_t r = 0; r < tile->nq; r++) {
    for (size_t c = 0; c < tile->nk; c++) {
      double distance = fabs(tile->pos_q[r] - tile->pos_k[c]);
      tile->s[r * tile->s_stride + c] -= (float)(self->slope * log2(1 + distance));
    }
  }
  return PE_OK;
}

static const pe_scheme decay = {.struct_size = sizeof(pe_scheme),
                                .version = 1,
                                .id = "decay",
                                .title = "logarithmic distance bias",
                                .reference = "an example",
                                .sites = PE_SITE_BIAS,
                                .traits = PE_TRAIT_RELATIVE,
                                .params = params,
                                .n_params = 1,
                                .param_stride = sizeof(pe_param),
                                .create = decay_create,
                                .destroy = decay_destroy,
                                .bias_add = decay_bias_add};
static const pe_scheme *const schemes[] = {&decay};
const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "decay",
                                  .version = "1",
                                  .schemes = schemes,
                                  .n_schemes = 1};
