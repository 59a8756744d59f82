/* FIRE (Li et al. 2024): a small network of the distance, which is divided by the query's own position, so that it
 * stays within 0 and 1 at every length.
 *
 *     bias[h](m, n) = b2[h] + sum_w w2[h][w] relu(w1[w] x + b1[w])
 *     x = ln(|c d| + 1) / (ln(|c max(m, L)| + 1) + eps)        L = |L_multiplier * threshold|
 *
 * m and n are the positions of query and key, d = |m - n|. See README.md. */
#include <math.h>
#include <pe/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Above 2^53 doubles no longer hold every whole number, so distances would be made up. */
#define POSITION_LIMIT 9007199254740992.0
#define MAX_WIDTH 4096
/* Columns taken together: the network's sums stay in registers and cache, and every unit is one vector loop. */
#define BLOCK 64

enum { PARAM_MLP_WIDTH = 0, PARAM_THRESHOLD = 1, PARAM_EPS = 2, PARAM_DISTANCE = 3, PARAM_COUNT = 4 };
enum { DISTANCE_SYMMETRIC = 0, DISTANCE_CAUSAL = 1 };
enum { TENSOR_C = 0, TENSOR_L_MULTIPLIER, TENSOR_W1, TENSOR_B1, TENSOR_W2, TENSOR_B2, TENSOR_COUNT };

struct pe_instance {
  int64_t distance; /* DISTANCE_* */
  uint32_t n_heads;
  size_t width;
  double threshold;
  double eps;
  const float *tensor[TENSOR_COUNT]; /* bound */
};

static const char *const distance_rules[] = {"symmetric", "causal", NULL};

static const pe_param fire_params[PARAM_COUNT] = {
    {.key = "mlp_width",
     .doc = "hidden units of the network",
     .type = PE_INT,
     .min = 1,
     .max = MAX_WIDTH,
     .dflt = {.i = 32, .r = 32.0}},
    {.key = "threshold",
     .doc = "L_0: queries before |L_multiplier * threshold| are divided as if they stood there (init_L)",
     .type = PE_REAL,
     .min = 0.0,
     .max = 1e9,
     .dflt = {.i = 512, .r = 512.0}},
    {.key = "eps", .doc = "added to the divisor", .type = PE_REAL, .min = 1e-12, .max = 1.0, .dflt = {.r = 1e-6}},
    {.key = "distance",
     .doc = "symmetric: |m - n|; causal: m - n, and 0 for keys ahead of the query",
     .type = PE_CHOICE,
     .dflt = {.i = DISTANCE_SYMMETRIC},
     .choices = distance_rules},
};

/* The network is seeded as torch.nn.Linear does at the default width: within 1/sqrt(inputs). */
#define BOUND_OUTPUT 0.17677669529663689 /* 1/sqrt(32) */

static const pe_tensor fire_tensors[TENSOR_COUNT] = {
    {.name = "c", .doc = "scale of the distance [1]", .init = PE_INIT_CONSTANT, .init_a = 0.1},
    {.name = "L_multiplier", .doc = "learned factor of the threshold [1]", .init = PE_INIT_CONSTANT, .init_a = 1.0},
    {.name = "w1", .doc = "input weights [mlp_width]", .init = PE_INIT_UNIFORM, .init_a = -1.0, .init_b = 1.0},
    {.name = "b1", .doc = "input biases [mlp_width]", .init = PE_INIT_UNIFORM, .init_a = -1.0, .init_b = 1.0},
    {.name = "w2",
     .doc = "output weights [heads, mlp_width]",
     .init = PE_INIT_UNIFORM,
     .init_a = -BOUND_OUTPUT,
     .init_b = BOUND_OUTPUT},
    {.name = "b2",
     .doc = "output biases [heads]",
     .init = PE_INIT_UNIFORM,
     .init_a = -BOUND_OUTPUT,
     .init_b = BOUND_OUTPUT},
};

/* ---- instance ---- */

static pe_status fire_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                             pe_error *err) {
  (void)host;
  pe_instance *self = malloc(sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for an instance");
  }
  *self = (pe_instance){.distance = values[PARAM_DISTANCE].i,
                        .n_heads = shape->n_heads,
                        .width = (size_t)values[PARAM_MLP_WIDTH].i,
                        .threshold = values[PARAM_THRESHOLD].r,
                        .eps = values[PARAM_EPS].r};
  *out = self;
  return PE_OK;
}

static void fire_destroy(pe_instance *self) {
  free(self);
}

static pe_status fire_domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -POSITION_LIMIT;
  out->max = POSITION_LIMIT;
  return PE_OK;
}

