/* The linear map of a shift (Vaswani et al. 2017, section 3.5): sines and cosines at p + k are a fixed matrix M_k times
 * those at p, whatever p is; M_k is made of one 2 x 2 block per pair of channels,
 *
 *     (sin (p + k) w, cos (p + k) w) = M_k (sin p w, cos p w),   M_k = [[cos k w, sin k w], [-sin k w, cos k w]].
 *
 * The blocks are fitted to the plugin's own rows by least squares, not taken from the formula. */
#include "experiments/angles.h"
#include "experiments/relative_position.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POSITIONS = 64 };

struct shift_maps {
  const struct instance *scheme;
  struct angles angles;
  size_t width;
  double step;      /* between the positions of the fit: together one turn of the slowest pair */
  float *from, *to; /* [POSITIONS][width] rows at p and at p + k */
  double *map, *residual, *bound, *distance, *orthogonality; /* in the record */
};

/* out [POSITIONS][width] = the scheme's own rows from `shift` on. */
static int rows_at(const struct shift_maps *maps, double shift, float *out, struct error *err) {
  double positions[POSITIONS], mapped[POSITIONS], seq_len;
  for (size_t i = 0; i < POSITIONS; i++) {
    positions[i] = shift + maps->step * (double)i;
  }
  memset(out, 0, POSITIONS * maps->width * sizeof *out);
  int status = instance_map_positions(maps->scheme, POSITIONS, positions, NULL, mapped, &seq_len, err);
  return status ? status : instance_embed(maps->scheme, POSITIONS, mapped, NULL, seq_len, out, maps->width, err);
}

/* block [2][2] = argmin over M of sum |to - M from|^2 for one pair of channels; NaN where the rows lie on a line. */
static void fit_block(const struct shift_maps *maps, size_t a, size_t b, double block[4]) {
  double xx = 0, xy = 0, yy = 0, right[4] = {0};
  for (size_t i = 0; i < POSITIONS; i++) {
    const float *from = maps->from + i * maps->width, *to = maps->to + i * maps->width;
    double x = from[a], y = from[b];
    xx += x * x;
    xy += x * y;
    yy += y * y;
    right[0] += (double)to[a] * x;
    right[1] += (double)to[a] * y;
    right[2] += (double)to[b] * x;
    right[3] += (double)to[b] * y;
  }
  double determinant = xx * yy - xy * xy;
  bool solvable = determinant > 1e-6 * xx * yy;
  for (size_t row = 0; row < 2; row++) {
    block[2 * row] = solvable ? (right[2 * row] * yy - right[2 * row + 1] * xy) / determinant : NAN;
    block[2 * row + 1] = solvable ? (right[2 * row + 1] * xx - right[2 * row] * xy) / determinant : NAN;
  }
}

static double largest_residual(const struct shift_maps *maps, size_t a, size_t b, const double block[4]) {
  double most = 0;
  for (size_t i = 0; i < POSITIONS; i++) {
    const float *from = maps->from + i * maps->width, *to = maps->to + i * maps->width;
    most = fmax(most, fabs((double)to[a] - block[0] * (double)from[a] - block[1] * (double)from[b]));
    most = fmax(most, fabs((double)to[b] - block[2] * (double)from[a] - block[3] * (double)from[b]));
  }
  return most;
}

static double distance_to_rotation(const double block[4], double angle) {
  const double rotation[4] = {cos(angle), sin(angle), -sin(angle), cos(angle)};
  double most = 0;
  for (size_t i = 0; i < 4; i++) {
    most = fmax(most, fabs(block[i] - rotation[i]));
  }
  return most;
}

/* Largest element of |M^T M - I|. */
static double off_orthogonal(const double m[4]) {
  double first = fabs(m[0] * m[0] + m[2] * m[2] - 1), second = fabs(m[1] * m[1] + m[3] * m[3] - 1);
  return fmax(fmax(first, second), fabs(m[0] * m[1] + m[2] * m[3]));
}

/* The rows are float32: each element off by FLT_EPSILON / 4 at most, and its angle by rounding in float64. A rotation
 * leaves (1 + sqrt 2) of that; a least-squares fit has no larger sum of squares over all positions. */
static double residual_bound(const struct shift_maps *maps, double shift) {
  double fastest = 0;
  for (size_t i = 0; i < maps->angles.n_pairs; i++) {
    fastest = fmax(fastest, maps->angles.inv_freq[i]);
  }
  double far = fabs(shift) + maps->step * POSITIONS;
  double each = (double)FLT_EPSILON / 4 + 2 * DBL_EPSILON * far * fastest;
  return sqrt(2.0 * POSITIONS) * (1 + sqrt(2)) * each;
}

