#include "experiments/certificate_parts.h"

#include "base/memory.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const certificate_stage_names[] = {"position",
                                               "frequency",
                                               "angle",
                                               "table",
                                               "product",
                                               "output",
                                               "accumulation",
                                               "two_rotations",
                                               "position_and_frequency",
                                               "table_and_product",
                                               "all",
                                               NULL};

static const struct stage_formats unrounded;

/* ---- scenes ---- */

static void scene_free(struct scene *scene) {
  free(scene->mapped);
  angles_free(&scene->angles);
  free(scene->cosine);
  free(scene->sine);
  free(scene->score);
  free(scene->size);
  free(scene->reach);
  free(scene->bias);
  free(scene->kept);
  *scene = (struct scene){0};
}

static int scene_place(const struct certificate *c, double shift, struct scene *scene, struct error *err) {
  size_t n = c->setting.distances;
  double *positions = memory_new(n, c->axes * sizeof *positions, "positions", err);
  scene->shift = shift;
  scene->mapped = positions ? memory_new(n, c->axes * sizeof *scene->mapped, "positions", err) : NULL;
  for (size_t i = 0; scene->mapped && i < n * c->axes; i++) {
    positions[i] = shift + (double)(i / c->axes);
  }
  int status = scene->mapped
                   ? instance_map_positions(c->setting.scheme, n, positions, NULL, scene->mapped, &scene->seq_len, err)
                   : (int)err->code;
  free(positions);
  return status;
}

static int scene_tables(const struct certificate *c, struct scene *scene, struct error *err) {
  size_t n = c->setting.distances, pairs = scene->angles.n_pairs;
  scene->cosine = memory_new(n, pairs * sizeof *scene->cosine, "cosines", err);
  scene->sine = scene->cosine ? memory_new(n, pairs * sizeof *scene->sine, "sines", err) : NULL;
  for (size_t d = 0; scene->sine && d < n; d++) {
    angles_table(&scene->angles, &unrounded.rows, scene->mapped + d * c->axes, scene->cosine + d * pairs,
                 scene->sine + d * pairs);
  }
  return scene->sine ? 0 : (int)err->code;
}

/* The float64 score by the distance itself: no angle of a far position is in it. */
static void exact_scores(const struct certificate *c, struct scene *scene) {
  const struct angles *angles = &scene->angles;
  size_t n = c->setting.distances;
  double square = angles->factor * angles->factor;
  for (size_t d = 0; d < n; d++) {
    for (size_t i = 0; i < angles->n_pairs; i++) {
      double between = scene->mapped[d * c->axes + angles->axis[i]] - scene->mapped[angles->axis[i]];
      c->cosine[i] = square * cos(between * angles->inv_freq[i]);
      c->sine[i] = square * sin(between * angles->inv_freq[i]);
    }
    for (size_t s = 0; s < c->samples; s++) {
      double sum = 0;
      for (size_t i = 0; i < angles->n_pairs; i++) {
        size_t a = angles->channel[2 * i], b = angles->channel[2 * i + 1];
        if (c->way == CERTIFICATE_SINUSOIDS) {
          sum += c->cosine[i];
          continue;
        }
        const float *q = c->q + s * c->in_width, *k = c->k + s * c->in_width;
        double q0 = q[a], q1 = q[b], k0 = k[a], k1 = k[b];
        sum += (q0 * k0 + q1 * k1) * c->cosine[i] + (q0 * k1 - q1 * k0) * c->sine[i];
      }
      scene->score[s * n + d] = c->scale * (sum + c->unturned_sum[s]);
    }
  }
}

/* The same of the scheme as it is, from its own rows; with the sizes that bounds are made of. */
static int plain_scores(struct certificate *c, struct scene *scene, struct error *err) {
  enum { MOST_KEPT = 1 << 21 };
  size_t n = c->setting.distances, rows = (n + 1) * c->width;
  double *kept = NULL;
  if (rows <= MOST_KEPT / c->samples) {
    kept = memory_new(c->samples, rows * sizeof *kept, "rows", err);
    if (!kept) {
      return err->code;
    }
  }
  for (size_t s = 0; s < c->samples; s++) {
    int status = certificate_rows(c, scene, &unrounded, s, c->queries, c->key, c->biases, err);
    if (status) {
      free(kept);
      return status;
    }
    if (kept) {
      memcpy(kept + s * rows, c->queries, n * c->width * sizeof *kept);
      memcpy(kept + s * rows + n * c->width, c->key, c->width * sizeof *kept);
    }
    for (size_t d = 0; d < n; d++) {
      double size = 0, reach = 0, sum = 0;
      for (size_t i = 0; i < c->width; i++) {
        double query = c->queries[d * c->width + i], product = query * c->key[i];
        sum += product;
        size += fabs(product);
        reach += fabs(query) + fabs(c->key[i]);
      }
      scene->score[s * n + d] = c->scale * sum + c->biases[d];
      scene->size[s * n + d] = size;
      scene->reach[s * n + d] = reach;
      scene->bias[s * n + d] = c->biases[d];
    }
  }
  scene->kept = kept;
  return 0;
}

