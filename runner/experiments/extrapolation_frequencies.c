/* What follows from a scheme's frequencies alone: which part of each angle's circle training never showed (formulas of
 * position interpolation, Chen et al. 2023, and YaRN, Peng et al. 2023), beside what scaling costs. A share that is
 * unseen is won by any large enough scale: neighbour resolution and the first distance whose sum of cosines is negative
 * (Men et al. 2024) say what was paid. */
#include "experiments/angles.h"
#include "experiments/extrapolation.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distances that are searched for a negative sum of cosines. */
enum { SEARCHED_TO = 65536 };

static const double turn = 6.283185307179586476925286766559;

struct frequencies {
  const struct extrapolation *e;
  size_t n_pairs;
  double *unseen, *unseen_unscaled, *wavelength, *relative;                /* [frequency][length] */
  double *wavelength_unscaled, *turns;                                     /* [frequency] */
  double *resolution, *resolution_unscaled, *negative, *negative_unscaled; /* [length] */
};

/* The positions that a scheme is told for n tokens: how many whole steps they span, and how long a step is. */
static void mapped_steps(const struct extrapolation *e, double n, double *count, double *step) {
  const struct position_map *map = instance_map(e->context->scheme);
  double L = (double)e->train_length;
  *count = n;
  *step = 1;
  if (map->kind == POSITION_DIVIDE) {
    *step = 1 / (map->automatic ? fmax(1, n / L) : map->value);
  } else if (map->kind == POSITION_CLAMP || map->kind == POSITION_WRAP) {
    *count = fmin(n, map->automatic ? L : map->value);
  }
}

/* Share of the circle that n steps of an angle cover and training's L steps of the unscaled one did not. Both products
 * are rounded: what differs by rounding alone is nothing. */
static double unseen_share(double n, double frequency, double L, double unscaled) {
  double asked = fmin(1, n * frequency / turn);
  double seen = fmin(1, L * unscaled / turn);
  return asked - seen <= 8 * DBL_EPSILON * seen ? 0 : asked - seen;
}

static double wavelength_of(double frequency) {
  return frequency > 0 ? turn / frequency : NAN;
}

/* K(0) - K(1), K(d) the mean of cos(d f): as 2 sin(f / 2)^2, which does not cancel. */
static double neighbour_resolution(const double *frequency, size_t n_pairs) {
  double sum = 0;
  for (size_t i = 0; i < n_pairs; i++) {
    sum += 2 * sin(frequency[i] / 2) * sin(frequency[i] / 2);
  }
  return sum / (double)n_pairs;
}

/* The first whole distance up to SEARCHED_TO at which the sum of cos(d f) is negative; NaN: there is none. */
static double first_negative(const double *frequency, size_t n_pairs) {
  for (int d = 1; d <= SEARCHED_TO; d++) {
    double sum = 0;
    for (size_t i = 0; i < n_pairs; i++) {
      sum += cos(d * frequency[i]);
    }
    if (sum < 0) {
      return d;
    }
  }
  return NAN;
}

static void measure_length(const struct frequencies *f, size_t t, const struct angles *angles, const double *frequency,
                           const double *before) {
  const struct extrapolation *e = f->e;
  double n = e->lengths[t];
  double L = (double)e->train_length;
  double count, step;
  mapped_steps(e, n, &count, &step);
  for (size_t i = 0; i < f->n_pairs; i++) {
    size_t at = i * e->n_lengths + t;
    double plain = angles->unscaled[i];
    f->unseen[at] = unseen_share(count, frequency[i], L, plain);
    f->unseen_unscaled[at] = unseen_share(n, plain, L, plain);
    f->wavelength[at] = wavelength_of(frequency[i]);
    double own = sin(frequency[i] / 2) * sin(frequency[i] / 2);
    double unscaled = sin(plain / 2) * sin(plain / 2);
    f->relative[at] = unscaled > 0 ? own / unscaled : NAN;
    f->wavelength_unscaled[i] = wavelength_of(plain);
    f->turns[i] = L * plain / turn;
  }
  f->resolution[t] = neighbour_resolution(frequency, f->n_pairs);
  f->resolution_unscaled[t] = neighbour_resolution(angles->unscaled, f->n_pairs);
  /* The search is long: frequencies that are those of the length before need it no second time. */
  bool same = t > 0 && !memcmp(frequency, before, f->n_pairs * sizeof *frequency);
  bool plain = !memcmp(frequency, angles->unscaled, f->n_pairs * sizeof *frequency);
  f->negative_unscaled[t] = t > 0 ? f->negative_unscaled[t - 1] : first_negative(angles->unscaled, f->n_pairs);
  f->negative[t] = same ? f->negative[t - 1] : plain ? f->negative_unscaled[t] : first_negative(frequency, f->n_pairs);
}

