/* What the experiment `encoding` measures: docs/experiments.md has the definitions. */
#include "experiments/angles.h"
#include "experiments/encoding.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- logits of equal tokens ---------------------------------------------------------------------------------------
 */

/* Largest Euclidean norm of the rows of x [rows][width]. */
static double largest_norm(const float *x, size_t rows, size_t width) {
  double largest = 0;
  for (size_t row = 0; row < rows; row++) {
    double sum = 0;
    for (size_t i = 0; i < width; i++) {
      sum += (double)x[row * width + i] * (double)x[row * width + i];
    }
    largest = fmax(largest, sqrt(sum));
  }
  return largest;
}

/* Rounding of q and k to float32 and of the product's sum, (width + 8) eps scale |q| |k| (Higham 2002, section 3.1),
 * and of adding a bias. */
static double logit_bound(const struct experiment_context *context, const struct encoded *e, const float *logits) {
  const struct model *model = context->model;
  double scale =
      model->scale_is_trained ? model->score_scale : instance_score_scale(context->scheme, model->score_scale);
  double size =
      scale * largest_norm(e->q, e->n_heads * e->n, e->width) * largest_norm(e->k, e->n_kv_heads * e->n, e->width);
  double largest = 0;
  for (size_t i = 0; i < e->n_heads * e->n * e->n; i++) {
    largest = fmax(largest, fabs((double)logits[i]));
  }
  return (double)FLT_EPSILON / 2 * (((double)e->width + 8) * size + 2 * largest);
}

float *encoding_logits(const struct encoding_job *job, size_t token, size_t n, bool bias_alone, double *bound,
                       struct error *err) {
  const struct experiment_context *context = job->context;
  size_t *index = memory_new(n, sizeof *index, "token index", err);
  if (!index) {
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    index[i] = token;
  }
  struct sequence sequence = {.n = n, .index = index, .positions = job->positions, .without_values = true};
  struct encoded e;
  int status = encode_sequence(context, context->scheme, &sequence, &e, err);
  free(index);
  if (status) {
    return NULL;
  }
  if (bias_alone) {
    memset(e.q, 0, e.n_heads * n * e.width * sizeof *e.q);
    memset(e.k, 0, e.n_kv_heads * n * e.width * sizeof *e.k);
  }
  float *logits = memory_new_3d(e.n_heads, n, n, sizeof *logits, "logits", err);
  struct attention_output output = {.logits = logits};
  if (logits && attend(context, context->scheme, &e, 0, false, &output, err)) {
    free(logits);
    logits = NULL;
  }
  if (logits) {
    *bound = logit_bound(context, &e, logits);
  }
  encoded_free(&e);
  return logits;
}

/* Mean (and standard deviation, where asked for) of the diagonals query - key = -(n - 1) .. n - 1 of s [n][n], for
 * |distance| < n of an axis that reaches to |distance| < length. */
static void diagonals(const double *s, size_t n, size_t length, double *means, double *deviations) {
  for (size_t d = 0; d < 2 * n - 1; d++) {
    size_t key = d < n ? n - 1 - d : 0;
    size_t query = d < n ? 0 : d - (n - 1);
    size_t count = n - (query > key ? query : key);
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
      sum += s[(query + i) * n + key + i];
    }
    double mean_of_diagonal = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
      double off = s[(query + i) * n + key + i] - mean_of_diagonal;
      squares += off * off;
    }
    means[d + length - n] = mean_of_diagonal;
    if (deviations) {
      deviations[d + length - n] = sqrt(squares / (double)count);
    }
  }
}

/* sum [n_heads][n][n] += the logits of one token. */
static int add_token(const struct encoding_job *job, size_t token, bool bias_alone, double *sum, double *bound,
                     struct error *err) {
  double own_bound = 0;
  float *logits = encoding_logits(job, token, job->defined, bias_alone, &own_bound, err);
  if (!logits) {
    return err->code;
  }
  for (size_t i = 0; i < job->context->model->n_heads * job->defined * job->defined; i++) {
    sum[i] += (double)logits[i];
  }
  *bound = fmax(*bound, own_bound);
  free(logits);
  return 0;
}