static int scene_make(struct certificate *c, double shift, struct scene *scene, struct error *err) {
  size_t count = c->setting.distances;
  bool found;
  scene_free(scene);
  scene->shift = NAN;
  scene->score = memory_new(c->samples, count * sizeof *scene->score, "scores", err);
  scene->size = scene->score ? memory_new(c->samples, count * sizeof *scene->size, "sizes", err) : NULL;
  scene->reach = scene->size ? memory_new(c->samples, count * sizeof *scene->reach, "sizes", err) : NULL;
  scene->bias = scene->reach ? memory_new(c->samples, count * sizeof *scene->bias, "biases", err) : NULL;
  int status = scene->bias ? scene_place(c, shift, scene, err) : (int)err->code;
  if (!status && c->way != CERTIFICATE_AS_IT_IS) {
    status = angles_of(c->setting.scheme, scene->seq_len, &scene->angles, &found, err);
    if (!status && (!found || scene->angles.n_pairs != c->pairs)) {
      status = error_set(err, ERROR_SCHEME_FAILED, "inv_freq has %zu elements at one length and %zu at another",
                         c->pairs, scene->angles.n_pairs);
    }
    status = status ? status : scene_tables(c, scene, err);
    if (!status) {
      exact_scores(c, scene);
    }
  } else if (!status) {
    status = plain_scores(c, scene, err);
  }
  if (status) {
    scene_free(scene);
    scene->shift = NAN;
  }
  return status;
}

static int move_to(struct certificate *c, double shift, struct error *err) {
  return c->moved.score && c->moved.shift == shift ? 0 : scene_make(c, shift, &c->moved, err);
}

/* ---- opening ---- */

static int make_scratch(struct certificate *c, struct error *err) {
  size_t n = c->setting.distances, count = c->samples * n;
  const struct {
    void *at;
    size_t items, size;
  } all[] = {{&c->row_in, n * c->in_width, sizeof *c->row_in},
             {&c->row_out, n * c->width, sizeof *c->row_out},
             {&c->queries, n * c->width, sizeof *c->queries},
             {&c->key, c->width, sizeof *c->key},
             {&c->cosine, n * c->pairs, sizeof *c->cosine},
             {&c->sine, n * c->pairs, sizeof *c->sine},
             {&c->scores, count, sizeof *c->scores},
             {&c->others, count, sizeof *c->others},
             {&c->drift_bound, count, sizeof *c->drift_bound},
             {&c->fidelity_bound, count, sizeof *c->fidelity_bound},
             {&c->biases, n, sizeof *c->biases},
             {&c->angle_error, c->pairs, sizeof *c->angle_error},
             {&c->growing_error, c->pairs, sizeof *c->growing_error},
             {&c->rounded, n * c->axes, sizeof *c->rounded},
             {&c->bias_row, n, sizeof *c->bias_row},
             {&c->key_row, c->width, sizeof *c->key_row},
             {&c->pair_sizes, c->samples * c->pairs, sizeof *c->pair_sizes},
             {&c->turned, c->samples, sizeof *c->turned},
             {&c->unturned, c->samples, sizeof *c->unturned},
             {&c->unturned_sum, c->samples, sizeof *c->unturned_sum},
             {&c->sums, c->samples, sizeof *c->sums}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    void *memory = memory_new(all[i].items, all[i].size, "certificate", err);
    if (!memory) {
      return err->code;
    }
    memcpy(all[i].at, &memory, sizeof memory);
  }
  return 0;
}

