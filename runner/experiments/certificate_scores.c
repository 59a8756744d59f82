/* Scores of the certificate with a stage rounded: rows, then their products. */
#include "experiments/certificate_parts.h"

#include <math.h>
#include <string.h>

struct stage_formats formats_of(enum certificate_stage stage, enum number_format format) {
  struct stage_formats out = {.accumulation = FORMAT_FLOAT64};
  enum number_format *row = out.rows.format;
  bool all = stage == CERTIFICATE_ALL;
  bool both = stage == CERTIFICATE_POSITION_AND_FREQUENCY, made = stage == CERTIFICATE_TABLE_AND_PRODUCT;
  row[STAGE_POSITION] = stage == CERTIFICATE_POSITION || both || all ? format : FORMAT_FLOAT64;
  row[STAGE_FREQUENCY] = stage == CERTIFICATE_FREQUENCY || both || all ? format : FORMAT_FLOAT64;
  row[STAGE_ANGLE] = stage == CERTIFICATE_ANGLE || all ? format : FORMAT_FLOAT64;
  row[STAGE_TABLE] = stage == CERTIFICATE_TABLE || made || all ? format : FORMAT_FLOAT64;
  row[STAGE_PRODUCT] = stage == CERTIFICATE_PRODUCT || made || all ? format : FORMAT_FLOAT64;
  out.twice = stage == CERTIFICATE_TWO_ROTATIONS;
  row[STAGE_OUTPUT] = stage == CERTIFICATE_OUTPUT || out.twice || all ? format : FORMAT_FLOAT64;
  out.accumulation = stage == CERTIFICATE_ACCUMULATION || all ? format : FORMAT_FLOAT64;
  return out;
}

static bool table_is_rounded(const struct stage_formats *formats) {
  for (int stage = STAGE_POSITION; stage <= STAGE_TABLE; stage++) {
    if (formats->rows.format[stage] != FORMAT_FLOAT64) {
      return true;
    }
  }
  return false;
}

/* Tables by which rows at each position are turned a second time: by the shift alone. Sinusoids turn the other way,
 * (sin, cos) of a sum; the factor is in the first turn. */
static void second_tables(struct certificate *c, const struct scene *scene, const struct stage_formats *formats) {
  size_t pairs = scene->angles.n_pairs;
  double factor = scene->angles.factor;
  for (size_t d = 0; d < c->setting.distances; d++) {
    for (size_t axis = 0; axis < c->axes; axis++) {
      c->rounded[axis] = scene->mapped[d * c->axes + axis] - c->still.mapped[d * c->axes + axis];
    }
    double *cosine = c->cosine + d * pairs, *sine = c->sine + d * pairs;
    angles_table(&scene->angles, &formats->rows, c->rounded, cosine, sine);
    for (size_t i = 0; i < pairs; i++) {
      cosine[i] /= factor;
      sine[i] /= c->way == CERTIFICATE_SINUSOIDS ? -factor : factor;
    }
  }
}

/* One row of a scheme of angles. */
static void redone_row(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                       size_t place, const double *cosine, const double *sine, const float *in, double *row) {
  if (c->way == CERTIFICATE_SINUSOIDS) {
    angles_sinusoid(&scene->angles, &formats->rows, cosine, sine, c->width, row);
  } else {
    angles_turn(&scene->angles, &formats->rows, cosine, sine, c->width, in, row);
  }
  if (formats->twice) {
    size_t at = place * scene->angles.n_pairs;
    angles_turn_row(&scene->angles, &formats->rows, c->cosine + at, c->sine + at, c->width, row);
  }
}

static void redone_rows(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                        size_t sample, double *queries, double *key) {
  size_t pairs = scene->angles.n_pairs;
  const struct scene *first = formats->twice ? &c->still : scene;
  const double *cosine = first->cosine, *sine = first->sine;
  if (table_is_rounded(formats)) {
    cosine = c->cosine; /* made once for all samples, see certificate_scores */
    sine = c->sine;
  }
  const float *q = c->q ? c->q + sample * c->in_width : NULL, *k = c->k ? c->k + sample * c->in_width : NULL;
  redone_row(c, scene, formats, 0, cosine, sine, k, key);
  for (size_t d = 0; d < c->setting.distances; d++) {
    redone_row(c, scene, formats, d, cosine + d * pairs, sine + d * pairs, q, queries + d * c->width);
  }
}

