/* Rotary positions on two or three axes: every pair of channels follows one coordinate.
 *
 *   axial   the first half of the pairs turns by x w_j, the second by y w_j, w_j = base^(-4j/d), j = 0 .. d/4-1
 *   mrope   pair i keeps the frequency of one-dimensional rope, base^(-2i/d); mrope_section says which coordinate it
 *           follows: blocks [time | height | width], or interleaved: time, height, width in turn until a section is
 * used up, then time
 *
 * With equal coordinates mrope is one-dimensional rope. Heo et al. 2024, arXiv:2403.13298 (axial; rope-vit); Wang et
 * al. 2024, Qwen2-VL, arXiv:2409.12191 (blocks); Qwen3-VL (interleaved).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pe/plugin.h>

enum {
  PARAM_VARIANT,
  PARAM_BASE,
  PARAM_LAYOUT,
  PARAM_ROTARY_DIM,
  PARAM_PARTIAL_ROTARY_FACTOR,
  PARAM_MROPE_SECTION,
  PARAM_MROPE_INTERLEAVED,
  N_PARAMS
};
enum { VARIANT_AXIAL, VARIANT_MROPE };
enum { LAYOUT_HALF, LAYOUT_INTERLEAVED };
enum { DERIVED_INV_FREQ, DERIVED_INV_FREQ_UNSCALED, DERIVED_PAIRS, DERIVED_PAIR_AXIS, N_DERIVED };

/* Sines are taken for this many rows, then every head turns them. */
enum { BLOCK_ROWS = 32 };
enum { MAX_AXES = 3 };

/* Beyond 2^53 neighbouring whole positions are the same double. */
static const double largest_position = 9007199254740992.0;

static const char *const variants[] = {"axial", "mrope", NULL};
static const char *const layouts[] = {"half", "interleaved", NULL};

static const pe_param params[N_PARAMS] = {
    [PARAM_VARIANT] = {.key = "variant",
                       .doc = "halves of the pairs for x and y (axial), or sections of one-dimensional rope (mrope)",
                       .type = PE_CHOICE,
                       .dflt = {.i = VARIANT_AXIAL},
                       .choices = variants},
    [PARAM_BASE] = {.key = "base",
                    .doc = "of the frequencies; without it 100 (axial), 10000 (mrope)",
                    .type = PE_REAL,
                    .flags = PE_PARAM_OPTIONAL,
                    .min = 1,
                    .max = INFINITY},
    [PARAM_LAYOUT] = {.key = "layout",
                      .doc = "pairs (i, i+d/2) or (2i, 2i+1); without it interleaved (axial), half (mrope)",
                      .type = PE_CHOICE,
                      .flags = PE_PARAM_OPTIONAL,
                      .choices = layouts},
    [PARAM_ROTARY_DIM] = {.key = "rotary_dim",
                          .doc = "d: the first d channels turn, the rest pass through; without it head_dim",
                          .type = PE_INT,
                          .flags = PE_PARAM_OPTIONAL,
                          .min = 2,
                          .max = 4294967294.0},
    [PARAM_PARTIAL_ROTARY_FACTOR] = {.key = "partial_rotary_factor",
                                     .doc = "d / head_dim, rounded down",
                                     .type = PE_REAL,
                                     .flags = PE_PARAM_OPTIONAL,
                                     .min = 0,
                                     .max = 1},
    [PARAM_MROPE_SECTION] = {.key = "mrope_section",
                             .doc = "mrope: pairs that follow each of 2 or 3 coordinates; adds up to d/2",
                             .type = PE_REAL_LIST,
                             .flags = PE_PARAM_OPTIONAL,
                             .min = 0,
                             .max = 4294967294.0,
                             .list_min = 2,
                             .list_max = MAX_AXES},
    [PARAM_MROPE_INTERLEAVED] = {.key = "mrope_interleaved",
                                 .doc = "mrope: coordinates in turn (true) or in blocks (false, without it)",
                                 .type = PE_BOOL,
                                 .flags = PE_PARAM_OPTIONAL}};

