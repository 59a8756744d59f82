#include "experiments/embedded.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many sequences are kept, and so many numbers of them together; the oldest make room. */
enum { PLACES = 64, MOST_FLOATS = 4 << 20 };

struct place {
  const struct instance *scheme; /* NULL: empty */
  size_t n, axes, d_model;
  double seq_len;
  double *mapped; /* [n][axes] */
  float *rows;    /* [n][d_model] */
};

struct embedded {
  pthread_rwlock_t lock; /* held to read while rows are added, to write while places change */
  struct place places[PLACES];
  size_t next; /* where the next one goes; the oldest is behind it */
  size_t floats;
};

struct embedded *embedded_new(struct error *err) {
  struct embedded *embedded = memory_new(1, sizeof *embedded, "positions", err);
  if (embedded && pthread_rwlock_init(&embedded->lock, NULL)) {
    free(embedded);
    error_set(err, ERROR_MEMORY, "positions: a lock is not to be had");
    return NULL;
  }
  return embedded;
}

static void empty(struct embedded *embedded, struct place *place) {
  embedded->floats -= place->n * place->d_model;
  free(place->mapped);
  free(place->rows);
  *place = (struct place){0};
}

void embedded_free(struct embedded *embedded) {
  if (!embedded) {
    return;
  }
  for (size_t i = 0; i < PLACES; i++) {
    empty(embedded, &embedded->places[i]);
  }
  pthread_rwlock_destroy(&embedded->lock);
  free(embedded);
}

static const struct place *find(const struct embedded *embedded, const struct place *like) {
  for (size_t i = 0; i < PLACES; i++) {
    const struct place *place = &embedded->places[i];
    if (place->scheme == like->scheme && place->n == like->n && place->d_model == like->d_model &&
        place->seq_len == like->seq_len &&
        !memcmp(place->mapped, like->mapped, like->n * like->axes * sizeof *like->mapped)) {
      return place;
    }
  }
  return NULL;
}

/* Hand over a place's memory, unless another thread was faster. */
static void keep(struct embedded *embedded, struct place *made) {
  pthread_rwlock_wrlock(&embedded->lock);
  if (!find(embedded, made)) {
    for (size_t i = 0; i < PLACES && embedded->floats + made->n * made->d_model > MOST_FLOATS; i++) {
      empty(embedded, &embedded->places[(embedded->next + i) % PLACES]);
    }
    struct place *place = &embedded->places[embedded->next];
    embedded->next = (embedded->next + 1) % PLACES;
    empty(embedded, place);
    embedded->floats += made->n * made->d_model;
    *place = *made;
    *made = (struct place){0};
  }
  pthread_rwlock_unlock(&embedded->lock);
}

static void add_rows(const struct place *place, double scale, float *x) {
  for (size_t i = 0; i < place->n * place->d_model; i++) {
    x[i] += (float)scale * place->rows[i];
  }
}

static bool add_kept(struct embedded *embedded, const struct place *like, double scale, float *x) {
  pthread_rwlock_rdlock(&embedded->lock);
  const struct place *place = find(embedded, like);
  if (place) {
    add_rows(place, scale, x);
  }
  pthread_rwlock_unlock(&embedded->lock);
  return place != NULL;
}

static int make_rows(struct place *place, const uint8_t *padding, struct error *err) {
  size_t n = place->n, d = place->d_model;
  place->rows = memory_new_fenced(n, d * sizeof *place->rows, "positions", err);
  if (!place->rows) {
    return err->code;
  }
  int status = instance_embed(place->scheme, n, place->mapped, padding, place->seq_len, place->rows, d, err);
  if (!status && !memory_fence_holds(place->rows, n, d * sizeof *place->rows)) {
    status = error_set(err, ERROR_SCHEME_BOUNDS, "%s: embed_add wrote outside its buffer, behind its last row",
                       instance_scheme(place->scheme)->info.id);
  }
  return status;
}

int embedded_add(struct embedded *embedded, const struct instance *scheme, size_t n, const double *mapped,
                 const uint8_t *padding, double seq_len, double scale, float *x, size_t d_model, struct error *err) {
  size_t axes = instance_domain(scheme).pos_axes;
  struct place place = {.scheme = scheme, .n = n, .axes = axes, .d_model = d_model, .seq_len = seq_len};
  place.mapped = memory_new_unset(n, axes, 1, sizeof *place.mapped, "positions", err);
  if (!place.mapped) {
    return err->code;
  }
  memcpy(place.mapped, mapped, n * axes * sizeof *mapped);
  int status = 0;
  bool can_be_kept = embedded && !padding && n <= MOST_FLOATS / d_model;
  if (!can_be_kept || !add_kept(embedded, &place, scale, x)) {
    status = make_rows(&place, padding, err);
    if (!status) {
      add_rows(&place, scale, x);
    }
    if (!status && can_be_kept) {
      keep(embedded, &place);
    }
  }
  free(place.mapped);
  free(place.rows);
  return status;
}
