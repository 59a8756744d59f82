#include "experiments/angles.h"
#include "experiments/claims.h"
#include "experiments/permutations.h"

#include "base/memory.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REORDERED = 4, TRIED_VECTORS = 16 };

static int add_scalar(struct record *record, const char *name, const char *long_name, double value, struct error *err) {
  struct tensor *tensor =
      record_add(record, &(struct tensor_spec){.name = name, .element = ELEMENT_F64, .long_name = long_name}, err);
  if (!tensor) {
    return err->code;
  }
  *(double *)tensor->data = value;
  return 0;
}

/* The scheme's own positions for 0 .. n - 1, [n][axes]; to be freed. */
static double *mapped_positions(const struct claims_job *job, size_t n, double *seq_len, struct error *err) {
  size_t axes = instance_domain(job->context->scheme).pos_axes;
  double *raw = memory_new(n, axes * sizeof *raw, "positions", err);
  double *mapped = raw ? memory_new(n, axes * sizeof *mapped, "positions", err) : NULL;
  for (size_t i = 0; mapped && i < n * axes; i++) {
    raw[i] = (double)(i / axes);
  }
  if (mapped && instance_map_positions(job->context->scheme, n, raw, NULL, mapped, seq_len, err)) {
    free(mapped);
    mapped = NULL;
  }
  free(raw);
  return mapped;
}

/* ---- order --------------------------------------------------------------------------------------------------------
 */

/* max |A(X_pi)[i][j] - A(X)[pi i][pi j]| over heads, rows and columns. */
static double weight_deviation(const float *moved, const float *still, const uint32_t *pi, size_t heads, size_t n) {
  double largest = 0;
  for (size_t head = 0; head < heads; head++) {
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < n; j++) {
        double a = (double)moved[(head * n + i) * n + j];
        double b = (double)still[(head * n + pi[i]) * n + pi[j]];
        largest = fmax(largest, fabs(a - b));
      }
    }
  }
  return largest;
}

/* Weights of tokens index[0..n) at positions 0 .. n - 1, no mask. */
static float *weights_of(const struct claims_job *job, const uint32_t *order, size_t n, struct error *err) {
  static const double positions[MOST_REORDERED] = {0, 1, 2, 3};
  size_t index[MOST_REORDERED];
  for (size_t i = 0; i < n; i++) {
    index[i] = order[i];
  }
  struct sequence sequence = {.n = n, .index = index, .positions = positions};
  return attention_weights(job->context, job->context->scheme, &sequence, 0, false, err);
}

int claims_permutations(const struct claims_job *job, struct record *record, struct error *err) {
  const struct model *model = job->context->model;
  const struct text_tokens *text = &model->texts[0];
  size_t n = model->endless || text->count > MOST_REORDERED ? MOST_REORDERED : text->count;
  if (n < 2) {
    return 0; /* one token has one order */
  }
  struct rng rng = rng_stream(job->context->seed, "claims/permutations");
  struct permutations permutations;
  if (permutations_new(n, 0, false, &rng, &permutations, err)) {
    return err->code;
  }
  float *still = weights_of(job, permutations.items, n, err);
  double largest = 0;
  int status = still ? 0 : (int)err->code;
  for (size_t p = 1; !status && p < permutations.count; p++) {
    const uint32_t *pi = permutations.items + p * n;
    float *moved = weights_of(job, pi, n, err);
    status = moved ? 0 : (int)err->code;
    if (moved) {
      largest = fmax(largest, weight_deviation(moved, still, pi, model->n_heads, n));
    }
    free(moved);
  }
  free(still);
  permutations_free(&permutations);
  /* The same sums in another order: at most (d_model + head_dim + n) roundings, of numbers that softmax keeps below 1.
   */
  double bound = (double)(model->d_model + model->head_dim + n) * (double)FLT_EPSILON;
  status = status ? status
                  : add_scalar(record, "permutation_deviation",
                               "largest change of the attention weights when the tokens are reordered", largest, err);
  return status ? status : add_scalar(record, "permutation_bound", "what rounding may leave of it", bound, err);
}