static double *add_scalar(struct record *record, const char *name, const char *long_name, const char *units,
                          struct error *err) {
  struct tensor *tensor = record_add(
      record, &(struct tensor_spec){.name = name, .element = ELEMENT_F64, .long_name = long_name, .units = units}, err);
  return tensor ? tensor->data : NULL;
}

/* A tensor [head, distance], NaN at distances that the defined positions do not reach. */
static double *add_by_distance(const struct encoding_job *job, struct record *record, const char *name,
                               const char *long_name, struct error *err) {
  size_t count = 2 * job->length - 1;
  double *values = memory_new(count, sizeof *values, "distances", err);
  for (size_t i = 0; values && i < count; i++) {
    values[i] = (double)i - (double)(job->length - 1);
  }
  struct axis_spec distance = {
      .name = "distance", .length = count, .values = values, .long_name = "query - key", .units = "tokens"};
  struct tensor *tensor = values ? record_add(record,
                                              &(struct tensor_spec){.name = name,
                                                                    .element = ELEMENT_F64,
                                                                    .rank = 2,
                                                                    .axis = {axis_head(job->context->model), distance},
                                                                    .long_name = long_name},
                                              err)
                                 : NULL;
  free(values);
  return tensor ? tensor->data : NULL;
}

static int store_logits(const struct encoding_job *job, const double *mean_logits, struct record *record,
                        struct error *err) {
  size_t n = job->defined, length = job->length, heads = job->context->model->n_heads;
  struct tensor *picture = record_add(
      record,
      &(struct tensor_spec){.name = "expected_logit",
                            .element = ELEMENT_F32,
                            .rank = 3,
                            .axis = {axis_head(job->context->model),
                                     {.name = "query", .length = length, .units = "tokens"},
                                     {.name = "key", .length = length, .units = "tokens"}},
                            .long_name = "logit of a token with itself, query at one position, key at another",
                            .image = true},
      err);
  float *out = picture ? picture->data : NULL;
  double *profile =
      out ? add_by_distance(job, record, "profile", "mean logit of a token with itself at a distance", err) : NULL;
  double *deviation = profile ? add_by_distance(job, record, "profile_deviation",
                                                "its standard deviation over the places at that distance", err)
                              : NULL;
  double *spread = deviation ? add_scalar(record, "logit_spread",
                                          "largest difference of an expected logit from its head's mean", NULL, err)
                             : NULL;
  if (!spread) {
    return err->code;
  }
  *spread = 0;
  for (size_t head = 0; head < heads; head++) {
    const double *s = mean_logits + head * n * n;
    double sum = 0;
    for (size_t i = 0; i < n * n; i++) {
      out[(head * length + i / n) * length + i % n] = (float)s[i];
      sum += s[i];
    }
    for (size_t i = 0; i < n * n; i++) {
      *spread = fmax(*spread, fabs(s[i] - sum / (double)(n * n)));
    }
    size_t row = head * (2 * length - 1);
    diagonals(s, n, length, profile + row, deviation + row);
  }
  return 0;
}

static int measure_bias(const struct encoding_job *job, double *work, struct record *record, struct error *err) {
  size_t n = job->defined, heads = job->context->model->n_heads;
  double bound = 0;
  memset(work, 0, heads * n * n * sizeof *work);
  int status = add_token(job, job->probes[0], true, work, &bound, err);
  double *bias = status ? NULL : add_by_distance(job, record, "bias", "bias at a distance, mean over its places", err);
  for (size_t head = 0; bias && head < heads; head++) {
    diagonals(work + head * n * n, n, job->length, bias + head * (2 * job->length - 1), NULL);
  }
  return bias ? 0 : (int)err->code;
}

