/* Sinusoidal positions: a fixed vector of sines and cosines is added to the input.
 *
 *   vaswani:        w_i = base^(-2i/d)                    i = 0 .. d/2-1
 *   tensor2tensor:  w_i = base^(-i/max(d/2-1, 1))         so that the slowest one is exactly 1/base
 *
 *   interleaved:    PE[p][2i] = sin(p w_i),  PE[p][2i+1]   = cos(p w_i)
 *   halves:         PE[p][i]  = sin(p w_i),  PE[p][d/2+i]  = cos(p w_i)
 *
 * Vaswani et al. 2017, "Attention Is All You Need", section 3.5; the other frequencies and the halves come from the
 * paper's own code, tensor2tensor's get_timing_signal_1d. README.md tells who uses which.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pe/plugin.h>

enum { PARAM_BASE, PARAM_LAYOUT, PARAM_FREQUENCIES, N_PARAMS };
enum { LAYOUT_INTERLEAVED, LAYOUT_HALVES };
enum { FREQUENCIES_VASWANI, FREQUENCIES_TENSOR2TENSOR };
enum { DERIVED_INV_FREQ, DERIVED_PAIRS, N_DERIVED };

/* Beyond 2^53 neighbouring whole positions are the same double, so an encoding could not tell them apart. */
static const double largest_position = 9007199254740992.0;

static const char *const layouts[] = {"interleaved", "halves", NULL};
static const char *const frequencies[] = {"vaswani", "tensor2tensor", NULL};

static const pe_param params[N_PARAMS] = {
    [PARAM_BASE] = {.key = "base",
                    .doc = "wavelengths go from 2 pi to about 2 pi base (the paper's 10000)",
                    .type = PE_REAL,
                    .min = 1,
                    .max = INFINITY,
                    .dflt = {.r = 10000}},
    [PARAM_LAYOUT] = {.key = "layout",
                      .doc = "sin and cos in turn (interleaved, the paper), or all sines then all cosines (halves)",
                      .type = PE_CHOICE,
                      .dflt = {.i = LAYOUT_INTERLEAVED},
                      .choices = layouts},
    [PARAM_FREQUENCIES] = {.key = "frequencies",
                           .doc = "base^(-2i/d) (vaswani, the paper) or base^(-i/(d/2-1)) (tensor2tensor)",
                           .type = PE_CHOICE,
                           .dflt = {.i = FREQUENCIES_VASWANI},
                           .choices = frequencies}};

struct pe_instance {
  size_t n_pairs;    /* d_model / 2 */
  size_t step;       /* channels from one sine to the next */
  size_t to_cosine;  /* channels from a sine to its cosine */
  double inv_freq[]; /* [n_pairs], radians per position */
};

static pe_status sinusoidal_create(const pe_host *host, const pe_shape *shape, const pe_value *values,
                                   pe_instance **out, pe_error *err) {
  (void)host;
  if (shape->d_model == 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "sinusoidal is added to the input, and this model has none (d_model 0)");
  }
  if (shape->d_model % 2) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "d_model %u is odd: sines and cosines come in pairs", shape->d_model);
  }
  size_t n = shape->d_model / 2;
  pe_instance *self = malloc(sizeof *self + n * sizeof self->inv_freq[0]);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu frequencies", n);
  }
  int interleaved = values[PARAM_LAYOUT].i == LAYOUT_INTERLEAVED;
  self->n_pairs = n;
  self->step = interleaved ? 2 : 1;
  self->to_cosine = interleaved ? 1 : n;
  /* Both exponents end in i; max(d/2-1, 1) keeps a single pair from dividing by zero, as in tensor2tensor. */
  double divisor = values[PARAM_FREQUENCIES].i == FREQUENCIES_VASWANI ? (double)n : n > 1 ? (double)(n - 1) : 1;
  for (size_t i = 0; i < n; i++) {
    self->inv_freq[i] = pow(values[PARAM_BASE].r, -(double)i / divisor);
  }
  *out = self;
  return PE_OK;
}

static void sinusoidal_destroy(pe_instance *self) {
  free(self);
}

static pe_status sinusoidal_domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -largest_position;
  out->max = largest_position;
  return PE_OK;
}