/* ---- biases -------------------------------------------------------------------------------------------------------
 */

/* bias [heads]: of a query that stands `distance` behind its key; 0 or an error (ERROR_UNDEFINED: it has none). */
static int bias_at(const struct claims_job *job, double distance, float *bias, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  size_t axes = instance_domain(scheme).pos_axes;
  double *query = memory_new(2, axes * sizeof *query, "positions", err);
  if (!query) {
    return err->code;
  }
  for (size_t a = 0; a < axes; a++) {
    query[a] = distance;
  }
  int status = 0;
  for (size_t head = 0; !status && head < job->context->model->n_heads; head++) {
    bias[head] = 0;
    struct bias_tile tile = {.layer = (unsigned)job->context->model->layer,
                             .head = (unsigned)head,
                             .seq_len = distance + 1,
                             .nq = 1,
                             .nk = 1,
                             .mapped_q = query,
                             .mapped_k = query + axes,
                             .s = bias + head,
                             .s_stride = 1};
    status = instance_bias(scheme, &tile, err);
  }
  free(query);
  return status;
}

static int compare_distances(const struct claims_job *job, float *one, float *other, struct record *record,
                             struct error *err) {
  const struct key_value *pairs = section_get(job->context->entry->keys, "distances");
  size_t heads = job->context->model->n_heads;
  struct axis_spec pair = {.name = "pair", .length = pairs->rows};
  struct tensor *tensor = record_add(record,
                                     &(struct tensor_spec){.name = "distances",
                                                           .element = ELEMENT_F64,
                                                           .rank = 2,
                                                           .axis = {pair, {.name = "end", .length = pairs->columns}},
                                                           .long_name = "distances that are compared",
                                                           .units = "tokens"},
                                     err);
  if (!tensor) {
    return err->code;
  }
  memcpy(tensor->data, pairs->list, pairs->count * sizeof *pairs->list);
  tensor = record_add(record,
                      &(struct tensor_spec){.name = "bias_difference",
                                            .element = ELEMENT_F64,
                                            .rank = 1,
                                            .axis = {pair},
                                            .long_name = "largest difference of their biases, over heads"},
                      err);
  double *out = tensor ? tensor->data : NULL;
  for (size_t i = 0; out && i < pairs->rows; i++) {
    int status = bias_at(job, pairs->list[2 * i], one, err);
    status = status ? status : bias_at(job, pairs->list[2 * i + 1], other, err);
    if (status && status != ERROR_UNDEFINED) {
      return status;
    }
    out[i] = status ? NAN : 0;
    for (size_t head = 0; !status && head < heads; head++) {
      out[i] = fmax(out[i], fabs((double)one[head] - (double)other[head]));
    }
  }
  return out ? 0 : (int)err->code;
}

/* Press et al. 2022: head h of H (a power of two) has slope 2^(-8 h / H); what the bias at distance 1 is, measured. */
static int measure_slopes(const struct claims_job *job, float *bias, struct record *record, struct error *err) {
  size_t heads = job->context->model->n_heads;
  struct tensor *tensor = record_add(record,
                                     &(struct tensor_spec){.name = "slope",
                                                           .element = ELEMENT_F64,
                                                           .rank = 1,
                                                           .axis = {axis_head(job->context->model)},
                                                           .long_name = "bias at distance 1, with its sign turned"},
                                     err);
  double *slope = tensor ? tensor->data : NULL;
  int status = slope ? bias_at(job, 1, bias, err) : (int)err->code;
  double largest = 0;
  for (size_t head = 0; !status && head < heads; head++) {
    double stated = exp2(-8 * (double)(head + 1) / (double)heads);
    slope[head] = -(double)bias[head];
    largest = fmax(largest, fabs(slope[head] / stated - 1));
  }
  return status ? status
                : add_scalar(record, "slope_deviation", "largest relative deviation from 2^(-8h/H)", largest, err);
}

