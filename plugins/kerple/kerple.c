/* KERPLE (Chi et al. 2022): a kernelised distance subtracted from the score, with two learned numbers per head.
 *
 *     log     bias[h](m, n) = -p[h] ln(1 + a[h] d)
 *     power   bias[h](m, n) = -a[h] d^p[h]             d = m - n, 0 for keys ahead of the query; or |m - n|
 *
 * See README.md. */
#include <math.h>
#include <pe/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Above 2^53 doubles no longer hold every whole number, so distances would be made up. */
#define POSITION_LIMIT 9007199254740992.0

/* The authors hold the numbers within these bounds ahead of every forward pass. */
#define CLAMP_MIN 0.01
#define POWER_MAX 2.0

enum { PARAM_KERNEL = 0, PARAM_DISTANCE = 1, PARAM_COUNT = 2 };
enum { KERNEL_LOG = 0, KERNEL_POWER = 1 };
enum { DISTANCE_CAUSAL = 0, DISTANCE_SYMMETRIC = 1 };
enum { TENSOR_A = 0, TENSOR_P = 1, TENSOR_COUNT = 2 };

struct pe_instance {
  int64_t kernel;   /* KERNEL_* */
  int64_t distance; /* DISTANCE_* */
  uint32_t n_heads;
  const float *a; /* [n_heads], bound */
  const float *p; /* [n_heads], bound */
};

static const char *const kernels[] = {"log", "power", NULL};
static const char *const distance_rules[] = {"causal", "symmetric", NULL};

static const pe_param kerple_params[PARAM_COUNT] = {
    {.key = "kernel",
     .doc = "log: -p ln(1 + a d); power: -a d^p",
     .type = PE_CHOICE,
     .dflt = {.i = KERNEL_LOG},
     .choices = kernels},
    {.key = "distance",
     .doc = "causal: d = m - n, and 0 for keys ahead of the query; symmetric: d = |m - n|",
     .type = PE_CHOICE,
     .dflt = {.i = DISTANCE_CAUSAL},
     .choices = distance_rules},
};

static const pe_tensor kerple_tensors[TENSOR_COUNT] = {
    {.name = "a",
     .doc = "r1 of the power kernel, r2 of the logarithmic one [heads]; used as max(a, 0.01)",
     .init = PE_INIT_UNIFORM,
     .init_a = 0.0,
     .init_b = 1.0},
    {.name = "p",
     .doc = "r2 of the power kernel, r1 of the logarithmic one [heads]; used as max(p, 0.01), and min(p, 2) as a power",
     .init = PE_INIT_UNIFORM,
     .init_a = 0.0,
     .init_b = 2.0},
};

/* ---- instance ---- */

static pe_status kerple_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                               pe_error *err) {
  (void)host;
  pe_instance *self = malloc(sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for an instance");
  }
  *self =
      (pe_instance){.kernel = values[PARAM_KERNEL].i, .distance = values[PARAM_DISTANCE].i, .n_heads = shape->n_heads};
  *out = self;
  return PE_OK;
}

static void kerple_destroy(pe_instance *self) {
  free(self);
}

static uint32_t kerple_instance_traits(const pe_instance *self) {
  return PE_TRAIT_RELATIVE | (self->distance == DISTANCE_CAUSAL ? PE_TRAIT_CAUSAL_ONLY : 0u);
}

static pe_status kerple_domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -POSITION_LIMIT;
  out->max = POSITION_LIMIT;
  return PE_OK;
}

static pe_status kerple_tensor_shape(const pe_instance *self, uint32_t which, pe_dims *out) {
  if (which >= TENSOR_COUNT) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_dims){.rank = 1, .dim = {self->n_heads}};
  return PE_OK;
}

static pe_status kerple_tensor_bind(pe_instance *self, const float *const *tensors) {
  if (!tensors[TENSOR_A] || !tensors[TENSOR_P]) {
    return PE_ERR_ARGUMENT;
  }
  self->a = tensors[TENSOR_A];
  self->p = tensors[TENSOR_P];
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
  if (!self->a) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "the tensors a and p are not bound");
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

/* The numbers of a head as the authors use them. Comparisons, not fmin and fmax, so that NaN stays NaN. */
static double clamped_a(const pe_instance *self, uint32_t head) {
  const double a = self->a[head];
  return a < CLAMP_MIN ? CLAMP_MIN : a;
}

