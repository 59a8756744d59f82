/* Learned absolute positions: row p + offset of a table is added to the input at position p.
 *
 * The table has no rows past its training length. What happens there is a choice, `beyond`:
 *   error         no value: PE_ERR_POS_RANGE
 *   untrained     further rows that training never moved from their seeded start
 *   clamp         the last row
 *   wrap          row p mod max_positions
 *   zero          nothing is added
 *   interpolate   the table stretched over the call's length T by linear resampling: position p reads
 *                   p (M-1)/(T-1)                align_corners (Radford-style tables, DroPE, PyTorch's align_corners)
 *                   (p + 1/2) M/T - 1/2          otherwise, clamped to [0, M-1], M = max_positions
 *
 * Gehring et al. 2017; Radford et al. 2019 (GPT-2); Zhang et al. 2022 (OPT, whose offset is 2).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pe/plugin.h>

enum {
  PARAM_MAX_POSITIONS,
  PARAM_OFFSET,
  PARAM_BEYOND,
  PARAM_TOTAL_POSITIONS,
  PARAM_ALIGN_CORNERS,
  PARAM_RESAMPLE,
  N_PARAMS
};
enum { BEYOND_ERROR, BEYOND_UNTRAINED, BEYOND_CLAMP, BEYOND_WRAP, BEYOND_ZERO, BEYOND_INTERPOLATE };
enum { RESAMPLE_LONGER, RESAMPLE_ALWAYS };

/* Bounds the table to what can be addressed and printed; no real table comes near. */
#define LARGEST_COUNT 2147483647

static const char *const beyond_choices[] = {"error", "untrained", "clamp", "wrap", "zero", "interpolate", NULL};
static const char *const resample_choices[] = {"longer", "always", NULL};

static const pe_param params[N_PARAMS] = {
    [PARAM_MAX_POSITIONS] = {.key = "max_positions",
                             .doc = "trained rows M; without it those of a given table, else the training length",
                             .type = PE_INT,
                             .flags = PE_PARAM_OPTIONAL,
                             .min = 1,
                             .max = LARGEST_COUNT},
    [PARAM_OFFSET] = {.key = "offset",
                      .doc = "position p reads row p + offset; positions start at -offset (OPT: 2)",
                      .type = PE_INT,
                      .min = 0,
                      .max = LARGEST_COUNT},
    [PARAM_BEYOND] = {.key = "beyond",
                      .doc = "what positions from max_positions on get",
                      .type = PE_CHOICE,
                      .dflt = {.i = BEYOND_ERROR},
                      .choices = beyond_choices},
    [PARAM_TOTAL_POSITIONS] = {.key = "total_positions",
                               .doc = "with beyond untrained: rows in all; without it those of a given table",
                               .type = PE_INT,
                               .flags = PE_PARAM_OPTIONAL,
                               .min = 1,
                               .max = LARGEST_COUNT},
    [PARAM_ALIGN_CORNERS] = {.key = "align_corners",
                             .doc = "with beyond interpolate: first and last rows stay at the ends (PyTorch's name)",
                             .type = PE_BOOL,
                             .flags = PE_PARAM_OPTIONAL},
    [PARAM_RESAMPLE] = {.key = "resample",
                        .doc = "with beyond interpolate: calls longer than the table, or always (shorter ones, too)",
                        .type = PE_CHOICE,
                        .flags = PE_PARAM_OPTIONAL,
                        .choices = resample_choices}};

static const pe_tensor tensors[] = {{.name = "table",
                                     .doc = "[max_positions + offset, d_model]; untrained: [total_positions + offset, "
                                            "d_model]",
                                     .init = PE_INIT_NORMAL,
                                     .init_b = 0.02}};

struct pe_instance {
  size_t d_model;
  double max_positions;   /* trained rows, M */
  double total_positions; /* rows from position 0 on; M but for `untrained` */
  double offset;
  int64_t beyond;
  int align_corners, resample_always;
  double train_len;   /* 0: not known */
  const float *table; /* [total_positions + offset][d_model], bound; NULL before */
};

/* What one position reads: (1 - weight) row[low] + weight row[high]; low = NO_ROW: nothing. */
typedef struct table_read {
  size_t low, high;
  double weight;
} table_read;
#define NO_ROW ((size_t)-1)