/* ---- the scheme as it is ---- */

static int plugin_embedding(struct certificate *c, const double *mapped, double seq_len, struct error *err) {
  size_t n = c->setting.distances;
  memset(c->row_out, 0, n * c->width * sizeof *c->row_out);
  return instance_embed(c->setting.scheme, n, mapped, NULL, seq_len, c->row_out, c->width, err);
}

/* row_out [distances][width]: one row of sample `sample` at every position. */
static int plugin_turned(struct certificate *c, const double *mapped, double seq_len, int role, size_t sample,
                         struct error *err) {
  size_t n = c->setting.distances;
  size_t head = sample % c->setting.n_heads;
  const float *row = (role == PE_ROLE_QUERY ? c->q : c->k) + sample * c->in_width;
  for (size_t d = 0; d < n; d++) {
    memcpy(c->row_in + d * c->in_width, row, c->in_width * sizeof *row);
  }
  size_t of_role = role == PE_ROLE_QUERY ? head : head / (c->setting.n_heads / c->setting.n_kv_heads);
  return instance_rotate(c->setting.scheme, role, (unsigned)c->setting.layer, (unsigned)of_role, 1, n, mapped, NULL,
                         seq_len, c->row_in, c->row_out, err);
}

/* bias [distances] of queries d = 0 .. D - 1 against key 0; the rows are those that enter the product. */
static int plugin_bias(struct certificate *c, const double *mapped, double seq_len, size_t sample, const float *queries,
                       const float *key, double *bias, struct error *err) {
  size_t n = c->setting.distances;
  memset(c->bias_row, 0, n * sizeof *c->bias_row);
  struct bias_tile tile = {.layer = (unsigned)c->setting.layer,
                           .head = (unsigned)(sample % c->setting.n_heads),
                           .seq_len = seq_len,
                           .nq = n,
                           .nk = 1,
                           .mapped_q = mapped,
                           .mapped_k = mapped,
                           .q = queries,
                           .k = key,
                           .q_stride = c->width,
                           .k_stride = c->width,
                           .s = c->bias_row,
                           .s_stride = 1};
  int status = instance_bias(c->setting.scheme, &tile, err);
  for (size_t d = 0; !status && d < n; d++) {
    bias[d] = c->bias_row[d];
  }
  return status;
}

static void to_doubles(const float *in, size_t n, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = in[i];
  }
}

/* The rows and the bias of a sample with the scheme told `mapped`. */
static int plugin_told(struct certificate *c, const double *mapped, double seq_len, size_t sample, double *queries,
                       double *key, double *bias, struct error *err) {
  size_t n = c->setting.distances;
  memset(bias, 0, n * sizeof *bias);
  if (c->sites == PE_SITE_EMBED) {
    int status = plugin_embedding(c, mapped, seq_len, err);
    to_doubles(c->row_out, n * c->width, queries);
    memcpy(key, queries, c->width * sizeof *key);
    return status;
  }
  int status = plugin_turned(c, mapped, seq_len, PE_ROLE_KEY, sample, err);
  if (status) {
    return status;
  }
  to_doubles(c->row_out, c->width, key);
  memcpy(c->key_row, c->row_out, c->width * sizeof *c->key_row);
  status = plugin_turned(c, mapped, seq_len, PE_ROLE_QUERY, sample, err);
  to_doubles(c->row_out, n * c->width, queries);
  if (!status && (c->sites & PE_SITE_BIAS)) {
    status = plugin_bias(c, mapped, seq_len, sample, c->row_out, c->key_row, bias, err);
  }
  return status;
}

/* What was kept of the same positions. */
static void copy_kept(const struct certificate *c, const struct scene *scene, size_t sample, double *queries,
                      double *key, double *bias) {
  size_t n = c->setting.distances, count = n * c->width;
  const double *kept = scene->kept + sample * (count + c->width);
  memcpy(queries, kept, count * sizeof *queries);
  memcpy(key, kept + count, c->width * sizeof *key);
  memcpy(bias, scene->bias + sample * n, n * sizeof *bias);
}

