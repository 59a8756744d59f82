/* ALiBi (Press, Smith and Lewis 2022): scores fall with distance, in each head at another rate.
 *
 *     bias[h](m, n) = -slope[h] * |m - n|        m position of the query, n of the key
 *
 * See README.md for the rules of slopes and distances. */
#include <math.h>
#include <pe/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Above 2^53 doubles no longer hold every whole number, so distances would be made up. */
#define POSITION_LIMIT 9007199254740992.0

enum { PARAM_SLOPES = 0, PARAM_MAX_BIAS = 1, PARAM_DISTANCE = 2, PARAM_COUNT = 3 };
enum { SLOPES_AUTHORS = 0, SLOPES_GEOMETRIC = 1 };
enum { DISTANCE_SYMMETRIC = 0, DISTANCE_CAUSAL = 1 };

struct pe_instance {
  int64_t distance; /* DISTANCE_* */
  uint32_t n_heads;
  double slopes[]; /* [n_heads] */
};

static const char *const slope_rules[] = {"authors", "geometric", NULL};
static const char *const distance_rules[] = {"symmetric", "causal", NULL};

static const pe_param alibi_params[PARAM_COUNT] = {
    {.key = "slopes",
     .doc = "slope m of each head: authors (interleaved where heads is no power of two), geometric, or a list",
     .type = PE_CHOICE,
     .flags = PE_PARAM_OR_LIST,
     .min = 0.0,
     .max = 1e6,
     .dflt = {.i = SLOPES_AUTHORS},
     .choices = slope_rules,
     .list_min = 1,
     .list_max = 65536},
    {.key = "max_bias",
     .doc = "the last head's slope is 2^-max_bias where heads is a power of two (alibi_bias_max); unused with a list",
     .type = PE_REAL,
     .min = 0.0,
     .max = 64.0,
     .dflt = {.r = 8.0}},
    {.key = "distance",
     .doc = "symmetric: |m - n|; causal: m - n, and 0 for keys ahead of the query",
     .type = PE_CHOICE,
     .dflt = {.i = DISTANCE_SYMMETRIC},
     .choices = distance_rules},
};

/* ---- slopes ---- */

/* 2^(-max_bias * h / n). The exponent is split into a whole and a rest below 1, so that whole ones are exact and the
 * others carry no more error than exp2's own. */
static double slope_power(double max_bias, double h, double n) {
  const double product = max_bias * h;
  const double rest = fmod(product, n);
  return ldexp(exp2(-rest / n), (int)-rint((product - rest) / n));
}

/* The authors' get_slopes: powers for the largest power of two below, then every other one of twice as many heads. */
static void slopes_by_authors(double max_bias, uint32_t n_heads, double *slopes) {
  uint32_t base = 1;
  while (base <= n_heads / 2) {
    base *= 2;
  }
  for (uint32_t head = 0; head < base; head++) {
    slopes[head] = slope_power(max_bias, head + 1.0, base);
  }
  for (uint32_t head = base; head < n_heads; head++) {
    slopes[head] = slope_power(max_bias, 2.0 * (head - base) + 1.0, 2.0 * base);
  }
}

static void slopes_geometric(double max_bias, uint32_t n_heads, double *slopes) {
  for (uint32_t head = 0; head < n_heads; head++) {
    slopes[head] = slope_power(max_bias, head + 1.0, n_heads);
  }
}

/* ---- instance ---- */

static pe_status alibi_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                              pe_error *err) {
  (void)host;
  const pe_value *rule = &values[PARAM_SLOPES];
  if (rule->i < 0 && rule->n != shape->n_heads) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_SLOPES, "slopes lists %zu values for %u heads", rule->n, shape->n_heads);
  }
  pe_instance *self = malloc(sizeof *self + shape->n_heads * sizeof *self->slopes);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for the slopes of %u heads", shape->n_heads);
  }
  self->n_heads = shape->n_heads;
  self->distance = values[PARAM_DISTANCE].i;
  if (rule->i == SLOPES_AUTHORS) {
    slopes_by_authors(values[PARAM_MAX_BIAS].r, self->n_heads, self->slopes);
  } else if (rule->i == SLOPES_GEOMETRIC) {
    slopes_geometric(values[PARAM_MAX_BIAS].r, self->n_heads, self->slopes);
  } else {
    for (uint32_t head = 0; head < self->n_heads; head++) {
      self->slopes[head] = rule->list[head];
    }
  }
  *out = self;
  return PE_OK;
}

static void alibi_destroy(pe_instance *self) {
  free(self);
}

static uint32_t alibi_instance_traits(const pe_instance *self) {
  return PE_TRAIT_RELATIVE | (self->distance == DISTANCE_CAUSAL ? PE_TRAIT_CAUSAL_ONLY : 0u);
}

