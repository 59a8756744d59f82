/* What a variant would have written in the place of someone else's tensor. */
#include "commands/compare_dump.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the variant ---- */

static pe_shape shape_of(const struct ours *ours, const struct dump *dump) {
  const struct compare_request *request = ours->request;
  unsigned heads = dump->kind == DUMP_ROTATED || dump->kind == DUMP_BIAS ? (unsigned)dump->heads : 1;
  size_t pairs = dump->form == FORM_PAIRS ? dump->columns : dump->columns / 2;
  unsigned width = dump->kind == DUMP_ROTATED     ? (unsigned)dump->columns
                   : dump->kind == DUMP_BIAS      ? 64
                   : dump->kind == DUMP_EMBEDDING ? 0
                                                  : (unsigned)(2 * pairs);
  width = request->head_dim && dump->kind != DUMP_ROTATED ? request->head_dim : width;
  unsigned d_model = dump->kind == DUMP_EMBEDDING ? (unsigned)dump->columns : request->d_model;
  return (pe_shape){.n_layers = 1,
                    .n_heads = heads,
                    .n_kv_heads = heads,
                    .d_model = d_model ? d_model : heads * width,
                    .head_dim = width,
                    .train_len = request->train_length};
}

/* The settings with the cause's in the place of the one of its key. */
static const char **settings_with(const struct scheme_arguments *arguments, const char *setting, size_t *count,
                                  struct error *err) {
  const char **settings = memory_new(arguments->n_settings + 1, sizeof *settings, "settings", err);
  size_t key = strcspn(setting, "=") + 1;
  *count = 0;
  for (size_t i = 0; settings && i < arguments->n_settings; i++) {
    if (!setting[0] || strncmp(arguments->settings[i], setting, key) != 0) {
      settings[(*count)++] = arguments->settings[i];
    }
  }
  if (settings && setting[0]) {
    settings[(*count)++] = setting;
  }
  return settings;
}

struct instance *dump_instance(const struct ours *ours, const struct dump *dump, const struct cause *cause,
                               struct error *err) {
  struct scheme_arguments arguments = ours->request->ours;
  const char **settings = settings_with(&ours->request->ours, cause->setting, &arguments.n_settings, err);
  if (!settings) {
    return NULL;
  }
  arguments.settings = settings;
  struct scheme_choice choice;
  struct instance *instance = NULL;
  if (!scheme_choose(ours->session, &arguments, &choice, err)) {
    pe_shape shape = shape_of(ours, dump);
    choice.quiet = cause->name[0] != '\0';
    instance = scheme_instance(&choice, &shape, ours->request->seed, err);
  }
  scheme_choice_free(&choice);
  free(settings);
  return instance;
}

/* ---- angles ---- */

static int does_not_apply(struct error *err) {
  return error_set(err, ERROR_USAGE, "this cannot be said of this scheme and tensor");
}

/* What a cause makes of the frequencies. */
static int change_angles(const struct cause *cause, size_t head_dim, struct angles *angles, struct error *err) {
  size_t n = angles->n_pairs;
  if (cause->frequencies == FREQUENCIES_UNSCALED) {
    memcpy(angles->inv_freq, angles->unscaled, n * sizeof *angles->inv_freq);
  }
  if ((cause->frequencies == FREQUENCIES_BY_HEAD || cause->pairs_by_head) && (2 * n >= head_dim || n < 2)) {
    return does_not_apply(err);
  }
  if (cause->frequencies == FREQUENCIES_BY_HEAD) {
    /* base^(-2i/d) over the rotary width, taken to the head's width. */
    double exponent = 2 * (double)n / (double)head_dim;
    for (size_t i = 0; i < n; i++) {
      angles->inv_freq[i] = pow(angles->unscaled[i], exponent);
    }
  }
  if (cause->pairs_by_head && angles->channel[1] - angles->channel[0] != n) {
    return does_not_apply(err);
  }
  for (size_t i = 0; cause->pairs_by_head && i < n; i++) {
    angles->channel[2 * i + 1] = i + head_dim / 2;
  }
  angles->factor = cause->factor_left_out ? 1 : cause->factor_twice ? angles->factor * angles->factor : angles->factor;
  return 0;
}

