/* my_scheme: moves queries and keys, in every layer, after their projection.
 *
 *     y[2 i]     = x[2 i] cos(a) - x[2 i + 1] sin(a)        a = position * inv_freq[i]
 *     y[2 i + 1] = x[2 i] sin(a) + x[2 i + 1] cos(a)        inv_freq[i] = base^(-2 i / head_dim)
 *
 * This formula is the worked example that `pe-run new` writes. The places to change are marked CHANGE; what stands
 * between them keeps the contract of <pe/plugin.h> and may stay as it is.
 */
#include <math.h>
#include <pe/plugin.h>
#include <stdlib.h>

/* Beyond 2^53 doubles no longer hold every whole number. */
static const double position_limit = 9007199254740992.0;

/* CHANGE 1: the parameters. The host parses them, fills in defaults, checks ranges and passes them in this order. */
enum { PARAM_BASE, N_PARAMS };

static const pe_param params[N_PARAMS] = {
    [PARAM_BASE] = {.key = "base",
                    .doc = "wavelengths run from 2 pi to 2 pi base",
                    .type = PE_REAL,
                    .min = 1,
                    .max = 1e9,
                    .dflt = {.r = 10000}},
};

/* CHANGE 2: what an instance keeps; all of it is worked out once, in create. */
struct pe_instance {
  size_t n_pairs;
  double inv_freq[]; /* [n_pairs] radians per position */
};

static pe_status create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                        pe_error *err) {
  (void)host;
  /* CHANGE 3: refuse the shapes and the combinations of parameters that the formula cannot serve. */
  if (shape->head_dim == 0 || shape->head_dim % 2 != 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "channels are turned in pairs: head_dim %u is not even", shape->head_dim);
  }
  size_t n = shape->head_dim / 2;
  pe_instance *self = malloc(sizeof *self + n * sizeof self->inv_freq[0]);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu frequencies", n);
  }
  self->n_pairs = n;
  for (size_t i = 0; i < n; i++) {
    self->inv_freq[i] = pow(values[PARAM_BASE].r, -(double)i / (double)n);
  }
  *out = self;
  return PE_OK;
}

static void destroy(pe_instance *self) {
  free(self);
}

/* CHANGE 4: the positions at which the formula has a value; integer_only = 1 where it needs whole numbers. */
static pe_status domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -position_limit;
  out->max = position_limit;
  return PE_OK;
}

static pe_status qk_apply(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  /* All positions are checked before anything is written; the comparison refuses NaN, too. */
  for (size_t r = 0; r < rows->n; r++) {
    if (!(fabs(rows->pos[r]) <= position_limit)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %.17g is not within -2^53 to 2^53", rows->pos[r]);
    }
  }
  for (size_t r = 0; r < rows->n; r++) {
    for (size_t i = 0; i < self->n_pairs; i++) {
      /* Sines are taken once for all heads of the call. */
      double angle = rows->pos[r] * self->inv_freq[i];
      double cosine = cos(angle), sine = sin(angle);
      for (size_t head = 0; head < rows->n_heads; head++) {
        const float *x = rows->in + head * rows->in_head_stride + r * rows->in_stride; /* [head_dim] */
        float *y = rows->out + head * rows->out_head_stride + r * rows->out_stride;
        /* CHANGE 5: the formula, in double. y may be x itself: read before you write. */
        double a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = (float)(a * cosine - b * sine);
        y[2 * i + 1] = (float)(a * sine + b * cosine);
      }
    }
  }
  return PE_OK;
}

/* CHANGE 6: title and reference for people; version is raised whenever a result may change. PE_TRAIT_RELATIVE promises
 * that q . k depends on the distance alone: take it away where that is not so. */
static const pe_scheme scheme = {.struct_size = sizeof(pe_scheme),
                                 .version = 1,
                                 .id = "my_scheme",
                                 .title = "my_scheme: neighbouring channels turned by the position",
                                 .reference = "not published",
                                 .sites = PE_SITE_QK,
                                 .traits = PE_TRAIT_RELATIVE,
                                 .params = params,
                                 .n_params = N_PARAMS,
                                 .param_stride = sizeof(pe_param),
                                 .create = create,
                                 .destroy = destroy,
                                 .domain = domain,
                                 .qk_apply = qk_apply};

static const pe_scheme *const schemes[] = {&scheme};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "my_scheme",
                                  .version = "0.1",
                                  .schemes = schemes,
                                  .n_schemes = 1};