static pe_status alibi_domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -POSITION_LIMIT;
  out->max = POSITION_LIMIT;
  return PE_OK;
}

static uint32_t alibi_derived_count(const pe_instance *self, double seq_len) {
  (void)self;
  (void)seq_len;
  return 1;
}

static pe_status alibi_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                               size_t len, size_t *need) {
  (void)seq_len;
  if (which != 0) {
    return PE_ERR_ARGUMENT;
  }
  *need = self->n_heads;
  if (buf && len < *need) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_derived){.name = "slopes",
                      .doc = "bias per unit of distance [heads], positive",
                      .rank = 1,
                      .dim = {self->n_heads, 1},
                      .data = buf};
  for (uint32_t head = 0; buf && head < self->n_heads; head++) {
    buf[head] = self->slopes[head];
  }
  return PE_OK;
}

/* ---- bias ---- */

/* Index of the first position that is NaN or beyond the limit; n where there is none. */
static size_t first_outside(const double *pos, size_t n) {
  size_t i = 0;
  while (i < n && fabs(pos[i]) <= POSITION_LIMIT) {
    i++;
  }
  return i;
}

static pe_status check_tile(const pe_instance *self, const pe_tile *tile, pe_error *err) {
  if (tile->head >= self->n_heads) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "head %u of %u", tile->head, self->n_heads);
  }
  const size_t query = first_outside(tile->pos_q, tile->nq);
  if (query < tile->nq) {
    return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)query, "query position %.17g is not within -2^53 to 2^53",
                   tile->pos_q[query]);
  }
  const size_t key = first_outside(tile->pos_k, tile->nk);
  if (key < tile->nk) {
    return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)key, "key position %.17g is not within -2^53 to 2^53",
                   tile->pos_k[key]);
  }
  return PE_OK;
}

static pe_status alibi_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  if (tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, tile, err);
  if (status != PE_OK) {
    return status;
  }
  const double slope = self->slopes[tile->head];
  for (size_t row = 0; row < tile->nq; row++) {
    float *s = tile->s + row * tile->s_stride;
    const double pos_q = tile->pos_q[row];
    /* Two loops, so that each one is a single vector expression. */
    if (self->distance == DISTANCE_SYMMETRIC) {
      for (size_t col = 0; col < tile->nk; col++) {
        s[col] += (float)(-slope * fabs(pos_q - tile->pos_k[col]));
      }
    } else {
      for (size_t col = 0; col < tile->nk; col++) {
        const double ahead = tile->pos_k[col] - pos_q;
        s[col] += (float)(slope * (ahead < 0.0 ? ahead : 0.0));
      }
    }
  }
  return PE_OK;
}

/* No tensors and no use of q and k: there is nothing to add to. */
static pe_status alibi_bias_vjp(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                                size_t dk_stride, float *const *dw, void *scratch, pe_error *err) {
  (void)dq;
  (void)dq_stride;
  (void)dk;
  (void)dk_stride;
  (void)dw;
  (void)scratch;
  return ds->nq == 0 || ds->nk == 0 ? PE_OK : check_tile(self, ds, err);
}

static const pe_ext_vjp alibi_vjp = {.struct_size = sizeof(pe_ext_vjp), .bias_vjp = alibi_bias_vjp};

static const void *alibi_extension(const char *id) {
  return strcmp(id, PE_EXT_VJP) == 0 ? &alibi_vjp : NULL;
}

static const pe_scheme alibi_scheme = {
    .struct_size = sizeof(pe_scheme),
    .version = 1,
    .id = "alibi",
    .title = "ALiBi: attention with linear biases",
    .reference = "Press, Smith, Lewis: Train Short, Test Long, ICLR 2022, arXiv:2108.12409",
    .sites = PE_SITE_BIAS,
    .traits = PE_TRAIT_RELATIVE,
    .params = alibi_params,
    .n_params = PARAM_COUNT,
    .param_stride = sizeof(pe_param),
    .create = alibi_create,
    .destroy = alibi_destroy,
    .domain = alibi_domain,
    .derived_count = alibi_derived_count,
    .derived = alibi_derived,
    .bias_add = alibi_bias_add,
    .extension = alibi_extension,
    .instance_traits = alibi_instance_traits,
};

static const pe_scheme *const alibi_schemes[] = {&alibi_scheme};

const pe_entry pe_plugin_entry = {
    .magic = PE_ABI_MAGIC,
    .struct_size = sizeof(pe_entry),
    .abi_major = PE_ABI_MAJOR,
    .abi_minor = PE_ABI_MINOR,
    .name = "alibi",
    .version = "1",
    .schemes = alibi_schemes,
    .n_schemes = 1,
};