static int plugin_rows(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                       size_t sample, double *queries, double *key, double *bias, struct error *err) {
  size_t n = c->setting.distances, count = n * c->axes;
  enum number_format output = formats->rows.format[STAGE_OUTPUT];
  double *told = c->rounded;
  memcpy(told, scene->mapped, count * sizeof *told);
  round_row(told, count, formats->rows.format[STAGE_POSITION]);
  bool same = true;
  for (size_t i = 0; i < count; i++) {
    if (c->sites && !isfinite(told[i])) {
      return error_set(err, ERROR_UNDEFINED, "position %g is too large for the format", scene->mapped[i]);
    }
    same = same && told[i] == scene->mapped[i];
  }
  int status = 0;
  if (same && scene->kept) {
    copy_kept(c, scene, sample, queries, key, bias);
  } else {
    status = plugin_told(c, told, scene->seq_len, sample, queries, key, bias, err);
  }
  if (!status && (c->sites & (PE_SITE_QK | PE_SITE_EMBED))) {
    round_row(queries, n * c->width, output);
    round_row(key, c->width, output);
  }
  if (!status && (c->sites & PE_SITE_BIAS)) {
    round_row(bias, n, output);
  }
  return status;
}

/* ---- scores ---- */

int certificate_rows(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                     size_t sample, double *queries, double *key, double *bias, struct error *err) {
  if (c->way == CERTIFICATE_AS_IT_IS) {
    return plugin_rows(c, scene, formats, sample, queries, key, bias, err);
  }
  memset(bias, 0, c->setting.distances * sizeof *bias);
  redone_rows(c, scene, formats, sample, queries, key);
  return 0;
}

/* sum [count] = queries [count][width] . key in float64, or every partial sum stored in `format`. Each is a chain of
 * additions; chains beside each other overlap. */
enum { AT_ONCE = 8 };

static void products(const double *queries, size_t count, const double *key, size_t width, enum number_format format,
                     double sum[AT_ONCE]) {
  const double *row[AT_ONCE];
  for (size_t i = 0; i < AT_ONCE; i++) {
    row[i] = queries + (i < count ? i : 0) * width; /* places that are left over repeat the first row */
    sum[i] = 0;
  }
  for (size_t c = 0; c < width; c++) {
    for (size_t i = 0; i < AT_ONCE; i++) {
      sum[i] += row[i][c] * key[c];
    }
    if (format != FORMAT_FLOAT64) {
      round_row(sum, AT_ONCE, format);
    }
  }
}

int certificate_scores(struct certificate *c, struct scene *scene, const struct stage_formats *formats, double *scores,
                       struct error *err) {
  size_t n = c->setting.distances, pairs = scene->angles.n_pairs;
  bool plain = c->way == CERTIFICATE_AS_IT_IS || !table_is_rounded(formats);
  for (size_t d = 0; !plain && d < n; d++) {
    angles_table(&scene->angles, &formats->rows, scene->mapped + d * c->axes, c->cosine + d * pairs,
                 c->sine + d * pairs);
  }
  if (formats->twice) {
    second_tables(c, scene, formats);
  }
  for (size_t sample = 0; sample < c->samples; sample++) {
    int status = certificate_rows(c, scene, formats, sample, c->queries, c->key, c->biases, err);
    if (status) {
      return status;
    }
    bool biased = c->way == CERTIFICATE_AS_IT_IS && (c->sites & PE_SITE_BIAS);
    double sum[AT_ONCE];
    for (size_t d = 0; d < n; d++) {
      if (d % AT_ONCE == 0) {
        products(c->queries + d * c->width, n - d, c->key, c->width, formats->accumulation, sum);
      }
      double score = c->scale * sum[d % AT_ONCE];
      scores[sample * n + d] = biased ? round_to_format(score + c->biases[d], formats->accumulation) : score;
    }
  }
  return 0;
}