static pe_status refuse_misplaced(const pe_value *values, pe_error *err) {
  static const struct {
    int param;
    int64_t beyond;
  } belongs[] = {{PARAM_TOTAL_POSITIONS, BEYOND_UNTRAINED},
                 {PARAM_ALIGN_CORNERS, BEYOND_INTERPOLATE},
                 {PARAM_RESAMPLE, BEYOND_INTERPOLATE}};
  for (size_t i = 0; i < sizeof belongs / sizeof belongs[0]; i++) {
    if (values[belongs[i].param].given && values[PARAM_BEYOND].i != belongs[i].beyond) {
      return pe_fail(err, PE_ERR_PARAM, belongs[i].param, "%s goes with beyond %s, not with %s",
                     params[belongs[i].param].key, beyond_choices[belongs[i].beyond],
                     beyond_choices[values[PARAM_BEYOND].i]);
    }
  }
  return PE_OK;
}

/* Rows of a given table from position 0 on; -1 where none is given. */
static pe_status given_rows(const pe_shape *shape, int64_t offset, int64_t *rows, pe_error *err) {
  *rows = -1;
  if (!shape->given || shape->given[0].rank == 0) {
    return PE_OK;
  }
  const pe_dims *dims = &shape->given[0];
  if (dims->rank != 2) {
    return pe_fail(err, PE_ERR_SHAPE, 0, "the given table has %u axes, [positions, d_model] is needed", dims->rank);
  }
  if (dims->dim[1] != shape->d_model) {
    return pe_fail(err, PE_ERR_SHAPE, 0, "the given table has rows of %zu, d_model is %u", dims->dim[1],
                   shape->d_model);
  }
  if (dims->dim[0] > LARGEST_COUNT || (int64_t)dims->dim[0] <= offset) {
    return pe_fail(err, PE_ERR_SHAPE, 0, "the given table has %zu rows, more than the offset %lld are needed",
                   dims->dim[0], (long long)offset);
  }
  *rows = (int64_t)dims->dim[0] - offset;
  return PE_OK;
}

static pe_status resolve_counts(pe_instance *self, const pe_shape *shape, const pe_value *values, pe_error *err) {
  int64_t offset = values[PARAM_OFFSET].i;
  int64_t rows = -1;
  pe_status status = given_rows(shape, offset, &rows, err);
  if (status != PE_OK) {
    return status;
  }
  int64_t count = rows;
  if (values[PARAM_MAX_POSITIONS].given) {
    count = values[PARAM_MAX_POSITIONS].i;
  } else if (rows < 0 || values[PARAM_BEYOND].i == BEYOND_UNTRAINED) {
    /* Every row of a table with untrained rows cannot be trained: there the training length says how many are. */
    count = shape->train_len >= 1 && shape->train_len <= LARGEST_COUNT ? (int64_t)shape->train_len : -1;
  }
  if (count < 1) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_MAX_POSITIONS,
                   "max_positions is needed: no table is given that says it, and no training length is known");
  }
  int64_t total = count;
  if (values[PARAM_BEYOND].i == BEYOND_UNTRAINED) {
    total = values[PARAM_TOTAL_POSITIONS].given ? values[PARAM_TOTAL_POSITIONS].i : rows;
    if (total < 0) {
      return pe_fail(err, PE_ERR_PARAM, PARAM_TOTAL_POSITIONS,
                     "beyond untrained needs total_positions (or a given table): how many rows there are in all");
    }
    if (total < count) {
      return pe_fail(err, PE_ERR_PARAM, PARAM_TOTAL_POSITIONS, "total_positions %lld is below max_positions %lld",
                     (long long)total, (long long)count);
    }
  }
  if (rows >= 0 && rows != total) {
    return pe_fail(err, PE_ERR_SHAPE, 0, "the given table has %lld rows, %s %lld and offset %lld need %lld",
                   (long long)(rows + offset),
                   values[PARAM_BEYOND].i == BEYOND_UNTRAINED ? "total_positions" : "max_positions", (long long)total,
                   (long long)offset, (long long)(total + offset));
  }
  self->max_positions = (double)count;
  self->total_positions = (double)total;
  self->offset = (double)offset;
  return PE_OK;
}