static double clamped_p(const pe_instance *self, uint32_t head) {
  const double p = self->p[head];
  if (p < CLAMP_MIN) {
    return CLAMP_MIN;
  }
  return self->kernel == KERNEL_POWER && p > POWER_MAX ? POWER_MAX : p;
}

static pe_status kerple_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  if (tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, tile, err);
  if (status != PE_OK) {
    return status;
  }
  const double a = clamped_a(self, tile->head);
  const double p = clamped_p(self, tile->head);
  for (size_t row = 0; row < tile->nq; row++) {
    float *s = tile->s + row * tile->s_stride;
    for (size_t col = 0; col < tile->nk; col++) {
      const double d = distance_of(self, tile->pos_q[row] - tile->pos_k[col]);
      s[col] += (float)(self->kernel == KERNEL_LOG ? -p * log1p(a * d) : -a * pow(d, p));
    }
  }
  return PE_OK;
}

/* The authors clamp the parameters themselves ahead of the forward pass, outside of the gradient. So the gradient is
 * taken at the clamped values and passes on whole, also where a clamp was at work. */
static pe_status kerple_bias_vjp(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                                 size_t dk_stride, float *const *dw, void *scratch, pe_error *err) {
  (void)dq;
  (void)dq_stride;
  (void)dk;
  (void)dk_stride;
  (void)scratch;
  if (ds->nq == 0 || ds->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, ds, err);
  if (status != PE_OK) {
    return status;
  }
  const double a = clamped_a(self, ds->head);
  const double p = clamped_p(self, ds->head);
  double da = 0.0;
  double dp = 0.0;
  for (size_t row = 0; row < ds->nq; row++) {
    const float *s = ds->s + row * ds->s_stride;
    for (size_t col = 0; col < ds->nk; col++) {
      const double d = distance_of(self, ds->pos_q[row] - ds->pos_k[col]);
      if (d > 0.0) { /* at 0 the bias is 0 for any a and p */
        if (self->kernel == KERNEL_LOG) {
          da -= s[col] * (p * d / (1.0 + a * d));
          dp -= s[col] * log1p(a * d);
        } else {
          const double power = pow(d, p);
          da -= s[col] * power;
          dp -= s[col] * (a * power * log(d));
        }
      }
    }
  }
  if (dw && dw[TENSOR_A]) {
    dw[TENSOR_A][ds->head] += (float)da;
  }
  if (dw && dw[TENSOR_P]) {
    dw[TENSOR_P][ds->head] += (float)dp;
  }
  return PE_OK;
}

static const pe_ext_vjp kerple_vjp = {.struct_size = sizeof(pe_ext_vjp), .bias_vjp = kerple_bias_vjp};

static const void *kerple_extension(const char *id) {
  return strcmp(id, PE_EXT_VJP) == 0 ? &kerple_vjp : NULL;
}

static const pe_scheme kerple_scheme = {
    .struct_size = sizeof(pe_scheme),
    .version = 1,
    .id = "kerple",
    .title = "KERPLE: kernelised relative positional embedding",
    .reference = "Chi, Fan, Ramadge, Rudnicky: KERPLE, NeurIPS 2022, arXiv:2205.09921",
    .sites = PE_SITE_BIAS,
    .traits = PE_TRAIT_RELATIVE,
    .params = kerple_params,
    .n_params = PARAM_COUNT,
    .param_stride = sizeof(pe_param),
    .tensors = kerple_tensors,
    .n_tensors = TENSOR_COUNT,
    .tensor_stride = sizeof(pe_tensor),
    .create = kerple_create,
    .destroy = kerple_destroy,
    .domain = kerple_domain,
    .tensor_shape = kerple_tensor_shape,
    .tensor_bind = kerple_tensor_bind,
    .bias_add = kerple_bias_add,
    .extension = kerple_extension,
    .instance_traits = kerple_instance_traits,
};

static const pe_scheme *const kerple_schemes[] = {&kerple_scheme};

const pe_entry pe_plugin_entry = {
    .magic = PE_ABI_MAGIC,
    .struct_size = sizeof(pe_entry),
    .abi_major = PE_ABI_MAJOR,
    .abi_minor = PE_ABI_MINOR,
    .name = "kerple",
    .version = "1",
    .schemes = kerple_schemes,
    .n_schemes = 1,
};
