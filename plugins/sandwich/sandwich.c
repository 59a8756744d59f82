/* Sandwich (Chi et al. 2023): the inner product of two sinusoidal encodings, which depends on their distance d = m - n
 * alone, as a bias, weaker from head to head.
 *
 *     paper   bias[h] =  sum_{i=0}^{D/2-1} cos(d base^(-2i/D))        * H / (8 (h+1))       h = 0 .. H-1
 *     nemo    bias[h] = (sum_{i=1}^{D/2}   cos(d base^(-2i/D)) - D/2) * H / (8 (h+1))
 *
 * See README.md. */
#include <math.h>
#include <pe/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Above 2^53 doubles no longer hold every whole number, so distances would be made up. */
#define POSITION_LIMIT 9007199254740992.0
/* A sum of D/2 cosines per element would outweigh all of attention: those of short whole distances are kept. */
#define KEPT_DISTANCES 4096

enum { PARAM_FORM = 0, PARAM_DBAR = 1, PARAM_BASE = 2, PARAM_COUNT = 3 };
enum { FORM_PAPER = 0, FORM_NEMO = 1 };

#define PAPER_DBAR 128

struct pe_instance {
  uint32_t n_heads;
  size_t n_freq;    /* D/2 */
  double offset;    /* added to the sum of cosines */
  double *inv_freq; /* [n_freq] */
  double kept[KEPT_DISTANCES];
};

static const char *const forms[] = {"paper", "nemo", NULL};

static const pe_param sandwich_params[PARAM_COUNT] = {
    {.key = "form",
     .doc = "paper: exponents from 0; nemo: exponents from 1, and D/2 taken off so that distance 0 has bias near 0",
     .type = PE_CHOICE,
     .dflt = {.i = FORM_PAPER},
     .choices = forms},
    {.key = "dbar",
     .doc = "D, width of the sinusoidal encoding, even; without it 128 (paper) or head_dim (nemo)",
     .type = PE_INT,
     .flags = PE_PARAM_OPTIONAL,
     .min = 2,
     .max = 4096},
    {.key = "base",
     .doc = "base of the frequencies",
     .type = PE_REAL,
     .min = 1.0,
     .max = 1e12,
     .dflt = {.i = 10000, .r = 10000.0}},
};

/* ---- instance ---- */

/* Sum of cosines at a distance, always in the same order. */
static double sum_of_cosines(const pe_instance *self, double distance) {
  double sum = 0.0;
  for (size_t i = 0; i < self->n_freq; i++) {
    sum += cos(distance * self->inv_freq[i]);
  }
  return sum + self->offset;
}

static void sandwich_destroy(pe_instance *self) {
  if (self) {
    free(self->inv_freq);
    free(self);
  }
}

static pe_status sandwich_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                                 pe_error *err) {
  (void)host;
  const int nemo = values[PARAM_FORM].i == FORM_NEMO;
  size_t dbar = nemo ? shape->head_dim : PAPER_DBAR;
  if (values[PARAM_DBAR].given) {
    dbar = (size_t)values[PARAM_DBAR].i;
    if (dbar % 2 != 0) {
      return pe_fail(err, PE_ERR_PARAM, PARAM_DBAR, "dbar %zu is odd: it counts pairs of sine and cosine", dbar);
    }
  } else if (dbar == 0 || dbar % 2 != 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "form nemo takes its width from head_dim, and %zu is no even one: set dbar",
                   dbar);
  }
  const size_t n_freq = dbar / 2;
  pe_instance *self = malloc(sizeof *self);
  double *inv_freq = malloc(n_freq * sizeof *inv_freq);
  if (!self || !inv_freq) {
    free(self);
    free(inv_freq);
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu frequencies and %d distances", n_freq, KEPT_DISTANCES);
  }
  self->n_heads = shape->n_heads;
  self->n_freq = n_freq;
  self->offset = nemo ? -(double)n_freq : 0.0;
  self->inv_freq = inv_freq;
  for (size_t i = 0; i < n_freq; i++) {
    const double exponent = 2.0 * (double)(nemo ? i + 1 : i) / (double)dbar;
    inv_freq[i] = pow(values[PARAM_BASE].r, -exponent);
  }
  for (size_t distance = 0; distance < KEPT_DISTANCES; distance++) {
    self->kept[distance] = sum_of_cosines(self, (double)distance);
  }
  *out = self;
  return PE_OK;
}