static pe_status learned_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                                pe_error *err) {
  (void)host;
  if (shape->d_model == 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "learned is added to the input, and this model has none (d_model 0)");
  }
  pe_status status = refuse_misplaced(values, err);
  if (status != PE_OK) {
    return status;
  }
  pe_instance made = {.d_model = shape->d_model,
                      .beyond = values[PARAM_BEYOND].i,
                      .align_corners = !values[PARAM_ALIGN_CORNERS].given || values[PARAM_ALIGN_CORNERS].i,
                      .resample_always = values[PARAM_RESAMPLE].given && values[PARAM_RESAMPLE].i == RESAMPLE_ALWAYS,
                      .train_len = shape->train_len};
  status = resolve_counts(&made, shape, values, err);
  if (status != PE_OK) {
    return status;
  }
  pe_instance *self = malloc(sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for an instance of learned");
  }
  *self = made;
  *out = self;
  return PE_OK;
}

static void learned_destroy(pe_instance *self) {
  free(self);
}

static pe_status learned_domain(const pe_instance *self, pe_domain *out) {
  out->integer_only = self->beyond != BEYOND_INTERPOLATE;
  out->min = -self->offset;
  if (self->beyond == BEYOND_ERROR || self->beyond == BEYOND_UNTRAINED) {
    out->max = self->total_positions - 1;
  }
  /* Training of `train_len` tokens moves rows 0 .. train_len-1 and no others. Past a table that was trained to its end,
   * clamp, wrap and interpolate read trained rows; zero and untrained ones are not learned. */
  int trained_to_end = self->train_len <= 0 || self->train_len >= self->max_positions;
  int reads_trained_rows =
      self->beyond == BEYOND_CLAMP || self->beyond == BEYOND_WRAP || self->beyond == BEYOND_INTERPOLATE;
  out->trained_max = !trained_to_end ? self->train_len - 1 : reads_trained_rows ? INFINITY : self->max_positions - 1;
  return PE_OK;
}

static pe_status learned_tensor_shape(const pe_instance *self, uint32_t which, pe_dims *out) {
  if (which != 0) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_dims){.rank = 2, .dim = {(size_t)(self->total_positions + self->offset), self->d_model}};
  return PE_OK;
}

static pe_status learned_tensor_bind(pe_instance *self, const float *const *bound) {
  if (!bound || !bound[0]) {
    return PE_ERR_ARGUMENT;
  }
  self->table = bound[0];
  return PE_OK;
}

/* Where position p >= 0 of a call of length T reads the table, in rows from position 0. */
static double resampled(const pe_instance *self, double p, double length) {
  double rows = self->max_positions;
  if (length <= rows && !(self->resample_always && length < rows)) {
    return p;
  }
  double at = 0;
  if (self->align_corners) {
    at = length > 1 ? p * (rows - 1) / (length - 1) : 0;
  } else {
    at = (p + 0.5) * rows / length - 0.5;
  }
  return fmin(fmax(at, 0), rows - 1);
}

static pe_status interpolated_read(const pe_instance *self, double p, double length, size_t row, table_read *read,
                                   pe_error *err) {
  double last = fmax(length, 1) - 1;
  if (!(p <= last)) {
    return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)row, "position %.17g is past the end of a call of length %.17g", p,
                   length);
  }
  double at = resampled(self, p, length);
  double low = floor(at);
  read->low = (size_t)(low + self->offset);
  read->weight = at - low;
  read->high = read->low + (read->weight > 0 ? 1 : 0);
  return PE_OK;
}

/* What row `row` of the call reads; the only place that knows positions from rows. */
static pe_status read_at(const pe_instance *self, const pe_rows *rows, size_t row, table_read *read, pe_error *err) {
  double p = rows->pos[row];
  *read = (table_read){.low = NO_ROW, .high = NO_ROW};
  if (!(p >= -self->offset) || isinf(p)) {
    return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)row, "position %.17g is outside the table: its first is %.17g", p,
                   -self->offset);
  }
  if (floor(p) != p && (self->beyond != BEYOND_INTERPOLATE || p < 0)) {
    return pe_fail(err, PE_ERR_POS_KIND, (int64_t)row, "position %.17g is not whole: a table has no row there", p);
  }
  if (self->beyond == BEYOND_INTERPOLATE && p >= 0) {
    return interpolated_read(self, p, rows->seq_len, row, read, err);
  }
  if (p >= self->total_positions) {
    if (self->beyond == BEYOND_ZERO) {
      return PE_OK;
    }
    if (self->beyond == BEYOND_CLAMP) {
      p = self->max_positions - 1;
    } else if (self->beyond == BEYOND_WRAP) {
      p = fmod(p, self->max_positions);
    } else {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)row, "position %.17g is past the table: its last is %.17g", p,
                     self->total_positions - 1);
    }
  }
  read->low = read->high = (size_t)(p + self->offset);
  return PE_OK;
}

