/* xPos: rotary positions whose pairs also shrink with the distance, the fast ones first.
 *
 *   zeta_i = (2i/d + gamma) / (1 + gamma)             i = 0 .. d/2-1, d = head_dim
 *   query at m: turned by m w_i, times zeta_i^(+(m - c)/scale_base)
 *   key at n:   turned by n w_i, times zeta_i^(-(n - c)/scale_base)       w_i = base^(-2i/d)
 *
 * so pair i of their product carries zeta_i^((m - n)/scale_base). The centre c is half the call's length: it cancels in
 * the product and only keeps the factors small. Sun et al. 2022, arXiv:2212.10554, section 2.2; torchscale's
 * xpos_relative_position.py.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pe/plugin.h>

enum { PARAM_BASE, PARAM_LAYOUT, PARAM_GAMMA, PARAM_SCALE_BASE, PARAM_CENTRE, N_PARAMS };
enum { LAYOUT_INTERLEAVED, LAYOUT_HALF };
enum { CENTRE_CEIL, CENTRE_FLOOR };
enum { DERIVED_INV_FREQ, DERIVED_INV_FREQ_UNSCALED, DERIVED_PAIRS, DERIVED_ZETA, N_DERIVED };

/* Sines are taken for this many rows, then every head turns them. */
enum { BLOCK_ROWS = 32 };

/* Beyond 2^53 neighbouring whole positions are the same double. */
static const double largest_position = 9007199254740992.0;

static const char *const layouts[] = {"interleaved", "half", NULL};
static const char *const centres[] = {"ceil", "floor", NULL};

static const pe_param params[N_PARAMS] = {
    [PARAM_BASE] = {.key = "base",
                    .doc = "pair i turns by base^(-2i/d) radians per position",
                    .type = PE_REAL,
                    .min = 1,
                    .max = INFINITY,
                    .dflt = {.r = 10000}},
    [PARAM_LAYOUT] = {.key = "layout",
                      .doc = "pairs (2i, 2i+1) (interleaved, torchscale) or (i, i+d/2) (half)",
                      .type = PE_CHOICE,
                      .dflt = {.i = LAYOUT_INTERLEAVED},
                      .choices = layouts},
    [PARAM_GAMMA] = {.key = "gamma",
                     .doc = "the paper's gamma: the fastest pair shrinks by gamma/(1+gamma) per scale_base positions",
                     .type = PE_REAL,
                     .min = 1e-6,
                     .max = 1e6,
                     .dflt = {.r = 0.4}},
    [PARAM_SCALE_BASE] = {.key = "scale_base",
                          .doc = "positions over which a pair shrinks by zeta_i (the paper's B)",
                          .type = PE_REAL,
                          .min = 1e-3,
                          .max = INFINITY,
                          .dflt = {.r = 512}},
    [PARAM_CENTRE] = {.key = "centre",
                      .doc = "half the call's length, rounded up (torchscale) or down (rotary-embedding-torch)",
                      .type = PE_CHOICE,
                      .dflt = {.i = CENTRE_CEIL},
                      .choices = centres}};

struct pe_instance {
  uint32_t n_layers, n_heads, n_kv_heads;
  size_t head_dim, n_pairs;
  int interleaved, centre;
  double scale_base;
  double *inv_freq, *zeta; /* [n_pairs] each, in `numbers` */
  double numbers[];
};

static pe_status xpos_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                             pe_error *err) {
  (void)host;
  if (shape->head_dim == 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "xpos turns queries and keys, and this model has none (head_dim 0)");
  }
  if (shape->head_dim % 2) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "head_dim %u is odd: xpos turns pairs of channels", shape->head_dim);
  }
  size_t n = shape->head_dim / 2;
  pe_instance *self = malloc(sizeof *self + 2 * n * sizeof self->numbers[0]);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu frequencies", n);
  }
  *self = (pe_instance){.n_layers = shape->n_layers,
                        .n_heads = shape->n_heads,
                        .n_kv_heads = shape->n_kv_heads,
                        .head_dim = shape->head_dim,
                        .n_pairs = n,
                        .interleaved = values[PARAM_LAYOUT].i == LAYOUT_INTERLEAVED,
                        .centre = (int)values[PARAM_CENTRE].i,
                        .scale_base = values[PARAM_SCALE_BASE].r,
                        .inv_freq = self->numbers,
                        .zeta = self->numbers + n};
  double gamma = values[PARAM_GAMMA].r;
  for (size_t i = 0; i < n; i++) {
    self->inv_freq[i] = pow(values[PARAM_BASE].r, -(double)i / (double)n);
    self->zeta[i] = ((double)i / (double)n + gamma) / (1 + gamma);
  }
  *out = self;
  return PE_OK;
}