int encoding_measure_logits(const struct encoding_job *job, struct record *record, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  size_t n = job->defined, heads = job->context->model->n_heads;
  double *sum = memory_new_3d(heads, n, n, sizeof *sum, "logits", err);
  if (!sum) {
    return err->code;
  }
  double bound = 0;
  int status = 0;
  for (size_t i = 0; !status && i < job->n_probes; i++) {
    status = add_token(job, job->probes[i], false, sum, &bound, err);
    if (job->context->progress) {
      job->context->progress(job->context->progress_context, (double)(i + 1) / (double)job->n_probes, NULL);
    }
  }
  for (size_t i = 0; i < heads * n * n; i++) {
    sum[i] /= (double)job->n_probes;
  }
  status = status ? status : store_logits(job, sum, record, err);
  double *stored =
      status ? NULL : add_scalar(record, "rounding_bound", "how far rounding alone may move a logit", NULL, err);
  if (stored) {
    *stored = bound;
  }
  status = status ? status : (stored ? 0 : (int)err->code);
  if (!status && (instance_sites(scheme) & PE_SITE_BIAS) && !(instance_traits(scheme) & PE_TRAIT_CONTENT)) {
    status = measure_bias(job, sum, record, err);
  }
  free(sum);
  return status;
}

/* ---- rows and kernels ---------------------------------------------------------------------------------------------
 */

/* gram [n][n] = rows [n][width] times itself. */
static void gram_of(const double *rows, size_t n, size_t width, double *gram) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t c = 0; c < width; c++) {
        sum += rows[i * width + c] * rows[j * width + c];
      }
      gram[i * n + j] = gram[j * n + i] = sum;
    }
  }
}

/* First distance at which kernel [n] is at most `limit`; NaN where it never is. */
static double first_at_most(const double *kernel, size_t n, double limit, bool strictly) {
  for (size_t d = 0; d < n; d++) {
    if (kernel[d] < limit || (!strictly && kernel[d] == limit)) {
      return (double)d;
    }
  }
  return NAN;
}

/* kernel [kernel_distance] = mean of the diagonals of gram, of which distance 0 is 1; what follows from it. */
static int store_kernel(const struct encoding_job *job, const double *gram, struct record *record, struct error *err) {
  size_t n = job->defined, length = job->length;
  double *means = memory_new(2 * length - 1, sizeof *means, "kernel", err);
  double *deviations = means ? memory_new(2 * length - 1, sizeof *deviations, "kernel", err) : NULL;
  struct tensor_spec spec = {
      .name = "kernel",
      .element = ELEMENT_F64,
      .rank = 1,
      .axis = {{.name = "kernel_distance", .length = length, .long_name = "|query - key|", .units = "tokens"}},
      .long_name = "likeness of two positions by their distance, 1 at distance 0"};
  struct tensor *tensor = deviations ? record_add(record, &spec, err) : NULL;
  double *kernel = tensor ? tensor->data : NULL;
  spec.name = "kernel_deviation";
  spec.long_name = "its standard deviation over the places at that distance";
  tensor = kernel ? record_add(record, &spec, err) : NULL;
  double *deviation = tensor ? tensor->data : NULL;
  double *half = deviation ? add_scalar(record, "kernel_half_distance",
                                        "first distance at which the kernel is 1/2 or less", "tokens", err)
                           : NULL;
  double *negative =
      half ? add_scalar(record, "kernel_first_negative", "first distance at which the kernel is below 0", "tokens", err)
           : NULL;
  if (negative) {
    diagonals(gram, n, length, means, deviations);
    double size = means[length - 1];
    for (size_t d = 0; d < n; d++) {
      kernel[d] = size > 0 ? means[length - 1 + d] / size : NAN;
      deviation[d] = size > 0 ? deviations[length - 1 + d] / size : NAN;
    }
    *half = size > 0 ? first_at_most(kernel, n, 0.5, false) : NAN;
    *negative = size > 0 ? first_at_most(kernel, n, 0, true) : NAN;
  }
  free(means);
  free(deviations);
  return negative ? 0 : (int)err->code;
}