static pe_status check_rows(const pe_instance *self, const pe_rows *rows, const void *values, pe_error *err) {
  if (rows->role != PE_ROLE_EMBED) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "learned acts on the input, not on rows of role %d", rows->role);
  }
  if (rows->n && (!rows->pos || !values || !self->table)) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "%zu rows without positions, without values or without a table", rows->n);
  }
  if (rows->n && self->beyond == BEYOND_INTERPOLATE && !isfinite(rows->seq_len)) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "sequence length %g", rows->seq_len);
  }
  for (size_t r = 0; r < rows->n; r++) {
    table_read read;
    pe_status status = read_at(self, rows, r, &read, err);
    if (status != PE_OK) {
      return status;
    }
  }
  return PE_OK;
}

/* out [n][out_stride] += table row. A whole row is added as it is, a blend of two is formed in double. */
static pe_status learned_embed_add(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  pe_status status = check_rows(self, rows, rows->out, err);
  if (status != PE_OK) {
    return status;
  }
  for (size_t r = 0; r < rows->n; r++) {
    table_read read;
    status = read_at(self, rows, r, &read, err);
    if (status != PE_OK) {
      return status; /* not reached: checked above */
    }
    if (read.low == NO_ROW) {
      continue;
    }
    float *out = rows->out + r * rows->out_stride;
    const float *low = self->table + read.low * self->d_model;
    const float *high = self->table + read.high * self->d_model;
    for (size_t c = 0; c < self->d_model; c++) {
      out[c] += read.weight > 0 ? (float)((1 - read.weight) * (double)low[c] + read.weight * (double)high[c]) : low[c];
    }
  }
  return PE_OK;
}

/* dw[0] [rows][d_model] += dL/d table: each row collects the gradients of the positions that read it. */
static pe_status learned_rows_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw,
                                  void *scratch, pe_error *err) {
  (void)scratch;
  pe_status status = check_rows(self, x, g->in, err);
  if (status != PE_OK || !dw || !dw[0]) {
    return status;
  }
  for (size_t r = 0; r < x->n; r++) {
    table_read read;
    status = read_at(self, x, r, &read, err);
    if (status != PE_OK) {
      return status; /* not reached: checked above */
    }
    if (read.low == NO_ROW) {
      continue;
    }
    const float *gradient = g->in + r * g->in_stride;
    float *low = dw[0] + read.low * self->d_model;
    float *high = dw[0] + read.high * self->d_model;
    for (size_t c = 0; c < self->d_model; c++) {
      low[c] += (float)((1 - read.weight) * (double)gradient[c]);
      if (read.weight > 0) {
        high[c] += (float)(read.weight * (double)gradient[c]);
      }
    }
  }
  return PE_OK;
}

static uint32_t learned_instance_traits(const pe_instance *self) {
  return self->beyond == BEYOND_INTERPOLATE ? PE_TRAIT_LENGTH_DEPENDENT : 0;
}

static const void *learned_extension(const char *id) {
  static const pe_ext_vjp vjp = {.struct_size = sizeof vjp, .rows_vjp = learned_rows_vjp};
  return strcmp(id, PE_EXT_VJP) == 0 ? &vjp : NULL;
}

static const pe_scheme learned = {.struct_size = sizeof(pe_scheme),
                                  .version = 1,
                                  .id = "learned",
                                  .title = "Learned: a table row per position, added to the input",
                                  .reference = "Gehring et al. 2017, arXiv:1705.03122; Radford et al. 2019 (GPT-2)",
                                  .sites = PE_SITE_EMBED,
                                  .params = params,
                                  .n_params = N_PARAMS,
                                  .param_stride = sizeof(pe_param),
                                  .tensors = tensors,
                                  .n_tensors = 1,
                                  .tensor_stride = sizeof(pe_tensor),
                                  .create = learned_create,
                                  .destroy = learned_destroy,
                                  .domain = learned_domain,
                                  .tensor_shape = learned_tensor_shape,
                                  .tensor_bind = learned_tensor_bind,
                                  .embed_add = learned_embed_add,
                                  .extension = learned_extension,
                                  .instance_traits = learned_instance_traits};

static const pe_scheme *const schemes[] = {&learned};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "learned",
                                  .version = "1.0.0",
                                  .schemes = schemes,
                                  .n_schemes = 1};