int claims_biases(const struct claims_job *job, struct record *record, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  const struct key_value *pairs = section_get(job->context->entry->keys, "distances");
  if (pairs->columns != 2) {
    return error_set(err, ERROR_JOB_SETUP, "claims: distances are pairs: two numbers each, here are %zu",
                     pairs->columns);
  }
  if (!(instance_sites(scheme) & PE_SITE_BIAS) || (instance_traits(scheme) & PE_TRAIT_CONTENT)) {
    return 0;
  }
  size_t heads = job->context->model->n_heads;
  float *bias = memory_new(2 * heads, sizeof *bias, "biases", err);
  if (!bias) {
    return err->code;
  }
  pe_derived value;
  double *slopes = NULL;
  int status = compare_distances(job, bias, bias + heads, record, err);
  status = status ? status : instance_derived_named(scheme, 2, "slopes", &value, &slopes, err);
  if (!status && slopes) {
    status = measure_slopes(job, bias, record, err);
  }
  free(slopes);
  free(bias);
  return status;
}

/* ---- rotations ----------------------------------------------------------------------------------------------------
 */

static double norm(const float *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (double)x[i] * (double)x[i];
  }
  return sqrt(sum);
}

/* Largest change of a vector by position 0, and largest relative change of a norm by any position. */
static void compare_rows(const float *in, const float *out, size_t n, size_t width, double *origin, double *norms) {
  for (size_t head = 0; head < TRIED_VECTORS; head++) {
    const float *x = in + head * n * width, *y = out + head * n * width;
    for (size_t c = 0; c < width; c++) {
      *origin = fmax(*origin, fabs((double)y[c] - (double)x[c]));
    }
    for (size_t i = 0; i < n; i++) {
      *norms = fmax(*norms, fabs(norm(y + i * width, width) / norm(x + i * width, width) - 1));
    }
  }
}

int claims_rotations(const struct claims_job *job, struct record *record, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  size_t width = job->context->model->head_dim, heads = job->context->model->n_heads, n = job->length;
  if (!(instance_sites(scheme) & PE_SITE_QK) || instance_qk_width(scheme) != width) {
    return 0;
  }
  double seq_len = 0, origin = 0, norms = 0;
  double *mapped = mapped_positions(job, n, &seq_len, err);
  float *in = mapped ? memory_new_3d(TRIED_VECTORS, n, width, sizeof *in, "vectors", err) : NULL;
  float *out = in ? memory_new_3d(TRIED_VECTORS, n, width, sizeof *out, "vectors", err) : NULL;
  int status = out ? 0 : (int)err->code;
  struct rng rng = rng_stream(job->context->seed, "claims/rotations");
  for (size_t v = 0; !status && v < TRIED_VECTORS; v++) {
    for (size_t c = 0; c < width; c++) {
      in[v * n * width + c] = (float)rng_normal(&rng, v * width + c);
    }
    for (size_t i = 1; i < n; i++) {
      memcpy(in + (v * n + i) * width, in + v * n * width, width * sizeof *in);
    }
    status = instance_rotate(scheme, PE_ROLE_QUERY, (unsigned)job->context->model->layer, (unsigned)(v % heads), 1, n,
                             mapped, NULL, seq_len, in + v * n * width, out + v * n * width, err);
  }
  if (!status) {
    compare_rows(in, out, n, width, &origin, &norms);
  }
  free(mapped);
  free(in);
  free(out);
  if (status == ERROR_UNDEFINED) {
    return 0; /* told by claims_beyond */
  }
  status =
      status ? status : add_scalar(record, "origin_deviation", "largest change of a vector by position 0", origin, err);
  status = status
               ? status
               : add_scalar(record, "norm_deviation", "largest relative change of a norm by any position", norms, err);
  /* Cosine and sine rounded, two products and a sum: each channel off by at most 5/2 eps of its pair's length. */
  return status ? status
                : add_scalar(record, "rotation_bound", "what rounding may leave of it, relative",
                             2.5 * (double)FLT_EPSILON, err);
}