struct pe_instance {
  uint32_t n_layers, n_heads, n_kv_heads, axes;
  size_t head_dim, n_pairs;
  int interleaved;
  double *inv_freq, *axis; /* [n_pairs] each, in `numbers`: frequency, and the coordinate that a pair follows */
  double numbers[];
};

static pe_status settle_width(const pe_shape *shape, const pe_value *values, size_t *n_pairs, pe_error *err) {
  if (shape->head_dim == 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "rope2d turns queries and keys, and this model has none (head_dim 0)");
  }
  const pe_value *rotary_dim = &values[PARAM_ROTARY_DIM];
  const pe_value *partial = &values[PARAM_PARTIAL_ROTARY_FACTOR];
  if (rotary_dim->given && partial->given) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_ROTARY_DIM,
                   "rotary_dim %lld and partial_rotary_factor %g say the same thing: give one of them",
                   (long long)rotary_dim->i, partial->r);
  }
  double width = shape->head_dim;
  if (rotary_dim->given) {
    width = rotary_dim->r;
  } else if (partial->given) {
    width = floor(width * partial->r);
  }
  if (width > shape->head_dim) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_ROTARY_DIM, "rotary_dim %.0f is wider than a head, %u", width,
                   shape->head_dim);
  }
  double unit = values[PARAM_VARIANT].i == VARIANT_AXIAL ? 4 : 2;
  if (width < unit || fmod(width, unit) != 0) {
    pe_status status = rotary_dim->given || partial->given ? PE_ERR_PARAM : PE_ERR_SHAPE;
    return pe_fail(err, status, -1, "rotary width %.0f is not a multiple of %.0f, which variant %s needs", width, unit,
                   variants[values[PARAM_VARIANT].i]);
  }
  *n_pairs = (size_t)width / 2;
  return PE_OK;
}

static pe_status check_sections(const pe_value *values, size_t n_pairs, pe_error *err) {
  const pe_value *section = &values[PARAM_MROPE_SECTION];
  const pe_value *interleaved = &values[PARAM_MROPE_INTERLEAVED];
  if (values[PARAM_VARIANT].i == VARIANT_AXIAL) {
    return section->given || interleaved->given
               ? pe_fail(err, PE_ERR_PARAM, section->given ? PARAM_MROPE_SECTION : PARAM_MROPE_INTERLEAVED,
                         "mrope_section and mrope_interleaved go with variant mrope, not with axial")
               : PE_OK;
  }
  if (!section->given) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_MROPE_SECTION, "variant mrope needs mrope_section");
  }
  double sum = 0;
  for (size_t a = 0; a < section->n; a++) {
    if (floor(section->list[a]) != section->list[a]) {
      return pe_fail(err, PE_ERR_PARAM, PARAM_MROPE_SECTION, "mrope_section[%zu] is %g: pairs are counted whole", a,
                     section->list[a]);
    }
    sum += section->list[a];
  }
  if (sum != (double)n_pairs) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_MROPE_SECTION,
                   "mrope_section adds up to %.0f, rotary width %zu has %zu pairs", sum, 2 * n_pairs, n_pairs);
  }
  for (size_t a = 1; interleaved->given && interleaved->i && a < section->n; a++) {
    size_t places = (n_pairs + section->n - 1 - a) / section->n;
    if (section->list[a] > (double)places) {
      return pe_fail(err, PE_ERR_PARAM, PARAM_MROPE_SECTION,
                     "mrope_section[%zu] is %.0f, but in turns only %zu of %zu pairs can follow it", a,
                     section->list[a], places, n_pairs);
    }
  }
  return PE_OK;
}

/* The coordinate that pair i follows. */
static size_t axis_of_pair(const pe_value *values, size_t n_pairs, size_t i) {
  if (values[PARAM_VARIANT].i == VARIANT_AXIAL) {
    return i < n_pairs / 2 ? 0 : 1;
  }
  const double *section = values[PARAM_MROPE_SECTION].list;
  size_t axes = values[PARAM_MROPE_SECTION].n;
  if (values[PARAM_MROPE_INTERLEAVED].given && values[PARAM_MROPE_INTERLEAVED].i) {
    size_t axis = i % axes;
    return (double)i < (double)axes * section[axis] ? axis : 0;
  }
  double end = 0;
  for (size_t axis = 0; axis + 1 < axes; axis++) {
    end += section[axis];
    if ((double)i < end) {
      return axis;
    }
  }
  return axes - 1;
}