static int angles_under(const struct instance *instance, const struct dump *dump, const struct cause *cause,
                        size_t head_dim, struct angles *angles, struct error *err) {
  bool found;
  int status = angles_of(instance, dump->seq_len, angles, &found, err);
  if (!status && !found) {
    status = does_not_apply(err);
  }
  status = status ? status : change_angles(cause, head_dim, angles, err);
  if (status) {
    angles_free(angles);
  }
  return status;
}

/* The stages that the user and the cause round. */
static struct angle_rounding rounding_of(const struct ours *ours, const struct cause *cause) {
  struct angle_rounding rounding = ours->request->rounding;
  for (size_t stage = 0; stage < N_ANGLE_STAGES; stage++) {
    if (cause->rounding.format[stage] != FORMAT_FLOAT64) {
      rounding.format[stage] = cause->rounding.format[stage];
    }
  }
  return rounding;
}

/* A row of the table in the tensor's form. */
static void write_table_row(const struct dump *dump, const double *cosine, const double *sine, size_t n, double *row) {
  for (size_t i = 0; i < n; i++) {
    double value = dump->kind == DUMP_SIN ? sine[i] : cosine[i];
    switch (dump->form) {
    case FORM_PAIRS:
      row[i] = value;
      break;
    case FORM_HALVES:
      row[i] = row[i + n] = value;
      break;
    case FORM_NEIGHBOURS:
      row[2 * i] = row[2 * i + 1] = value;
      break;
    case FORM_CONCATENATED:
      row[i] = cosine[i];
      row[i + n] = sine[i];
      break;
    case FORM_COMPLEX:
      row[2 * i] = cosine[i];
      row[2 * i + 1] = sine[i];
      break;
    }
  }
}

struct redone {
  const struct ours *ours;
  const struct dump *dump;
  const struct cause *cause;
  struct angles angles;
  struct angle_rounding rounding;
  double *cosine, *sine; /* of one row */
};

static void redo_row(struct redone *redone, size_t row, double *values) {
  const struct dump *dump = redone->dump;
  size_t n = redone->angles.n_pairs, columns = dump->columns, axes = dump->positions.axes;
  double position[8] = {0};
  for (size_t axis = 0; axis < axes && axis < 8; axis++) {
    position[axis] = dump->positions.values[row * axes + axis] + redone->cause->offset;
  }
  angles_table(&redone->angles, &redone->rounding, position, redone->cosine, redone->sine);
  for (size_t i = 0; redone->cause->other_way && i < n; i++) {
    redone->sine[i] = -redone->sine[i];
  }
  if (dump->kind == DUMP_EMBEDDING) {
    angles_sinusoid(&redone->angles, &redone->rounding, redone->cosine, redone->sine, columns, values + row * columns);
  } else if (dump->kind == DUMP_ROTATED) {
    for (size_t h = 0; h < dump->heads; h++) {
      size_t at = (h * dump->rows + row) * columns;
      angles_turn(&redone->angles, &redone->rounding, redone->cosine, redone->sine, columns, dump->in + at,
                  values + at);
    }
  } else {
    write_table_row(dump, redone->cosine, redone->sine, n, values + row * columns);
  }
}

static size_t pairs_of_table(const struct dump *dump) {
  return dump->form == FORM_PAIRS ? dump->columns : dump->columns / 2;
}

static int redo(struct redone *redone, const struct instance *instance, size_t head_dim, double *values,
                struct error *err) {
  const struct dump *dump = redone->dump;
  int status = angles_under(instance, dump, redone->cause, head_dim, &redone->angles, err);
  if (status) {
    return status;
  }
  size_t n = redone->angles.n_pairs;
  bool rows = dump->kind == DUMP_EMBEDDING || dump->kind == DUMP_ROTATED;
  bool fits = rows                          ? angles_fit(&redone->angles, dump->columns)
              : dump->kind == DUMP_INV_FREQ ? n == dump->columns
                                            : n == pairs_of_table(dump);
  if (!fits) {
    status = error_set(err, ERROR_FILE_CONTENT,
                       "%s has %zu columns, and the variant turns %zu pairs; --head-dim says "
                       "how wide a head is",
                       dump->from ? dump->from : "the tensor", dump->columns, n);
  }
  if (!status && dump->kind == DUMP_INV_FREQ) {
    for (size_t i = 0; i < n; i++) {
      values[i] = round_to_format(redone->angles.inv_freq[i], redone->rounding.format[STAGE_FREQUENCY]);
    }
  } else if (!status) {
    redone->cosine = memory_new(2 * n, sizeof *redone->cosine, "table", err);
    redone->sine = redone->cosine + n;
    status = redone->cosine ? 0 : (int)err->code;
    for (size_t row = 0; !status && row < dump->rows; row++) {
      redo_row(redone, row, values);
    }
    free(redone->cosine);
  }
  angles_free(&redone->angles);
  return status;
}