static pe_status sandwich_domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -POSITION_LIMIT;
  out->max = POSITION_LIMIT;
  return PE_OK;
}

/* ---- bias ---- */

static pe_status check_positions(const char *side, const double *pos, size_t n, pe_error *err) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(pos[i]) <= POSITION_LIMIT)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)i, "%s position %.17g is not within -2^53 to 2^53", side, pos[i]);
    }
  }
  return PE_OK;
}

static pe_status check_tile(const pe_instance *self, const pe_tile *tile, pe_error *err) {
  if (tile->head >= self->n_heads) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "head %u of %u", tile->head, self->n_heads);
  }
  const pe_status status = check_positions("query", tile->pos_q, tile->nq, err);
  return status == PE_OK ? check_positions("key", tile->pos_k, tile->nk, err) : status;
}

/* The kept sums are what sum_of_cosines gives, so both ways have the same bits. */
static double sum_at(const pe_instance *self, double distance) {
  if (distance < KEPT_DISTANCES) {
    const size_t whole = (size_t)distance;
    if ((double)whole == distance) {
      return self->kept[whole];
    }
  }
  return sum_of_cosines(self, distance);
}

static pe_status sandwich_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  if (tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, tile, err);
  if (status != PE_OK) {
    return status;
  }
  const double strength = (double)self->n_heads / (8.0 * ((double)tile->head + 1.0));
  for (size_t row = 0; row < tile->nq; row++) {
    float *s = tile->s + row * tile->s_stride;
    for (size_t col = 0; col < tile->nk; col++) {
      s[col] += (float)(strength * sum_at(self, fabs(tile->pos_q[row] - tile->pos_k[col])));
    }
  }
  return PE_OK;
}

/* No tensors and no use of q and k: there is nothing to add to. */
static pe_status sandwich_bias_vjp(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                                   size_t dk_stride, float *const *dw, void *scratch, pe_error *err) {
  (void)dq;
  (void)dq_stride;
  (void)dk;
  (void)dk_stride;
  (void)dw;
  (void)scratch;
  return ds->nq == 0 || ds->nk == 0 ? PE_OK : check_tile(self, ds, err);
}

static const pe_ext_vjp sandwich_vjp = {.struct_size = sizeof(pe_ext_vjp), .bias_vjp = sandwich_bias_vjp};

static const void *sandwich_extension(const char *id) {
  return strcmp(id, PE_EXT_VJP) == 0 ? &sandwich_vjp : NULL;
}

static const pe_scheme sandwich_scheme = {
    .struct_size = sizeof(pe_scheme),
    .version = 1,
    .id = "sandwich",
    .title = "Sandwich: inner products of sinusoids as a bias",
    .reference = "Chi, Fan, Rudnicky, Ramadge: Dissecting Transformer Length Extrapolation, ACL 2023, arXiv:2212.10356",
    .sites = PE_SITE_BIAS,
    .traits = PE_TRAIT_RELATIVE,
    .params = sandwich_params,
    .n_params = PARAM_COUNT,
    .param_stride = sizeof(pe_param),
    .create = sandwich_create,
    .destroy = sandwich_destroy,
    .domain = sandwich_domain,
    .bias_add = sandwich_bias_add,
    .extension = sandwich_extension,
};

static const pe_scheme *const sandwich_schemes[] = {&sandwich_scheme};

const pe_entry pe_plugin_entry = {
    .magic = PE_ABI_MAGIC,
    .struct_size = sizeof(pe_entry),
    .abi_major = PE_ABI_MAJOR,
    .abi_minor = PE_ABI_MINOR,
    .name = "sandwich",
    .version = "1",
    .schemes = sandwich_schemes,
    .n_schemes = 1,
};
