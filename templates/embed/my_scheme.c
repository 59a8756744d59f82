/* my_scheme: added to the input once, before the first layer.
 *
 *     x[position][2 i]     += sin(position * inv_freq[i])        inv_freq[i] = base^(-2 i / d_model)
 *     x[position][2 i + 1] += cos(position * inv_freq[i])
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
  size_t d_model;
  double inv_freq[]; /* [(d_model + 1) / 2] radians per position */
};

static pe_status create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                        pe_error *err) {
  (void)host;
  /* CHANGE 3: refuse the shapes and the combinations of parameters that the formula cannot serve. */
  if (shape->d_model == 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "the model has no input to add to: d_model is 0");
  }
  size_t n = ((size_t)shape->d_model + 1) / 2;
  pe_instance *self = malloc(sizeof *self + n * sizeof self->inv_freq[0]);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu frequencies", n);
  }
  self->d_model = shape->d_model;
  for (size_t i = 0; i < n; i++) {
    self->inv_freq[i] = pow(values[PARAM_BASE].r, -2.0 * (double)i / shape->d_model);
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

static pe_status embed_add(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  /* All positions are checked before anything is written; the comparison refuses NaN, too. */
  for (size_t r = 0; r < rows->n; r++) {
    if (!(fabs(rows->pos[r]) <= position_limit)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %.17g is not within -2^53 to 2^53", rows->pos[r]);
    }
  }
  for (size_t r = 0; r < rows->n; r++) {
    float *x = rows->out + r * rows->out_stride; /* [d_model] */
    for (size_t channel = 0; channel < self->d_model; channel++) {
      /* CHANGE 5: the formula, in double. What is there stays: it is added to. */
      double angle = rows->pos[r] * self->inv_freq[channel / 2];
      x[channel] += (float)(channel % 2 == 0 ? sin(angle) : cos(angle));
    }
  }
  return PE_OK;
}

/* CHANGE 6: title and reference for people; version is raised whenever a result may change. */
static const pe_scheme scheme = {.struct_size = sizeof(pe_scheme),
                                 .version = 1,
                                 .id = "my_scheme",
                                 .title = "my_scheme: sines and cosines added to the input",
                                 .reference = "not published",
                                 .sites = PE_SITE_EMBED,
                                 .traits = 0,
                                 .params = params,
                                 .n_params = N_PARAMS,
                                 .param_stride = sizeof(pe_param),
                                 .create = create,
                                 .destroy = destroy,
                                 .domain = domain,
                                 .embed_add = embed_add};

static const pe_scheme *const schemes[] = {&scheme};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "my_scheme",
                                  .version = "0.1",
                                  .schemes = schemes,
                                  .n_schemes = 1};