/* The positions that the scheme is told for 0 .. defined - 1, [defined][axes]; to be freed. */
static double *mapped_positions(const struct encoding_job *job, double *seq_len, struct error *err) {
  size_t n = job->defined, axes = instance_domain(job->context->scheme).pos_axes;
  double *raw = memory_new(n, axes * sizeof *raw, "positions", err);
  double *mapped = raw ? memory_new(n, axes * sizeof *mapped, "positions", err) : NULL;
  for (size_t i = 0; mapped && i < n * axes; i++) {
    raw[i] = job->positions[i / axes];
  }
  if (mapped && instance_map_positions(job->context->scheme, n, raw, NULL, mapped, seq_len, err)) {
    free(mapped);
    mapped = NULL;
  }
  free(raw);
  return mapped;
}

static int measure_additive(const struct encoding_job *job, const double *mapped, double seq_len, double *gram,
                            struct record *record, struct error *err) {
  size_t n = job->defined, length = job->length, width = job->context->model->d_model;
  struct axis_spec position = {.name = "position", .length = length, .units = "tokens"};
  struct axis_spec other = {.name = "position_2", .length = length, .units = "tokens"};
  struct tensor *tensor =
      record_add(record,
                 &(struct tensor_spec){.name = "position_encoding",
                                       .element = ELEMENT_F32,
                                       .rank = 2,
                                       .axis = {position, {.name = "model_channel", .length = width}},
                                       .long_name = "what is added to the input",
                                       .image = true},
                 err);
  float *rows = tensor ? tensor->data : NULL;
  tensor = rows ? record_add(record,
                             &(struct tensor_spec){.name = "position_gram",
                                                   .element = ELEMENT_F32,
                                                   .rank = 2,
                                                   .axis = {position, other},
                                                   .long_name = "product of two rows",
                                                   .image = true},
                             err)
                : NULL;
  float *picture = tensor ? tensor->data : NULL;
  double *wide = picture ? memory_new(n, width * sizeof *wide, "rows", err) : NULL;
  if (!wide) {
    return err->code;
  }
  memset(rows, 0, n * width * sizeof *rows);
  int status = instance_embed(job->context->scheme, n, mapped, NULL, seq_len, rows, width, err);
  for (size_t i = 0; !status && i < n * width; i++) {
    wide[i] = (double)rows[i];
  }
  if (!status) {
    gram_of(wide, n, width, gram);
    for (size_t i = 0; i < n * n; i++) {
      picture[i / n * length + i % n] = (float)gram[i];
    }
    status = store_kernel(job, gram, record, err);
  }
  free(wide);
  return status;
}

/* Rows (cos, sin) of all pairs: their product is the sum of cos((m - n) inv_freq). */
static int measure_rotation(const struct encoding_job *job, const struct angles *angles, const double *mapped,
                            double *gram, struct record *record, struct error *err) {
  size_t n = job->defined, pairs = angles->n_pairs, axes = instance_domain(job->context->scheme).pos_axes;
  static const struct angle_rounding unrounded;
  double *rows = memory_new_3d(n, 2, pairs, sizeof *rows, "angles", err);
  if (!rows) {
    return err->code;
  }
  for (size_t i = 0; i < n; i++) {
    angles_table(angles, &unrounded, mapped + i * axes, rows + 2 * i * pairs, rows + (2 * i + 1) * pairs);
  }
  gram_of(rows, n, 2 * pairs, gram);
  free(rows);
  return store_kernel(job, gram, record, err);
}

int encoding_measure_kernel(const struct encoding_job *job, struct record *record, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  size_t n = job->defined;
  struct angles angles = {0};
  bool found = false;
  double seq_len = 0;
  double *mapped = mapped_positions(job, &seq_len, err);
  double *gram = mapped ? memory_new(n, n * sizeof *gram, "products of rows", err) : NULL;
  int status = gram ? 0 : (int)err->code;
  if (!status && (instance_sites(scheme) & PE_SITE_EMBED) && job->context->model->d_model) {
    status = measure_additive(job, mapped, seq_len, gram, record, err);
  } else if (!status && (instance_sites(scheme) & PE_SITE_QK) && angles_are_all(scheme, seq_len)) {
    status = angles_of(scheme, seq_len, &angles, &found, err);
    status = !status && found ? measure_rotation(job, &angles, mapped, gram, record, err) : status;
    angles_free(&angles);
  }
  free(gram);
  free(mapped);
  return status;
}