/* Gaussian rows, as float32 numbers: what a plugin would be given. */
static int make_content(struct certificate *c, struct error *err) {
  const struct rng q = rng_stream(c->setting.seed, "certificate.q"), k = rng_stream(c->setting.seed, "certificate.k");
  size_t count = c->samples * c->in_width;
  c->q = memory_new(count, sizeof *c->q, "queries", err);
  c->k = c->q ? memory_new(count, sizeof *c->k, "keys", err) : NULL;
  for (size_t i = 0; c->k && i < count; i++) {
    c->q[i] = (float)rng_normal(&q, i);
    c->k[i] = (float)rng_normal(&k, i);
  }
  return c->k ? 0 : (int)err->code;
}

/* What the bounds of a scheme of angles are made of. */
static int measure_content(struct certificate *c, const struct angles *angles, struct error *err) {
  bool *turned = memory_new(c->in_width, sizeof *turned, "channels", err);
  if (!turned) {
    return err->code;
  }
  for (size_t i = 0; i < 2 * c->pairs; i++) {
    turned[angles->channel[i]] = true;
  }
  for (size_t s = 0; s < c->samples; s++) {
    const float *q = c->q + s * c->in_width, *k = c->k + s * c->in_width;
    bool given = c->way == CERTIFICATE_TURNED;
    for (size_t i = 0; i < c->pairs; i++) {
      size_t a = angles->channel[2 * i], b = angles->channel[2 * i + 1];
      c->pair_sizes[s * c->pairs + i] =
          given ? hypot((double)q[a], (double)q[b]) * hypot((double)k[a], (double)k[b]) : 1;
      c->turned[s] += c->pair_sizes[s * c->pairs + i];
    }
    c->sums[s] = given ? 0 : 2 * (double)c->width;
    for (size_t i = 0; given && i < c->in_width; i++) {
      double product = (double)q[i] * (double)k[i];
      c->sums[s] += fabs((double)q[i]) + fabs((double)k[i]);
      c->unturned[s] += turned[i] ? 0 : fabs(product);
      c->unturned_sum[s] += turned[i] ? 0 : product;
    }
  }
  free(turned);
  return 0;
}

static int read_slopes(struct certificate *c, struct error *err) {
  pe_derived value;
  if (c->sites != PE_SITE_BIAS) {
    return 0;
  }
  int status = instance_derived_named(c->setting.scheme, c->still.seq_len, "slopes", &value, &c->slopes, err);
  if (!status && c->slopes && value.dim[0] != c->setting.n_heads) {
    free(c->slopes);
    c->slopes = NULL;
  }
  return status;
}

static void empty(struct certificate *c) {
  struct certificate_setting setting = c->setting;
  uint32_t sites = c->sites;
  void *all[] = {c->turned,     c->slopes,      c->q,
                 c->k,          c->row_in,      c->row_out,
                 c->queries,    c->key,         c->cosine,
                 c->sine,       c->scores,      c->others,
                 c->biases,     c->angle_error, c->growing_error,
                 c->rounded,    c->bias_row,    c->key_row,
                 c->pair_sizes, c->unturned,    c->unturned_sum,
                 c->sums,       c->drift_bound, c->fidelity_bound};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    free(all[i]);
  }
  for (size_t i = 0; i < (size_t)N_CERTIFICATE_STAGES * N_NUMBER_FORMATS; i++) {
    free(c->still_scores[i / N_NUMBER_FORMATS][i % N_NUMBER_FORMATS]);
  }
  scene_free(&c->still);
  scene_free(&c->moved);
  *c = (struct certificate){.setting = setting, .sites = sites};
}

/* Exactly 0 where all values are the same, which their rounded mean need not be. */
static double deviation(const double *values, size_t n) {
  double mean = 0, square = 0;
  bool differ = false;
  for (size_t i = 0; i < n; i++) {
    mean += values[i] / (double)n;
    differ = differ || values[i] != values[0];
  }
  if (!differ) {
    return 0;
  }
  for (size_t i = 0; i < n; i++) {
    square += (values[i] - mean) * (values[i] - mean) / (double)n;
  }
  return sqrt(square);
}