static pe_status fire_tensor_shape(const pe_instance *self, uint32_t which, pe_dims *out) {
  switch (which) {
  case TENSOR_C:
  case TENSOR_L_MULTIPLIER:
    *out = (pe_dims){.rank = 1, .dim = {1}};
    return PE_OK;
  case TENSOR_W1:
  case TENSOR_B1:
    *out = (pe_dims){.rank = 1, .dim = {self->width}};
    return PE_OK;
  case TENSOR_W2:
    *out = (pe_dims){.rank = 2, .dim = {self->n_heads, self->width}};
    return PE_OK;
  case TENSOR_B2:
    *out = (pe_dims){.rank = 1, .dim = {self->n_heads}};
    return PE_OK;
  default:
    return PE_ERR_ARGUMENT;
  }
}

static pe_status fire_tensor_bind(pe_instance *self, const float *const *tensors) {
  for (int which = 0; which < TENSOR_COUNT; which++) {
    if (!tensors[which]) {
      return PE_ERR_ARGUMENT;
    }
  }
  for (int which = 0; which < TENSOR_COUNT; which++) {
    self->tensor[which] = tensors[which];
  }
  return PE_OK;
}

/* Gradients of w1, b1 and a head's row of w2 are summed over a tile in double. */
static size_t fire_scratch_bytes(const pe_instance *self, size_t max_q, size_t max_k) {
  (void)max_q;
  (void)max_k;
  return 3 * self->width * sizeof(double);
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
  if (!self->tensor[TENSOR_C]) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "the network's tensors are not bound");
  }
  if (tile->head >= self->n_heads) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "head %u of %u", tile->head, self->n_heads);
  }
  const pe_status status = check_positions("query", tile->pos_q, tile->nq, err);
  return status == PE_OK ? check_positions("key", tile->pos_k, tile->nk, err) : status;
}

static double distance_of(const pe_instance *self, double query_minus_key) {
  if (self->distance == DISTANCE_SYMMETRIC) {
    return fabs(query_minus_key);
  }
  return query_minus_key > 0.0 ? query_minus_key : 0.0;
}

/* The divisor of a query's distances, and what its gradient needs. */
typedef struct fire_divisor {
  double c;
  double reach; /* max(m, L) */
  double value; /* ln(|c reach| + 1) + eps */
  int by_threshold;
} fire_divisor;

static fire_divisor divisor_of(const pe_instance *self, double pos_q) {
  const double c = self->tensor[TENSOR_C][0];
  const double threshold = fabs(self->tensor[TENSOR_L_MULTIPLIER][0] * self->threshold);
  const int by_threshold = !(pos_q >= threshold); /* so that a NaN threshold shows */
  const double reach = by_threshold ? threshold : pos_q;
  return (fire_divisor){
      .c = c, .reach = reach, .value = log1p(fabs(c * reach)) + self->eps, .by_threshold = by_threshold};
}

static pe_status fire_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  if (tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, tile, err);
  if (status != PE_OK) {
    return status;
  }
  const float *w1 = self->tensor[TENSOR_W1];
  const float *b1 = self->tensor[TENSOR_B1];
  const float *w2 = self->tensor[TENSOR_W2] + (size_t)tile->head * self->width;
  const double b2 = self->tensor[TENSOR_B2][tile->head];
  for (size_t row = 0; row < tile->nq; row++) {
    const fire_divisor divisor = divisor_of(self, tile->pos_q[row]);
    for (size_t first = 0; first < tile->nk; first += BLOCK) {
      const size_t n = tile->nk - first < BLOCK ? tile->nk - first : BLOCK;
      const double *pos_k = tile->pos_k + first;
      float *s = tile->s + row * tile->s_stride + first;
      double x[BLOCK];
      double sum[BLOCK];
      for (size_t col = 0; col < n; col++) {
        const double d = distance_of(self, tile->pos_q[row] - pos_k[col]);
        x[col] = log1p(fabs(divisor.c * d)) / divisor.value;
        sum[col] = b2;
      }
      for (size_t unit = 0; unit < self->width; unit++) {
        const double in = w1[unit];
        const double in_bias = b1[unit];
        const double out = w2[unit];
        for (size_t col = 0; col < n; col++) {
          const double z = in * x[col] + in_bias;
          sum[col] += out * (z < 0.0 ? 0.0 : z);
        }
      }
      for (size_t col = 0; col < n; col++) {
        s[col] += (float)sum[col];
      }
    }
  }
  return PE_OK;
}

static double sign_of(double x) {
  return (double)((x > 0.0) - (x < 0.0));
}

/* Gradient sums of one tile. */
typedef struct fire_sums {
  double c;
  double L_multiplier;
  double b2;
  double *w1, *b1, *w2; /* [width] */
} fire_sums;