/* The length that the scheme is told for n tokens: the largest mapped position plus one. */
static double told_length(const struct extrapolation *e, double n) {
  double count, step;
  mapped_steps(e, n, &count, &step);
  return (count - 1) * step + 1;
}

static double *add(struct record *record, const char *name, const char *long_name, const char *units, unsigned rank,
                   const struct axis_spec *axes, struct error *err) {
  struct tensor_spec spec = {
      .name = name, .element = ELEMENT_F64, .rank = rank, .long_name = long_name, .units = units, .image = rank == 2};
  for (unsigned i = 0; i < rank; i++) {
    spec.axis[i] = axes[i];
  }
  struct tensor *tensor = record_add(record, &spec, err);
  return tensor ? tensor->data : NULL;
}

static int add_tensors(struct frequencies *f, struct record *record, struct error *err) {
  struct axis_spec length = {.name = "length",
                             .length = f->e->n_lengths,
                             .values = f->e->lengths,
                             .log_values = true,
                             .long_name = "sequence length",
                             .units = "tokens"};
  struct axis_spec map[] = {{.name = "frequency", .length = f->n_pairs}, length};
  const struct {
    double **data;
    const char *name, *long_name, *units;
    unsigned rank, first_axis;
  } table[] = {
      {&f->unseen, "unseen_share", "share of the angle's circle that training did not show", "1", 2, 0},
      {&f->unseen_unscaled, "unseen_share_unscaled", "the same without scaling and position map", "1", 2, 0},
      {&f->wavelength, "wavelength", "tokens per turn; NaN: does not turn", "tokens", 2, 0},
      {&f->relative, "neighbour_resolution_by_frequency", "1 - cos(angle per token), relative to unscaled", "1", 2, 0},
      {&f->wavelength_unscaled, "wavelength_unscaled", "tokens per turn before scaling", "tokens", 1, 0},
      {&f->turns, "turns_at_train_length", "turns within L before scaling", "1", 1, 0},
      {&f->resolution, "neighbour_resolution", "K(0) - K(1), K the mean cosine by distance", "1", 1, 1},
      {&f->resolution_unscaled, "neighbour_resolution_unscaled", "the same before scaling", "1", 1, 1},
      {&f->negative, "first_negative_distance", "first distance with a negative sum of cosines", "tokens", 1, 1},
      {&f->negative_unscaled, "first_negative_distance_unscaled", "the same before scaling", "tokens", 1, 1},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    *table[i].data =
        add(record, table[i].name, table[i].long_name, table[i].units, table[i].rank, map + table[i].first_axis, err);
    if (!*table[i].data) {
      return err->code;
    }
  }
  return attributes_set_int(&record->attributes, "first_negative_distance_searched_to", SEARCHED_TO, err);
}

int extrapolation_frequencies(const struct extrapolation *e, struct record *record, struct error *err) {
  struct frequencies f = {.e = e};
  double *kept = NULL;
  int status = 0;
  for (size_t t = 0; !status && t < e->n_lengths; t++) {
    struct angles angles;
    bool found;
    double count, step;
    status = angles_of(e->context->scheme, told_length(e, e->lengths[t]), &angles, &found, err);
    if (status || !found || angles.n_pairs == 0 || (t > 0 && angles.n_pairs != f.n_pairs)) {
      if (!status) {
        angles_free(&angles);
      }
      break;
    }
    if (t == 0) {
      f.n_pairs = angles.n_pairs;
      kept = memory_new(2 * f.n_pairs, sizeof *kept, "frequencies", err);
      status = kept ? add_tensors(&f, record, err) : (int)err->code;
    }
    mapped_steps(e, e->lengths[t], &count, &step);
    for (size_t i = 0; !status && i < f.n_pairs; i++) {
      kept[i] = angles.inv_freq[i] * step;
    }
    if (!status) {
      measure_length(&f, t, &angles, kept, kept + f.n_pairs);
      memcpy(kept + f.n_pairs, kept, f.n_pairs * sizeof *kept);
    }
    angles_free(&angles);
  }
  free(kept);
  return status;
}
