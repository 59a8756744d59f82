/* Which positions a scheme is told, and whether it is defined there. */
#include "base/memory.h"
#include "base/rng.h"
#include "host/instance_parts.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_padding(const uint8_t *padding, size_t row) {
  return padding && padding[row];
}

bool next_run(const uint8_t *padding, size_t n, size_t *start, size_t *end) {
  while (*start < n && is_padding(padding, *start)) {
    ++*start;
  }
  *end = *start;
  while (*end < n && !is_padding(padding, *end)) {
    ++*end;
  }
  return *start < n;
}

/* The largest coordinate of the rows that take part, or -INFINITY. positions [n][axes] */
static double largest(size_t n, size_t axes, const double *positions, const uint8_t *padding) {
  double most = -INFINITY;
  for (size_t row = 0; row < n; row++) {
    for (size_t axis = 0; axis < axes && !is_padding(padding, row); axis++) {
      most = fmax(most, positions[row * axes + axis]);
    }
  }
  return most;
}

/* The number a map works with: the user's, or the one that follows from the lengths. */
static double map_value(const struct position_map *map, double length, double train_len) {
  if (!map->automatic) {
    return map->value;
  }
  return map->kind == POSITION_DIVIDE ? fmax(1, length / train_len) : train_len;
}

static double map_position(const struct position_map *map, double value, double position) {
  switch (map->kind) {
  case POSITION_OFFSET:
    return position + value;
  case POSITION_DIVIDE:
    return position / value;
  case POSITION_CLAMP:
    return fmin(position, value - 1);
  case POSITION_WRAP:
    /* Not C's remainder: position -1 is the last one. */
    position = fmod(position, value);
    return position < 0 ? position + value : position;
  default:
    return position;
  }
}

/* Rows that take part get each other's positions. */
static int shuffle(const struct instance *instance, size_t n, const double *positions, const uint8_t *padding,
                   double *mapped, struct error *err) {
  size_t axes = instance->domain.pos_axes, count = 0;
  size_t *rows = memory_new(n, sizeof *rows, "shuffled positions", err);
  if (!rows) {
    return ERROR_MEMORY;
  }
  for (size_t row = 0; row < n; row++) {
    if (!is_padding(padding, row)) {
      rows[count++] = row;
    }
  }
  int status = 0;
  uint32_t *order = NULL;
  if (count > UINT32_MAX) {
    status = error_set(err, ERROR_MEMORY, "shuffled positions: %zu rows are more than can be shuffled", count);
    goto free_rows;
  }
  order = memory_new(count, sizeof *order, "shuffled positions", err);
  if (!order) {
    status = ERROR_MEMORY;
    goto free_rows;
  }
  char name[48];
  snprintf(name, sizeof name, "positions/shuffled/%zu", count);
  struct rng rng = rng_stream(instance->seed, name);
  rng_permutation(&rng, (uint32_t)count, order);
  for (size_t i = 0; i < count; i++) {
    for (size_t axis = 0; axis < axes; axis++) {
      mapped[rows[i] * axes + axis] = positions[rows[order[i]] * axes + axis];
    }
  }
  free(order);
free_rows:
  free(rows);
  return status;
}

int instance_map_positions(const struct instance *instance, size_t n, const double *positions, const uint8_t *padding,
                           double *mapped, double *seq_len, struct error *err) {
  size_t axes = instance->domain.pos_axes;
  double length = fmax(0, largest(n, axes, positions, padding) + 1);
  double value = map_value(&instance->map, length, instance->shape.train_len);
  for (size_t row = 0; row < n; row++) {
    for (size_t axis = 0; axis < axes; axis++) {
      size_t at = row * axes + axis;
      mapped[at] = is_padding(padding, row) ? -1 : map_position(&instance->map, value, positions[at]);
    }
  }
  if (instance->map.kind == POSITION_SHUFFLED) {
    int status = shuffle(instance, n, positions, padding, mapped, err);
    if (status) {
      return status;
    }
  }
  *seq_len = fmax(0, largest(n, axes, mapped, padding) + 1);
  return 0;
}

bool instance_is_trained(const struct instance *instance, size_t n, const double *mapped, const uint8_t *padding,
                         double train_len) {
  if (!(train_len > 0)) {
    return true;
  }
  /* Interpolated positions lie between the trained ones: all below train_len count. */
  double limit = isnan(instance->domain.trained_max) ? nextafter(train_len, 0) : instance->domain.trained_max;
  bool relative = (instance->traits & PE_TRAIT_RELATIVE) != 0;
  size_t axes = instance->domain.pos_axes;
  for (size_t axis = 0; axis < axes; axis++) {
    double least = INFINITY, most = -INFINITY;
    for (size_t row = 0; row < n; row++) {
      if (!is_padding(padding, row)) {
        least = fmin(least, mapped[row * axes + axis]);
        most = fmax(most, mapped[row * axes + axis]);
      }
    }
    if (relative ? most - least > limit : least < 0 || most > limit) {
      return false;
    }
  }
  return true;
}

/* ---- the domain ---- */

int domain_check_rows(const struct instance *instance, const char *what, size_t n, const double *mapped, size_t first,
                      struct error *err) {
  const pe_domain *domain = &instance->domain;
  const char *id = instance->scheme->info.id;
  size_t axes = domain->pos_axes;
  for (size_t i = 0; i < n * axes; i++) {
    double position = mapped[i];
    if (!(position >= domain->min && position <= domain->max)) {
      return error_set(err, ERROR_UNDEFINED, "%s: not defined at %s %.17g (row %zu): its positions are %.17g to %.17g",
                       /* + 0.0: a zero without sign */
                       id, what, position, first + i / axes, domain->min + 0.0, domain->max + 0.0);
    }
    if (domain->integer_only && position != floor(position)) {
      return error_set(err, ERROR_UNDEFINED, "%s: not defined at %s %.17g (row %zu): it needs whole numbers", id, what,
                       position, first + i / axes);
    }
  }
  return 0;
}

int domain_check_distances(const struct instance *instance, size_t nq, const double *mapped_q, size_t nk,
                           const double *mapped_k, struct error *err) {
  double most = instance->domain.max_distance;
  size_t axes = instance->domain.pos_axes;
  if (isinf(most) || nq == 0 || nk == 0) {
    return 0;
  }
  for (size_t axis = 0; axis < axes; axis++) {
    size_t first_k = axis, last_k = axis; /* where the smallest and the largest key position stand */
    for (size_t c = 1; c < nk; c++) {
      size_t at = c * axes + axis;
      first_k = mapped_k[at] < mapped_k[first_k] ? at : first_k;
      last_k = mapped_k[at] > mapped_k[last_k] ? at : last_k;
    }
    for (size_t r = 0; r < nq; r++) {
      double q = mapped_q[r * axes + axis];
      double k = fabs(q - mapped_k[first_k]) > fabs(q - mapped_k[last_k]) ? mapped_k[first_k] : mapped_k[last_k];
      if (fabs(q - k) > most) {
        return error_set(err, ERROR_UNDEFINED,
                         "%s: not defined at distance %.17g (query position %.17g, key position %.17g): it reaches to "
                         "%.17g",
                         instance->scheme->info.id, fabs(q - k), q, k, most);
      }
    }
  }
  return 0;
}