/* Adds g = dL/d bias of one element, with x = u / v, u = ln(|c d| + 1), v the divisor. */
static void element_vjp(const pe_instance *self, uint32_t head, const fire_divisor *divisor, double d, double g,
                        fire_sums *sums) {
  const float *w1 = self->tensor[TENSOR_W1];
  const float *b1 = self->tensor[TENSOR_B1];
  const float *w2 = self->tensor[TENSOR_W2] + (size_t)head * self->width;
  const double c = divisor->c;
  const double reach = divisor->reach;
  const double x = log1p(fabs(c * d)) / divisor->value;
  double dx = 0.0;
  for (size_t unit = 0; unit < self->width; unit++) {
    const double z = (double)w1[unit] * x + (double)b1[unit];
    if (z > 0.0) {
      const double dz = g * w2[unit];
      sums->w2[unit] += g * z;
      sums->w1[unit] += dz * x;
      sums->b1[unit] += dz;
      dx += dz * w1[unit];
    }
  }
  const double du = dx / divisor->value;
  const double dv = -dx * x / divisor->value;
  /* d/dc ln(|c d| + 1) = sign(c) d / (|c d| + 1), likewise for the divisor; reach follows L_multiplier below the
   * threshold alone. */
  const double dv_inner = dv / (fabs(c * reach) + 1.0);
  sums->b2 += g;
  sums->c += sign_of(c) * (du * d / (fabs(c * d) + 1.0) + dv_inner * fabs(reach));
  if (divisor->by_threshold) {
    sums->L_multiplier +=
        dv_inner * fabs(c) * sign_of(reach) * sign_of(self->tensor[TENSOR_L_MULTIPLIER][0]) * self->threshold;
  }
}

static void add_sum(float *dw, double sum) {
  if (dw) {
    *dw += (float)sum;
  }
}

static void add_sums(float *dw, const double *sums, size_t n) {
  for (size_t i = 0; dw && i < n; i++) {
    dw[i] += (float)sums[i];
  }
}

static pe_status fire_bias_vjp(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                               size_t dk_stride, float *const *dw, void *scratch, pe_error *err) {
  (void)dq;
  (void)dq_stride;
  (void)dk;
  (void)dk_stride;
  if (ds->nq == 0 || ds->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, ds, err);
  if (status != PE_OK) {
    return status;
  }
  if (!dw) {
    return PE_OK;
  }
  double *space = scratch;
  for (size_t i = 0; i < 3 * self->width; i++) {
    space[i] = 0.0;
  }
  fire_sums sums = {.w1 = space, .b1 = space + self->width, .w2 = space + 2 * self->width};
  for (size_t row = 0; row < ds->nq; row++) {
    const fire_divisor divisor = divisor_of(self, ds->pos_q[row]);
    const float *s = ds->s + row * ds->s_stride;
    for (size_t col = 0; col < ds->nk; col++) {
      if (s[col] != 0.0f) { /* under a causal mask half of them are 0 */
        const double d = distance_of(self, ds->pos_q[row] - ds->pos_k[col]);
        element_vjp(self, ds->head, &divisor, d, s[col], &sums);
      }
    }
  }
  add_sum(dw[TENSOR_C], sums.c);
  add_sum(dw[TENSOR_L_MULTIPLIER], sums.L_multiplier);
  add_sums(dw[TENSOR_W1], sums.w1, self->width);
  add_sums(dw[TENSOR_B1], sums.b1, self->width);
  add_sums(dw[TENSOR_W2] ? dw[TENSOR_W2] + (size_t)ds->head * self->width : NULL, sums.w2, self->width);
  add_sum(dw[TENSOR_B2] ? dw[TENSOR_B2] + ds->head : NULL, sums.b2);
  return PE_OK;
}

static const pe_ext_vjp fire_vjp = {.struct_size = sizeof(pe_ext_vjp), .bias_vjp = fire_bias_vjp};

static const void *fire_extension(const char *id) {
  return strcmp(id, PE_EXT_VJP) == 0 ? &fire_vjp : NULL;
}

static const pe_scheme fire_scheme = {
    .struct_size = sizeof(pe_scheme),
    .version = 1,
    .id = "fire",
    .title = "FIRE: functional interpolation for relative positions",
    .reference = "Li et al.: Functional Interpolation for Relative Positions, ICLR 2024, arXiv:2310.04418",
    .sites = PE_SITE_BIAS,
    .traits = PE_TRAIT_CAUSAL_ONLY,
    .params = fire_params,
    .n_params = PARAM_COUNT,
    .param_stride = sizeof(pe_param),
    .tensors = fire_tensors,
    .n_tensors = TENSOR_COUNT,
    .tensor_stride = sizeof(pe_tensor),
    .create = fire_create,
    .destroy = fire_destroy,
    .domain = fire_domain,
    .tensor_shape = fire_tensor_shape,
    .tensor_bind = fire_tensor_bind,
    .scratch_bytes = fire_scratch_bytes,
    .bias_add = fire_bias_add,
    .extension = fire_extension,
};

static const pe_scheme *const fire_schemes[] = {&fire_scheme};

const pe_entry pe_plugin_entry = {
    .magic = PE_ABI_MAGIC,
    .struct_size = sizeof(pe_entry),
    .abi_major = PE_ABI_MAJOR,
    .abi_minor = PE_ABI_MINOR,
    .name = "fire",
    .version = "1",
    .schemes = fire_schemes,
    .n_schemes = 1,
};