/* Everything at the unshifted positions, run this way. */
static int begin(struct certificate *c, enum certificate_way way, const struct angles *angles, struct error *err) {
  const struct certificate_setting *setting = &c->setting;
  bool rows_of_input = c->sites == PE_SITE_EMBED;
  c->way = way;
  c->axes = instance_domain(setting->scheme).pos_axes;
  c->pairs = way == CERTIFICATE_AS_IT_IS ? 0 : angles->n_pairs;
  c->samples = rows_of_input ? 1 : setting->samples;
  c->in_width = rows_of_input ? setting->d_model : setting->head_dim;
  c->width = rows_of_input ? setting->d_model : instance_qk_width(setting->scheme);
  c->scale = 1 / sqrt((double)c->in_width);
  c->scale = rows_of_input ? c->scale : instance_score_scale(setting->scheme, c->scale);
  c->moved.shift = NAN;
  int status = make_scratch(c, err);
  status = status ? status : make_content(c, err);
  if (!status && way != CERTIFICATE_AS_IT_IS) {
    status = measure_content(c, angles, err);
  }
  status = status ? status : scene_make(c, 0, &c->still, err);
  status = status ? status : read_slopes(c, err);
  c->spread = status ? NAN : deviation(c->still.score, c->samples * setting->distances);
  return status;
}

/* Largest difference of the redone rows of sample 0 from the plugin's, relative to the largest pair. */
static int compare_rows(struct certificate *c, struct scene *scene, double *largest, struct error *err) {
  size_t count = c->setting.distances * c->width;
  enum certificate_way way = c->way;
  double *plugin = memory_new(count + c->width, sizeof *plugin, "rows", err);
  if (!plugin) {
    return err->code;
  }
  c->way = CERTIFICATE_AS_IT_IS;
  int status = certificate_rows(c, scene, &unrounded, 0, plugin, plugin + count, c->biases, err);
  c->way = way;
  status = status ? status : certificate_rows(c, scene, &unrounded, 0, c->queries, c->key, c->biases, err);
  double off = 0, size = 0;
  for (size_t i = 0; !status && i < count + c->width; i++) {
    double redone = i < count ? c->queries[i] : c->key[i - count];
    off = fmax(off, fabs(redone - plugin[i]));
    size = fmax(size, fabs(redone));
  }
  free(plugin);
  *largest = fmax(*largest, off > 0 ? off / (sqrt(2) * size) : 0);
  return status;
}

/* The way that is worth trying first, with the angles there are. */
static int first_way(const struct certificate *c, struct angles *angles, enum certificate_way *way, struct error *err) {
  const struct certificate_setting *setting = &c->setting;
  double seq_len = (double)setting->distances;
  bool found;
  size_t width = c->sites == PE_SITE_EMBED ? setting->d_model : setting->head_dim;
  int status = angles_of(setting->scheme, seq_len, angles, &found, err);
  bool fits = !status && found && angles_fit(angles, width);
  bool alone = instance_sites(setting->scheme) != PE_SITE_QK || angles_are_all(setting->scheme, seq_len);
  bool turned = fits && alone && c->sites == PE_SITE_QK && instance_qk_width(setting->scheme) == width;
  *way = turned ? CERTIFICATE_TURNED : fits && c->sites == PE_SITE_EMBED ? CERTIFICATE_SINUSOIDS : CERTIFICATE_AS_IT_IS;
  return status;
}

static int open_some_way(struct certificate *c, double farthest, struct error *err) {
  struct angles angles = {0};
  enum certificate_way way = CERTIFICATE_AS_IT_IS;
  int status = certificate_sites(&c->setting, &c->sites, err);
  status = status ? status : first_way(c, &angles, &way, err);
  status = status ? status : begin(c, way, &angles, err);
  double difference = 0;
  if (!status && way != CERTIFICATE_AS_IT_IS) {
    status = compare_rows(c, &c->still, &difference, err);
    int far = status ? status : move_to(c, farthest, err);
    far = far ? far : compare_rows(c, &c->moved, &difference, err);
    status = far == ERROR_UNDEFINED ? 0 : far;
    if (!status && difference > certificate_redone_bound()) {
      empty(c);
      status = begin(c, CERTIFICATE_AS_IT_IS, &angles, err);
    }
  }
  c->redone_difference = way == CERTIFICATE_AS_IT_IS ? NAN : difference;
  angles_free(&angles);
  return status;
}

int certificate_open(const struct certificate_setting *setting, double farthest, struct certificate **out,
                     struct error *err) {
  struct certificate *c = memory_new(1, sizeof *c, "certificate", err);
  if (!c) {
    return err->code;
  }
  c->setting = *setting;
  int status = open_some_way(c, farthest, err);
  if (status) {
    certificate_close(c);
    return status;
  }
  *out = c;
  return 0;
}