static pe_status rope2d_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                               pe_error *err) {
  (void)host;
  size_t n = 0;
  pe_status status = settle_width(shape, values, &n, err);
  if (status == PE_OK) {
    status = check_sections(values, n, err);
  }
  if (status != PE_OK) {
    return status;
  }
  int axial = values[PARAM_VARIANT].i == VARIANT_AXIAL;
  pe_instance *self = malloc(sizeof *self + 2 * n * sizeof self->numbers[0]);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu frequencies", n);
  }
  *self =
      (pe_instance){.n_layers = shape->n_layers,
                    .n_heads = shape->n_heads,
                    .n_kv_heads = shape->n_kv_heads,
                    .axes = axial ? 2 : (uint32_t)values[PARAM_MROPE_SECTION].n,
                    .head_dim = shape->head_dim,
                    .n_pairs = n,
                    .interleaved = values[PARAM_LAYOUT].given ? values[PARAM_LAYOUT].i == LAYOUT_INTERLEAVED : axial,
                    .inv_freq = self->numbers,
                    .axis = self->numbers + n};
  double base = values[PARAM_BASE].given ? values[PARAM_BASE].r : axial ? 100 : 10000;
  /* axial: the index starts again for y, and 4j/d = j/(d/4). */
  size_t per_axis = axial ? n / 2 : n;
  for (size_t i = 0; i < n; i++) {
    self->inv_freq[i] = pow(base, -(double)(i % per_axis) / (double)per_axis);
    self->axis[i] = (double)axis_of_pair(values, n, i);
  }
  *out = self;
  return PE_OK;
}

static void rope2d_destroy(pe_instance *self) {
  free(self);
}

static pe_status rope2d_domain(const pe_instance *self, pe_domain *out) {
  out->pos_axes = self->axes;
  out->min = -largest_position;
  out->max = largest_position;
  return PE_OK;
}

static uint32_t rope2d_derived_count(const pe_instance *self, double seq_len) {
  (void)self;
  (void)seq_len;
  return N_DERIVED;
}

static pe_status rope2d_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                                size_t len, size_t *need) {
  static const struct {
    const char *name, *doc;
  } known[N_DERIVED] = {
      [DERIVED_INV_FREQ] = {"inv_freq", "radians per position, of the coordinate that the pair follows"},
      [DERIVED_INV_FREQ_UNSCALED] = {"inv_freq_unscaled", "the same: rope2d does not scale"},
      [DERIVED_PAIRS] = {"pairs", "channels turned together"},
      [DERIVED_PAIR_AXIS] = {"pair_axis", "the coordinate that the pair follows, from 0"}};
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
      buf[i] = which == DERIVED_PAIR_AXIS ? self->axis[i] : self->inv_freq[i];
    }
  }
  return PE_OK;
}

static size_t rope2d_scratch_bytes(const pe_instance *self, size_t max_q, size_t max_k) {
  (void)max_q;
  (void)max_k;
  return self->n_pairs * 2 * BLOCK_ROWS * sizeof(float);
}

static pe_status check_rows(const pe_instance *self, const pe_rows *rows, const float *in, const float *out,
                            const void *scratch, pe_error *err) {
  if (rows->role != PE_ROLE_QUERY && rows->role != PE_ROLE_KEY) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "rope2d acts on queries and keys, not on rows of role %d", rows->role);
  }
  uint32_t heads = rows->role == PE_ROLE_QUERY ? self->n_heads : self->n_kv_heads;
  if (rows->layer >= self->n_layers || rows->head > heads || rows->n_heads > heads - rows->head) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "layer %u, heads %u to %u: the model has %u layers and %u heads",
                   rows->layer, rows->head, rows->head + rows->n_heads, self->n_layers, heads);
  }
  if (rows->n == 0) {
    return PE_OK;
  }
  if (!rows->pos || !in || !out || !scratch) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "%zu rows without positions, values or scratch", rows->n);
  }
  for (size_t r = 0; r < rows->n; r++) {
    for (size_t a = 0; a < self->axes; a++) {
      /* Written so that NaN is refused, too. */
      double position = rows->pos[r * self->axes + a];
      if (!(fabs(position) <= largest_position)) {
        return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "coordinate %zu, %.17g, is outside [-2^53, 2^53]", a,
                       position);
      }
    }
  }
  return PE_OK;
}