static void xpos_destroy(pe_instance *self) {
  free(self);
}

static pe_status xpos_domain(const pe_instance *self, pe_domain *out) {
  /* The bounds from the factors move with the length of the call, so they cannot stand here; xpos_qk_apply has them. */
  (void)self;
  out->min = -largest_position;
  out->max = largest_position;
  return PE_OK;
}

static uint32_t xpos_derived_count(const pe_instance *self, double seq_len) {
  (void)self;
  (void)seq_len;
  return N_DERIVED;
}

static pe_status xpos_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                              size_t len, size_t *need) {
  static const struct {
    const char *name, *doc;
  } known[N_DERIVED] = {
      [DERIVED_INV_FREQ] = {"inv_freq", "radians per position"},
      [DERIVED_INV_FREQ_UNSCALED] = {"inv_freq_unscaled", "the same: xpos does not scale"},
      [DERIVED_PAIRS] = {"pairs", "channels turned together"},
      [DERIVED_ZETA] = {"zeta", "factor of a pair's part of the score per scale_base positions of distance"}};
  (void)seq_len;
  if (which >= N_DERIVED) {
    return PE_ERR_ARGUMENT;
  }
  size_t columns = which == DERIVED_PAIRS ? 2 : 1;
  *need = self->n_pairs * columns;
  if (buf && len < *need) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_derived){.name = known[which].name,
                      .doc = known[which].doc,
                      .rank = which == DERIVED_PAIRS ? 2 : 1,
                      .dim = {self->n_pairs, columns},
                      .data = buf};
  for (size_t i = 0; buf && i < self->n_pairs; i++) {
    if (which == DERIVED_PAIRS) {
      buf[2 * i] = (double)(self->interleaved ? 2 * i : i);
      buf[2 * i + 1] = (double)(self->interleaved ? 2 * i + 1 : i + self->n_pairs);
    } else {
      buf[i] = which == DERIVED_ZETA ? self->zeta[i] : self->inv_freq[i];
    }
  }
  return PE_OK;
}

static size_t xpos_scratch_bytes(const pe_instance *self, size_t max_q, size_t max_k) {
  (void)max_q;
  (void)max_k;
  return self->n_pairs * 2 * BLOCK_ROWS * sizeof(float);
}

/* The exponent of zeta at a position: signed so that a key's factor is the inverse of a query's. */
static double exponent_at(const pe_instance *self, const pe_rows *rows, size_t row) {
  double half = rows->seq_len / 2;
  double centre = self->centre == CENTRE_CEIL ? ceil(half) : floor(half);
  double power = (rows->pos[row] - centre) / self->scale_base;
  return rows->role == PE_ROLE_QUERY ? power : -power;
}

static pe_status check_rows(const pe_instance *self, const pe_rows *rows, const float *in, const float *out,
                            const void *scratch, pe_error *err) {
  if (rows->role != PE_ROLE_QUERY && rows->role != PE_ROLE_KEY) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "xpos acts on queries and keys, not on rows of role %d", rows->role);
  }
  uint32_t heads = rows->role == PE_ROLE_QUERY ? self->n_heads : self->n_kv_heads;
  if (rows->layer >= self->n_layers || rows->head > heads || rows->n_heads > heads - rows->head) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "layer %u, heads %u to %u: the model has %u layers and %u heads",
                   rows->layer, rows->head, rows->head + rows->n_heads, self->n_layers, heads);
  }
  if (rows->n == 0) {
    return PE_OK;
  }
  if (!rows->pos || !in || !out || !scratch || !isfinite(rows->seq_len)) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "%zu rows without positions, values, scratch or a finite length", rows->n);
  }
  for (size_t r = 0; r < rows->n; r++) {
    /* Written so that NaN is refused, too. */
    if (!(fabs(rows->pos[r]) <= largest_position)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %.17g is outside [-2^53, 2^53]", rows->pos[r]);
    }
    /* zeta_0 is the smallest, so pair 0 leaves the range first. */
    double factor = pow(self->zeta[0], exponent_at(self, rows, r));
    if (!(factor >= (double)FLT_MIN && factor <= (double)FLT_MAX)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r,
                     "position %.17g in a call of length %.17g: its factor %g is not a normal float32", rows->pos[r],
                     rows->seq_len, factor);
    }
  }
  return PE_OK;
}