/* ---- shifts -------------------------------------------------------------------------------------------------------
 */

/* max over p of |PE(p + k) - M_k PE(p)|, M_k turning each pair (sine, cosine) by k inv_freq. */
static double shift_residual(const struct angles *angles, const float *rows, size_t n, size_t width, size_t shift) {
  double largest = 0;
  for (size_t p = 0; p + shift < n; p++) {
    for (size_t i = 0; i < angles->n_pairs; i++) {
      double angle = (double)shift * angles->inv_freq[i];
      const float *from = rows + p * width, *to = rows + (p + shift) * width;
      double sine = (double)from[angles->channel[2 * i]], cosine = (double)from[angles->channel[2 * i + 1]];
      double moved_sine = cos(angle) * sine + sin(angle) * cosine;
      double moved_cosine = cos(angle) * cosine - sin(angle) * sine;
      largest = fmax(largest, fabs((double)to[angles->channel[2 * i]] - moved_sine));
      largest = fmax(largest, fabs((double)to[angles->channel[2 * i + 1]] - moved_cosine));
    }
  }
  return largest;
}

static int measure_shifts(const struct claims_job *job, const struct angles *angles, const float *rows,
                          struct record *record, struct error *err) {
  const struct key_value *shifts = section_get(job->context->entry->keys, "shifts");
  struct tensor *tensor =
      record_add(record,
                 &(struct tensor_spec){
                     .name = "shift_residual",
                     .element = ELEMENT_F64,
                     .rank = 1,
                     .axis = {{.name = "shift", .length = shifts->count, .values = shifts->list, .units = "tokens"}},
                     .long_name = "max |PE(p + shift) - M PE(p)|"},
                 err);
  double *out = tensor ? tensor->data : NULL;
  double largest = 0; /* of the rows: sines are at most 1, unless they are scaled */
  for (size_t i = 0; out && i < job->length * job->context->model->d_model; i++) {
    largest = fmax(largest, fabs((double)rows[i]));
  }
  for (size_t i = 0; out && i < shifts->count; i++) {
    out[i] = shifts->list[i] < (double)job->length
                 ? shift_residual(angles, rows, job->length, job->context->model->d_model, (size_t)shifts->list[i])
                 : NAN;
  }
  /* Both rows rounded to float32, half an eps each, the one that is turned on two channels; angles in float64 round by
   * length x eps. */
  double bound = largest * (1.5 * (double)FLT_EPSILON + 8 * (double)job->length * DBL_EPSILON);
  return out ? add_scalar(record, "shift_bound", "what rounding may leave of it", bound, err) : (int)err->code;
}

int claims_shifts(const struct claims_job *job, struct record *record, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  size_t width = job->context->model->d_model, n = job->length;
  struct angles angles = {0};
  bool found = false;
  double seq_len = 0;
  if (!(instance_sites(scheme) & PE_SITE_EMBED) || !width) {
    return 0;
  }
  double *mapped = mapped_positions(job, n, &seq_len, err);
  float *rows = mapped ? memory_new(n, width * sizeof *rows, "rows", err) : NULL;
  int status = rows ? angles_of(scheme, seq_len, &angles, &found, err) : (int)err->code;
  if (!status && found && angles_fit(&angles, width)) {
    status = instance_embed(scheme, n, mapped, NULL, seq_len, rows, width, err);
    status = status ? status : measure_shifts(job, &angles, rows, record, err);
  }
  angles_free(&angles);
  free(rows);
  free(mapped);
  return status == ERROR_UNDEFINED ? 0 : status;
}

/* ---- beyond the training length -----------------------------------------------------------------------------------
 */