/* ---- frequencies and derived values -------------------------------------------------------------------------------
 */

static int add_frequencies(const struct encoding_job *job, const struct angles *angles, struct record *record,
                           struct error *err) {
  static const struct {
    const char *name, *long_name, *units;
  } tensors[] = {{"inv_freq", "angle per position", "rad"},
                 {"wavelength", "positions to a full turn", "tokens"},
                 {"turns", "turns within the training length", NULL}};
  double *data[3];
  for (size_t i = 0; i < 3; i++) {
    struct tensor *tensor = record_add(record,
                                       &(struct tensor_spec){.name = tensors[i].name,
                                                             .element = ELEMENT_F64,
                                                             .rank = 1,
                                                             .axis = {{.name = "frequency", .length = angles->n_pairs}},
                                                             .long_name = tensors[i].long_name,
                                                             .units = tensors[i].units,
                                                             .log_values = true},
                                       err);
    if (!tensor) {
      return err->code;
    }
    data[i] = tensor->data;
  }
  for (size_t i = 0; i < angles->n_pairs; i++) {
    double turn = angles->inv_freq[i] / (2 * 3.14159265358979323846);
    data[0][i] = angles->inv_freq[i];
    data[1][i] = turn > 0 ? 1 / turn : NAN;
    data[2][i] = job->train_length > 0 ? job->train_length * turn : NAN;
  }
  return 0;
}

static int add_derived(const struct encoding_job *job, double seq_len, size_t which, struct record *record,
                       struct error *err) {
  pe_derived value;
  double *data = NULL;
  int status = instance_derived(job->context->scheme, seq_len, which, &value, &data, err);
  if (status) {
    return status;
  }
  char name[RECORD_NAME];
  char axes[2][RECORD_NAME];
  int length = snprintf(name, sizeof name, "derived_%.60s", value.name);
  if (!record_name_is_well_formed(name) || length < 0 || record_find(record, name) || !strcmp(value.name, "inv_freq")) {
    free(data);
    return 0; /* here already; or a name that the file cannot hold, which no pinned one is */
  }
  struct tensor_spec spec = {
      .name = name, .element = ELEMENT_F64, .rank = value.rank, .long_name = value.doc ? value.doc : value.name};
  for (unsigned a = 0; a < value.rank; a++) {
    bool by_head = a == 0 && !strcmp(value.name, "slopes") && value.dim[0] == job->context->model->n_heads;
    snprintf(axes[a], sizeof axes[a], by_head ? "head" : "%s_%u", name, a);
    spec.axis[a] = (struct axis_spec){.name = axes[a], .length = value.dim[a]};
  }
  struct tensor *tensor = record_add(record, &spec, err);
  if (tensor) {
    memcpy(tensor->data, data, tensor->count * sizeof *data);
  }
  free(data);
  return tensor ? 0 : (int)err->code;
}

int encoding_measure_derived(const struct encoding_job *job, struct record *record, struct error *err) {
  const struct instance *scheme = job->context->scheme;
  double seq_len = 0;
  double *mapped = mapped_positions(job, &seq_len, err);
  if (!mapped) {
    return err->code;
  }
  free(mapped);
  struct angles angles;
  bool found;
  int status = angles_of(scheme, seq_len, &angles, &found, err);
  if (!status && found) {
    status = add_frequencies(job, &angles, record, err);
  }
  angles_free(&angles);
  for (size_t i = 0; !status && i < instance_derived_count(scheme, seq_len); i++) {
    status = add_derived(job, seq_len, i, record, err);
  }
  return status;
}