/* First and second channels of n pairs, `step` apart; turned in place. */
static void turn(float *first, float *second, size_t step, const float *restrict cosine, const float *restrict sine,
                 size_t n) {
  for (size_t i = 0; i < n; i++) {
    float a = first[i * step];
    float b = second[i * step];
    first[i * step] = a * cosine[i] - b * sine[i];
    second[i * step] = b * cosine[i] + a * sine[i];
  }
}

/* out [n_heads][n][head_dim] = in turned by direction * angle. Positions come from `rows`, values from `data`
 * (backward: the gradients). Angles, cosines and sines are double and rounded once. */
static void turn_rows(const pe_instance *self, const pe_rows *rows, const pe_rows *data, double direction,
                      void *scratch) {
  size_t n_pairs = self->n_pairs;
  float *cosine = scratch;
  float *sine = cosine + BLOCK_ROWS * n_pairs;
  for (size_t start = 0; start < rows->n; start += BLOCK_ROWS) {
    size_t count = rows->n - start < BLOCK_ROWS ? rows->n - start : BLOCK_ROWS;
    for (size_t r = 0; r < count; r++) {
      const double *position = rows->pos + (start + r) * self->axes;
      for (size_t i = 0; i < n_pairs; i++) {
        double angle = position[(size_t)self->axis[i]] * self->inv_freq[i];
        cosine[r * n_pairs + i] = (float)cos(angle);
        sine[r * n_pairs + i] = (float)(direction * sin(angle));
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

static pe_status rope2d_qk_apply(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = check_rows(self, rows, rows->in, rows->out, scratch, err);
  if (status == PE_OK) {
    turn_rows(self, rows, rows, 1, scratch);
  }
  return status;
}

/* The transpose of a rotation turns back. */
static pe_status rope2d_rows_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw,
                                 void *scratch, pe_error *err) {
  (void)dw;
  pe_status status = check_rows(self, x, g->in, g->out, scratch, err);
  if (status == PE_OK) {
    turn_rows(self, x, g, -1, scratch);
  }
  return status;
}

static const void *rope2d_extension(const char *id) {
  static const pe_ext_vjp vjp = {.struct_size = sizeof vjp, .rows_vjp = rope2d_rows_vjp};
  return strcmp(id, PE_EXT_VJP) == 0 ? &vjp : NULL;
}

static const pe_scheme rope2d = {.struct_size = sizeof(pe_scheme),
                                 .version = 1,
                                 .id = "rope2d",
                                 .title = "RoPE on two or three axes: axial, or M-RoPE's sections",
                                 .reference = "Heo et al. 2024, arXiv:2403.13298; Qwen2-VL, arXiv:2409.12191",
                                 .sites = PE_SITE_QK,
                                 .traits = PE_TRAIT_RELATIVE,
                                 .params = params,
                                 .n_params = N_PARAMS,
                                 .param_stride = sizeof(pe_param),
                                 .create = rope2d_create,
                                 .destroy = rope2d_destroy,
                                 .domain = rope2d_domain,
                                 .derived_count = rope2d_derived_count,
                                 .derived = rope2d_derived,
                                 .scratch_bytes = rope2d_scratch_bytes,
                                 .qk_apply = rope2d_qk_apply,
                                 .extension = rope2d_extension};

static const pe_scheme *const schemes[] = {&rope2d};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "rope2d",
                                  .version = "1.0.0",
                                  .schemes = schemes,
                                  .n_schemes = 1};