static int measure_map(struct shift_maps *maps, double shift, size_t at, struct error *err) {
  size_t pairs = maps->angles.n_pairs;
  int status = rows_at(maps, shift, maps->to, err);
  if (status) {
    return status;
  }
  maps->residual[at] = maps->distance[at] = maps->orthogonality[at] = 0;
  maps->bound[at] = residual_bound(maps, shift);
  for (size_t i = 0; i < pairs; i++) {
    double *block = maps->map + (at * pairs + i) * 4;
    size_t a = maps->angles.channel[2 * i], b = maps->angles.channel[2 * i + 1];
    fit_block(maps, a, b, block);
    if (isnan(block[0])) {
      continue;
    }
    maps->residual[at] = fmax(maps->residual[at], largest_residual(maps, a, b, block));
    maps->distance[at] = fmax(maps->distance[at], distance_to_rotation(block, shift * maps->angles.inv_freq[i]));
    maps->orthogonality[at] = fmax(maps->orthogonality[at], off_orthogonal(block));
  }
  return 0;
}

static int add_tensors(struct shift_maps *maps, struct axis_spec shift, struct record *record, struct error *err) {
  const struct {
    const char *name, *long_name;
    unsigned rank;
    double **data;
  } all[] = {
      {"shift_map", "M_k with PE(p + k) = M_k PE(p), fitted, per pair (sine, cosine)", 4, &maps->map},
      {"shift_map_residual", "largest |PE(p + k) - M_k PE(p)|", 1, &maps->residual},
      {"shift_map_bound", "what float32 rows may leave of it", 1, &maps->bound},
      {"shift_map_rotation_distance", "largest |M_k - rotation by k inv_freq|", 1, &maps->distance},
      {"shift_map_orthogonality", "largest |M_k^T M_k - I|", 1, &maps->orthogonality},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct tensor *tensor = record_add(record,
                                       &(struct tensor_spec){.name = all[i].name,
                                                             .element = ELEMENT_F64,
                                                             .rank = all[i].rank,
                                                             .axis = {shift,
                                                                      {.name = "pair", .length = maps->angles.n_pairs},
                                                                      {.name = "row", .length = 2},
                                                                      {.name = "column", .length = 2}},
                                                             .long_name = all[i].long_name},
                                       err);
    if (!tensor) {
      return err->code;
    }
    *all[i].data = tensor->data;
  }
  return 0;
}

static int measure_all(struct shift_maps *maps, struct axis_spec shift, struct record *record, struct error *err) {
  double slowest = INFINITY;
  for (size_t i = 0; i < maps->angles.n_pairs; i++) {
    double w = fabs(maps->angles.inv_freq[i]);
    slowest = w > 0 ? fmin(slowest, w) : slowest;
  }
  maps->step = isinf(slowest) ? 1 : fmax(1, ceil(2 * acos(-1) / slowest / POSITIONS));
  maps->from = memory_new(POSITIONS, maps->width * sizeof *maps->from, "rows", err);
  maps->to = maps->from ? memory_new(POSITIONS, maps->width * sizeof *maps->to, "rows", err) : NULL;
  int status = maps->to ? rows_at(maps, 0, maps->from, err) : (int)err->code;
  if (status == ERROR_UNDEFINED) { /* positions as far apart as the fit needs are not to be had */
    *err = (struct error){0};
    return 0;
  }
  status = status ? status : add_tensors(maps, shift, record, err);
  for (size_t i = 0; !status && i < shift.length; i++) {
    status = measure_map(maps, shift.values[i], i, err);
    if (status == ERROR_UNDEFINED) {
      *err = (struct error){0};
      status = 0;
    }
  }
  return status;
}

int measure_shift_map(const struct experiment_context *context, struct record *record, struct error *err) {
  struct shift_maps maps = {.scheme = context->scheme, .width = context->model->d_model};
  bool found = false;
  if (instance_sites(maps.scheme) != PE_SITE_EMBED || instance_domain(maps.scheme).pos_axes != 1) {
    return 0;
  }
  int status = angles_of(maps.scheme, POSITIONS, &maps.angles, &found, err);
  if (!status && found && angles_fit(&maps.angles, maps.width)) {
    status = measure_all(&maps, axis_of_shifts(context), record, err);
  }
  angles_free(&maps.angles);
  free(maps.from);
  free(maps.to);
  return status;
}