/* ---- by the plugin ---- */

/* Positions as the other program may have counted and held them. To be freed. */
static double *moved_positions(const struct positions *positions, double offset, enum number_format format,
                               struct error *err) {
  size_t count = positions->count * positions->axes;
  double *moved = memory_new(count, sizeof *moved, "positions", err);
  for (size_t i = 0; moved && i < count; i++) {
    moved[i] = round_to_format(positions->values[i] + offset, format);
  }
  return moved;
}

static int call_rows(const struct instance *instance, const struct dump *dump, const double *positions, float *out,
                     struct error *err) {
  if (dump->kind == DUMP_EMBEDDING) {
    return instance_sites(instance) & PE_SITE_EMBED
               ? instance_embed(instance, dump->rows, positions, NULL, dump->seq_len, out, dump->columns, err)
               : does_not_apply(err);
  }
  if (!(instance_sites(instance) & PE_SITE_QK) || instance_qk_width(instance) != dump->columns) {
    return does_not_apply(err);
  }
  return instance_rotate(instance, dump->role, 0, 0, (unsigned)dump->heads, dump->rows, positions, NULL, dump->seq_len,
                         dump->in, out, err);
}

/* out [heads][Tq][Tk]; swapped: of keys as queries and queries as keys, [heads][Tk][Tq]. */
static int call_bias(const struct instance *instance, const struct dump *dump, const double *queries,
                     const double *keys, bool swapped, float *out, struct error *err) {
  size_t nq = swapped ? dump->columns : dump->rows, nk = swapped ? dump->rows : dump->columns;
  int status = instance_sites(instance) & PE_SITE_BIAS && !(instance_traits(instance) & PE_TRAIT_CONTENT)
                   ? 0
                   : does_not_apply(err);
  for (unsigned h = 0; !status && h < dump->heads; h++) {
    struct bias_tile tile = {.head = h,
                             .seq_len = dump->seq_len,
                             .nq = nq,
                             .nk = nk,
                             .mapped_q = swapped ? keys : queries,
                             .mapped_k = swapped ? queries : keys,
                             .s = out + h * nq * nk,
                             .s_stride = nk};
    status = instance_bias(instance, &tile, err);
  }
  return status;
}

/* Slopes of a narrower format scale the biases of their head. */
static int scale_slopes(const struct instance *instance, const struct dump *dump, enum number_format format,
                        double *values, struct error *err) {
  pe_derived value;
  double *slopes;
  int status = instance_derived_named(instance, dump->seq_len, "slopes", &value, &slopes, err);
  if (!status && (!slopes || value.dim[0] != dump->heads)) {
    status = does_not_apply(err);
  }
  size_t count = dump->rows * dump->columns;
  for (size_t i = 0; !status && i < dump->heads * count; i++) {
    double slope = slopes[i / count];
    values[i] *= slope != 0 ? round_to_format(slope, format) / slope : 1;
  }
  free(slopes);
  return status;
}

static void take_values(const struct dump *dump, const struct cause *cause, enum number_format format, const float *out,
                        double *values) {
  size_t rows = dump->rows, columns = dump->columns;
  for (size_t h = 0; h < dump->heads; h++) {
    for (size_t r = 0; r < rows; r++) {
      for (size_t c = 0; c < columns; c++) {
        size_t from = cause->swapped ? (h * columns + c) * rows + r : (h * rows + r) * columns + c;
        double value = cause->negated ? -(double)out[from] : out[from];
        values[(h * rows + r) * columns + c] = round_to_format(value, format);
      }
    }
  }
}

