/* my_scheme: added to every score, after scaling, before mask and softmax.
 *
 *     s[query][key] -= slope * log2(1 + |m - n|)        m position of the query, n of the key
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
enum { PARAM_SLOPE, N_PARAMS };

static const pe_param params[N_PARAMS] = {
    [PARAM_SLOPE] = {.key = "slope",
                     .doc = "what a score loses per doubling of 1 + distance",
                     .type = PE_REAL,
                     .min = 0,
                     .max = 1e6,
                     .dflt = {.r = 0.5}},
};

/* CHANGE 2: what an instance keeps; all of it is worked out once, in create. */
struct pe_instance {
  double slope;
};

static pe_status create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                        pe_error *err) {
  (void)host;
  /* CHANGE 3: refuse the shapes and the combinations of parameters that the formula cannot serve (PE_ERR_SHAPE,
   * PE_ERR_PARAM). This one serves all; shape->n_heads is there for a slope per head. */
  (void)shape;
  pe_instance *self = malloc(sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu bytes", sizeof *self);
  }
  self->slope = values[PARAM_SLOPE].r;
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

/* All positions are checked before anything is written; the comparison refuses NaN, too. */
static pe_status check_positions(const double *positions, size_t n, const char *whose, pe_error *err) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(positions[i]) <= position_limit)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)i, "%s position %.17g is not within -2^53 to 2^53", whose,
                     positions[i]);
    }
  }
  return PE_OK;
}

static pe_status bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  if (tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  pe_status status = check_positions(tile->pos_q, tile->nq, "query", err);
  if (status == PE_OK) {
    status = check_positions(tile->pos_k, tile->nk, "key", err);
  }
  if (status != PE_OK) {
    return status;
  }
  for (size_t row = 0; row < tile->nq; row++) {
    float *s = tile->s + row * tile->s_stride; /* [nk] */
    for (size_t col = 0; col < tile->nk; col++) {
      /* CHANGE 5: the formula, in double; tile->head is the query head. What is there stays: it is added to. */
      double distance = fabs(tile->pos_q[row] - tile->pos_k[col]);
      s[col] += (float)(-self->slope * log2(1.0 + distance));
    }
  }
  return PE_OK;
}

/* CHANGE 6: title and reference for people; version is raised whenever a result may change. PE_TRAIT_RELATIVE promises
 * that the bias depends on m - n alone: take it away where that is not so. */
static const pe_scheme scheme = {.struct_size = sizeof(pe_scheme),
                                 .version = 1,
                                 .id = "my_scheme",
                                 .title = "my_scheme: scores fall with the logarithm of the distance",
                                 .reference = "not published",
                                 .sites = PE_SITE_BIAS,
                                 .traits = PE_TRAIT_RELATIVE,
                                 .params = params,
                                 .n_params = N_PARAMS,
                                 .param_stride = sizeof(pe_param),
                                 .create = create,
                                 .destroy = destroy,
                                 .domain = domain,
                                 .bias_add = bias_add};

static const pe_scheme *const schemes[] = {&scheme};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "my_scheme",
                                  .version = "0.1",
                                  .schemes = schemes,
                                  .n_schemes = 1};