/* Whether the scheme has values for positions 0 .. n - 1; `rows` [n][d_model] where it is additive. */
static int is_defined(const struct claims_job *job, size_t n, float *rows, bool *answer, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  const struct model *model = job->context->model;
  double seq_len = 0;
  double *mapped = mapped_positions(job, n, &seq_len, err);
  float *vector = mapped ? memory_new(n, model->head_dim * sizeof *vector, "vectors", err) : NULL;
  float *turned = vector ? memory_new(n, instance_qk_width(scheme) * sizeof *turned, "vectors", err) : NULL;
  int status = turned ? 0 : (int)err->code;
  if (!status && model->d_model && (instance_sites(scheme) & PE_SITE_EMBED)) {
    memset(rows, 0, n * model->d_model * sizeof *rows);
    status = instance_embed(scheme, n, mapped, NULL, seq_len, rows, model->d_model, err);
  }
  if (!status) {
    status = instance_rotate(scheme, PE_ROLE_QUERY, (unsigned)model->layer, 0, 1, n, mapped, NULL, seq_len, vector,
                             turned, err);
  }
  if (!status && (instance_sites(scheme) & PE_SITE_BIAS) && !(instance_traits(scheme) & PE_TRAIT_CONTENT)) {
    float *bias = memory_new(model->n_heads, sizeof *bias, "biases", err);
    status = bias ? bias_at(job, (double)(n - 1), bias, err) : (int)err->code;
    free(bias);
  }
  free(turned);
  free(vector);
  free(mapped);
  *answer = !status;
  return status == ERROR_UNDEFINED ? 0 : status;
}

/* How many of the rows first .. n - 1 are, bit for bit, one of the rows before `first`. */
static double count_repeated(const float *rows, size_t first, size_t n, size_t width) {
  size_t count = 0;
  for (size_t i = first; i < n; i++) {
    for (size_t j = 0; j < first; j++) {
      if (!memcmp(rows + i * width, rows + j * width, width * sizeof *rows)) {
        count++;
        break;
      }
    }
  }
  return (double)count;
}

int claims_beyond(const struct claims_job *job, struct record *record, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  size_t first = (size_t)job->train_length, n = job->length, width = job->context->model->d_model;
  if (!instance_sites(scheme) || first >= n) {
    return 0;
  }
  float *rows = memory_new(n + 1, (width ? width : 1) * sizeof *rows, "rows", err);
  double defined = 0, trained = 0, repeated = 0;
  int status = rows ? 0 : (int)err->code;
  bool answer = true;
  size_t least = 0, beyond = n + 1; /* the longest beginning with values */
  for (size_t tried = n; !status && beyond - least > 1; tried = least + (beyond - least) / 2) {
    status = is_defined(job, tried, rows, &answer, err);
    *(answer ? &least : &beyond) = tried;
  }
  defined = least > first ? (double)(least - first) : 0;
  for (size_t length = first + 1; !status && length <= least; length++) {
    double seq_len = 0;
    double *mapped = mapped_positions(job, length, &seq_len, err);
    status = mapped ? 0 : (int)err->code;
    trained += mapped && instance_is_trained(scheme, length, mapped, NULL, job->train_length);
    free(mapped);
  }
  if (!status && least > first && width && (instance_sites(scheme) & PE_SITE_EMBED)) {
    status = is_defined(job, least, rows, &answer, err);
    repeated = count_repeated(rows, first, least, width);
  }
  free(rows);
  status = status ? status
                  : add_scalar(record, "beyond_positions", "positions from L on that were asked for",
                               (double)(n - first), err);
  status = status ? status : add_scalar(record, "beyond_defined", "of these the scheme has a value for", defined, err);
  status = status ? status
                  : add_scalar(record, "beyond_trained", "of these training could have set the value", trained, err);
  return status ? status
                : add_scalar(record, "beyond_repeated", "of these the row is one of those before L", repeated, err);
}