/* x: first and second channels of n pairs, `step` apart; turned in place. */
static void turn(float *first, float *second, size_t step, const float *restrict cosine, const float *restrict sine,
                 size_t n) {
  for (size_t i = 0; i < n; i++) {
    float a = first[i * step];
    float b = second[i * step];
    first[i * step] = a * cosine[i] - b * sine[i];
    second[i * step] = b * cosine[i] + a * sine[i];
  }
}

/* out [n_heads][n][head_dim] = in, turned by direction * angle and scaled. Positions come from `rows`, values from
 * `data` (backward: the gradients). Everything that depends on the position is double and rounded once. */
static void turn_rows(const pe_instance *self, const pe_rows *rows, const pe_rows *data, double direction,
                      void *scratch) {
  size_t n_pairs = self->n_pairs;
  float *cosine = scratch;
  float *sine = cosine + BLOCK_ROWS * n_pairs;
  for (size_t start = 0; start < rows->n; start += BLOCK_ROWS) {
    size_t count = rows->n - start < BLOCK_ROWS ? rows->n - start : BLOCK_ROWS;
    for (size_t r = 0; r < count; r++) {
      double power = exponent_at(self, rows, start + r);
      for (size_t i = 0; i < n_pairs; i++) {
        double angle = rows->pos[start + r] * self->inv_freq[i];
        double factor = pow(self->zeta[i], power);
        cosine[r * n_pairs + i] = (float)(factor * cos(angle));
        sine[r * n_pairs + i] = (float)(factor * direction * sin(angle));
      }
    }
    for (size_t head = 0; head < rows->n_heads; head++) {
      for (size_t r = 0; r < count; r++) {
        const float *in = data->in + head * data->in_head_stride + (start + r) * data->in_stride;
        float *out = data->out + head * data->out_head_stride + (start + r) * data->out_stride;
        if (out != in) {
          memcpy(out, in, self->head_dim * sizeof *out);
        }
        float *second = self->interleaved ? out + 1 : out + n_pairs;
        turn(out, second, self->interleaved ? 2 : 1, cosine + r * n_pairs, sine + r * n_pairs, n_pairs);
      }
    }
  }
}

static pe_status xpos_qk_apply(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = check_rows(self, rows, rows->in, rows->out, scratch, err);
  if (status == PE_OK) {
    turn_rows(self, rows, rows, 1, scratch);
  }
  return status;
}

/* The transpose turns back; the factor stays. */
static pe_status xpos_rows_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw,
                               void *scratch, pe_error *err) {
  (void)dw;
  pe_status status = check_rows(self, x, g->in, g->out, scratch, err);
  if (status == PE_OK) {
    turn_rows(self, x, g, -1, scratch);
  }
  return status;
}

static const void *xpos_extension(const char *id) {
  static const pe_ext_vjp vjp = {.struct_size = sizeof vjp, .rows_vjp = xpos_rows_vjp};
  return strcmp(id, PE_EXT_VJP) == 0 ? &vjp : NULL;
}

static const pe_scheme xpos = {.struct_size = sizeof(pe_scheme),
                               .version = 1,
                               .id = "xpos",
                               .title = "xPos: rotary positions with exponential decay",
                               .reference = "Sun et al. 2022, arXiv:2212.10554, section 2.2",
                               .sites = PE_SITE_QK,
                               .traits = PE_TRAIT_RELATIVE | PE_TRAIT_CAUSAL_ONLY | PE_TRAIT_LENGTH_DEPENDENT,
                               .params = params,
                               .n_params = N_PARAMS,
                               .param_stride = sizeof(pe_param),
                               .create = xpos_create,
                               .destroy = xpos_destroy,
                               .domain = xpos_domain,
                               .derived_count = xpos_derived_count,
                               .derived = xpos_derived,
                               .scratch_bytes = xpos_scratch_bytes,
                               .qk_apply = xpos_qk_apply,
                               .extension = xpos_extension};

static const pe_scheme *const schemes[] = {&xpos};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "xpos",
                                  .version = "1.0.0",
                                  .schemes = schemes,
                                  .n_schemes = 1};