static int call_plugin(const struct ours *ours, const struct instance *instance, const struct dump *dump,
                       const struct cause *cause, double *values, struct error *err) {
  struct angle_rounding rounding = rounding_of(ours, cause);
  enum number_format format = rounding.format[STAGE_POSITION];
  double *queries = moved_positions(&dump->positions, cause->offset, format, err);
  double *keys = queries ? moved_positions(&dump->keys, cause->offset, format, err) : NULL;
  float *out = keys ? memory_new_3d(dump->heads, dump->rows, dump->columns, sizeof *out, "values", err) : NULL;
  int status = out ? 0 : (int)err->code;
  if (!status) {
    status = dump->kind == DUMP_BIAS ? call_bias(instance, dump, queries, keys, cause->swapped, out, err)
                                     : call_rows(instance, dump, queries, out, err);
  }
  if (!status) {
    take_values(dump, cause, rounding.format[STAGE_OUTPUT], out, values);
  }
  free(out);
  free(keys);
  free(queries);
  return status;
}

/* ---- either ---- */

static bool needs_angles(const struct ours *ours, const struct dump *dump, const struct cause *cause) {
  struct angle_rounding rounding = rounding_of(ours, cause);
  bool table = dump->kind <= DUMP_COS_SIN;
  bool changed =
      cause->frequencies || cause->factor_left_out || cause->factor_twice || cause->pairs_by_head || cause->other_way;
  bool rounded = rounding.format[STAGE_FREQUENCY] || rounding.format[STAGE_ANGLE] || rounding.format[STAGE_TABLE];
  return table || changed || rounded;
}

static bool can_be_redone(const struct instance *instance, const struct dump *dump) {
  return dump->kind == DUMP_EMBEDDING ? instance_sites(instance) == PE_SITE_EMBED
         : dump->kind == DUMP_ROTATED ? angles_are_all(instance, dump->seq_len)
                                      : dump->kind != DUMP_BIAS;
}

/* Channels of the turned rows as another program hands them back. */
static int reorder(const struct instance *instance, const struct dump *dump, enum cause_order order, double *values,
                   struct error *err) {
  struct angles angles;
  bool found;
  int status = angles_of(instance, dump->seq_len, &angles, &found, err);
  if (status) {
    return status;
  }
  double *row = found && angles_fit(&angles, dump->columns) ? memory_new(dump->columns, sizeof *row, "row", err) : NULL;
  if (!row) {
    angles_free(&angles);
    return found ? (int)err->code : does_not_apply(err);
  }
  size_t n = angles.n_pairs;
  for (size_t r = 0; r < dump->heads * dump->rows; r++) {
    double *at = values + r * dump->columns;
    memcpy(row, at, dump->columns * sizeof *row);
    for (size_t i = 0; i < n; i++) {
      at[order == ORDER_HALVES ? i : 2 * i] = row[angles.channel[2 * i]];
      at[order == ORDER_HALVES ? i + n : 2 * i + 1] = row[angles.channel[2 * i + 1]];
    }
  }
  free(row);
  angles_free(&angles);
  return 0;
}

int dump_ours(const struct ours *ours, const struct dump *dump, const struct cause *cause, double *values,
              struct error *err) {
  struct instance *instance = dump_instance(ours, dump, cause, err);
  if (!instance) {
    return err->code;
  }
  int status;
  if (!needs_angles(ours, dump, cause)) {
    status = call_plugin(ours, instance, dump, cause, values, err);
  } else if (!can_be_redone(instance, dump)) {
    status = does_not_apply(err);
  } else {
    struct redone redone = {.ours = ours, .dump = dump, .cause = cause, .rounding = rounding_of(ours, cause)};
    status = redo(&redone, instance, shape_of(ours, dump).head_dim, values, err);
  }
  if (!status && cause->order != ORDER_AS_IT_IS) {
    status = dump->kind == DUMP_ROTATED ? reorder(instance, dump, cause->order, values, err) : does_not_apply(err);
  }
  if (!status && cause->slopes != FORMAT_FLOAT64) {
    status = scale_slopes(instance, dump, cause->slopes, values, err);
  }
  instance_free(instance);
  return status;
}