static uint32_t sinusoidal_derived_count(const pe_instance *self, double seq_len) {
  (void)self;
  (void)seq_len;
  return N_DERIVED;
}

static pe_status sinusoidal_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out,
                                    double *buf, size_t len, size_t *need) {
  (void)seq_len;
  if (which >= N_DERIVED) {
    return PE_ERR_ARGUMENT;
  }
  size_t columns = which == DERIVED_PAIRS ? 2 : 1;
  *need = self->n_pairs * columns;
  if (buf && len < *need) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_derived){.name = which == DERIVED_PAIRS ? "pairs" : "inv_freq",
                      .doc = which == DERIVED_PAIRS ? "channels of sine and cosine" : "radians per position",
                      .rank = which == DERIVED_PAIRS ? 2 : 1,
                      .dim = {self->n_pairs, columns},
                      .data = buf};
  for (size_t i = 0; buf && i < self->n_pairs; i++) {
    if (which == DERIVED_PAIRS) {
      buf[2 * i] = (double)(i * self->step);
      buf[2 * i + 1] = (double)(i * self->step + self->to_cosine);
    } else {
      buf[i] = self->inv_freq[i];
    }
  }
  return PE_OK;
}

static pe_status check_rows(const pe_rows *rows, const float *values, pe_error *err) {
  if (rows->role != PE_ROLE_EMBED) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "sinusoidal acts on the input, not on rows of role %d", rows->role);
  }
  if (rows->n && (!rows->pos || !values)) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "%zu rows without positions or without values", rows->n);
  }
  for (size_t r = 0; r < rows->n; r++) {
    /* Written so that NaN is refused, too. */
    if (!(fabs(rows->pos[r]) <= largest_position)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %.17g is outside [-2^53, 2^53]", rows->pos[r]);
    }
  }
  return PE_OK;
}

/* out [n][out_stride] += PE[pos]. The angle, its sine and its cosine are double and rounded once. */
static pe_status sinusoidal_embed_add(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  pe_status status = check_rows(rows, rows->out, err);
  if (status != PE_OK) {
    return status;
  }
  for (size_t r = 0; r < rows->n; r++) {
    float *sine = rows->out + r * rows->out_stride;
    float *cosine = sine + self->to_cosine;
    for (size_t i = 0; i < self->n_pairs; i++) {
      double angle = rows->pos[r] * self->inv_freq[i];
      sine[i * self->step] += (float)sin(angle);
      cosine[i * self->step] += (float)cos(angle);
    }
  }
  return PE_OK;
}

/* Nothing to learn, and what is added does not depend on the input: its gradient is the output's. */
static pe_status sinusoidal_rows_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw,
                                     void *scratch, pe_error *err) {
  (void)self;
  (void)dw;
  (void)scratch;
  return check_rows(x, g->in, err);
}

static const void *sinusoidal_extension(const char *id) {
  static const pe_ext_vjp vjp = {.struct_size = sizeof vjp, .rows_vjp = sinusoidal_rows_vjp};
  return strcmp(id, PE_EXT_VJP) == 0 ? &vjp : NULL;
}

static const pe_scheme sinusoidal = {.struct_size = sizeof(pe_scheme),
                                     .version = 1,
                                     .id = "sinusoidal",
                                     .title = "Sinusoidal: fixed sines and cosines added to the input",
                                     .reference = "Vaswani et al. 2017, arXiv:1706.03762, section 3.5",
                                     .sites = PE_SITE_EMBED,
                                     .params = params,
                                     .n_params = N_PARAMS,
                                     .param_stride = sizeof(pe_param),
                                     .create = sinusoidal_create,
                                     .destroy = sinusoidal_destroy,
                                     .domain = sinusoidal_domain,
                                     .derived_count = sinusoidal_derived_count,
                                     .derived = sinusoidal_derived,
                                     .embed_add = sinusoidal_embed_add,
                                     .extension = sinusoidal_extension};

static const pe_scheme *const schemes[] = {&sinusoidal};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "sinusoidal",
                                  .version = "1.0.0",
                                  .schemes = schemes,
                                  .n_schemes = 1};