void certificate_close(struct certificate *certificate) {
  if (certificate) {
    empty(certificate);
    free(certificate);
  }
}

/* ---- asking ---- */

enum certificate_way certificate_way(const struct certificate *certificate) {
  return certificate->way;
}

uint32_t certificate_acts(const struct certificate *certificate) {
  return certificate->sites;
}

bool certificate_has(const struct certificate *certificate, enum certificate_stage stage) {
  switch (certificate->way) {
  case CERTIFICATE_TURNED:
    return true;
  case CERTIFICATE_SINUSOIDS: /* nothing is multiplied by a table */
    return stage != CERTIFICATE_PRODUCT && stage != CERTIFICATE_TABLE_AND_PRODUCT;
  case CERTIFICATE_AS_IT_IS:
    break;
  }
  return stage == CERTIFICATE_POSITION || stage == CERTIFICATE_OUTPUT || stage == CERTIFICATE_ACCUMULATION;
}

double certificate_spread(const struct certificate *certificate) {
  return certificate->spread;
}

double certificate_redone_difference(const struct certificate *certificate) {
  return certificate->redone_difference;
}

double certificate_redone_bound(void) {
  return 5 * (double)FLT_EPSILON / 2;
}

/* rms and largest of values - others; NaN where any is no number. */
static void size_up(const double *values, const double *others, size_t n, double *rms, double *most) {
  double square = 0, top = 0;
  for (size_t i = 0; i < n; i++) {
    double off = fabs(values[i] - (others ? others[i] : 0));
    square += off * off;
    top = isnan(off) || isnan(top) ? NAN : fmax(top, off);
  }
  *rms = sqrt(square / (double)n);
  *most = top;
}

static int still_scores(struct certificate *c, enum certificate_stage stage, enum number_format format,
                        const struct stage_formats *formats, double **out, struct error *err) {
  double **kept = &c->still_scores[stage][format];
  *out = *kept;
  if (*kept) {
    return 0;
  }
  double *scores = memory_new(c->samples, c->setting.distances * sizeof *scores, "scores", err);
  int status = scores ? certificate_scores(c, &c->still, formats, scores, err) : (int)err->code;
  if (status) {
    free(scores);
    return status;
  }
  *kept = *out = scores;
  return 0;
}

int certificate_off(struct certificate *c, enum certificate_stage stage, enum number_format format, double shift,
                    struct certificate_errors *out, struct error *err) {
  const struct stage_formats formats = formats_of(stage, format);
  size_t count = c->samples * c->setting.distances;
  double *still;
  *out = (struct certificate_errors){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  int status = move_to(c, shift, err);
  status = status ? status : still_scores(c, stage, format, &formats, &still, err);
  status = status ? status : certificate_scores(c, &c->moved, &formats, c->scores, err);
  if (!status) {
    size_up(c->scores, still, count, &out->drift_rms, &out->drift_max);
    size_up(c->scores, c->moved.score, count, &out->fidelity_rms, &out->fidelity_max);
  }
  return status;
}

int certificate_measure(struct certificate *c, enum certificate_stage stage, enum number_format format, double shift,
                        struct certificate_errors *out, struct error *err) {
  const struct stage_formats formats = formats_of(stage, format);
  size_t count = c->samples * c->setting.distances;
  int status = certificate_off(c, stage, format, shift, out, err);
  if (!status && formats.twice) {
    const struct stage_formats once = formats_of(CERTIFICATE_OUTPUT, format);
    status = certificate_scores(c, &c->moved, &once, c->others, err);
    size_up(c->scores, c->others, count, &out->twice_rms, &out->twice_max);
  }
  if (status) {
    return status;
  }
  out->growing = certificate_bounds(c, &formats);
  size_up(c->drift_bound, NULL, count, &out->drift_bound_rms, &out->drift_bound_max);
  size_up(c->fidelity_bound, NULL, count, &out->fidelity_bound_rms, &out->fidelity_bound_max);
  return 0;
}

int certificate_own_drift(struct certificate *c, double shift, double *rms, double *max, struct error *err) {
  int status = move_to(c, shift, err);
  if (!status) {
    size_up(c->moved.score, c->still.score, c->samples * c->setting.distances, rms, max);
  }
  return status;
}
