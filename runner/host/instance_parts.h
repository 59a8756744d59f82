/* What the files that make up an instance share. */
#ifndef PE_HOST_INSTANCE_PARTS_H
#define PE_HOST_INSTANCE_PARTS_H

#include "host/fp_environment.h"
#include "host/instance.h"

#include <stdalign.h>
#include <stdatomic.h>

/* Coordinates per position that a scheme may ask for. */
enum { MOST_POSITION_AXES = 8 };

struct instance {
  const struct scheme *scheme;
  pe_instance *plugin; /* NULL: the control */
  pe_host host;        /* what the plugin is offered; outlives `plugin` */
  pe_shape shape;
  pe_domain domain;
  uint32_t traits;
  size_t qk_width;
  struct position_map map;
  uint64_t seed;
  void (*warn)(void *context, const char *text);
  void *warn_context;
  size_t n_tensors;
  float **tensors; /* [n_tensors], each owned; NULL: absent */
  pe_dims *dims;   /* [n_tensors] */
  /* Behind a pointer, since calls on a const instance set it. */
  atomic_bool *changed_fp_state;
};

/* Around every call into the plugin: what it changed in the floating-point environment is restored and remembered. */
static inline struct fp_environment call_begin(void) {
  return fp_environment_get();
}
static inline void call_end(const struct instance *instance, const struct fp_environment *before) {
  if (fp_environment_restore(before)) {
    atomic_store_explicit(instance->changed_fp_state, true, memory_order_relaxed);
  }
}

/* An empty error for the plugin to fill. */
pe_error call_error(void);

/* The sentence for a status that is not PE_OK: the scheme, the call, what the plugin said. PE_ERR_SHAPE, PE_ERR_PARAM
 * and PE_ERR_UNSUPPORTED give ERROR_SCHEME_REFUSED, PE_ERR_MEMORY ERROR_MEMORY, the others ERROR_SCHEME_FAILED. */
int call_failed(const struct instance *instance, const char *call, pe_status status, pe_error *why, struct error *err);

/* ERROR_UNDEFINED for a call that returned PE_ERR_POS_*: the position of the row that the plugin names, where it names
 * one; of a tile, whose `where` can mean a query or a key, both ranges (the plugin's message says which). */
int rows_undefined(const struct instance *instance, const pe_rows *rows, pe_error *why, struct error *err);
int tile_undefined(const struct instance *instance, const pe_tile *tile, pe_error *why, struct error *err);

/* Scratch, lent for one call; `large` is to be freed after it. */
enum { SMALL_SCRATCH = 4096 };
struct scratch {
  alignas(64) unsigned char small[SMALL_SCRATCH];
  void *large; /* NULL where the small one does */
};

/* *memory = scratch for up to max_q rows and max_k columns, NULL where the scheme needs none. */
int scratch_lend(const struct instance *instance, size_t max_q, size_t max_k, struct scratch *scratch, void **memory,
                 struct error *err);

/* Index of the first element that is not finite, or n. */
size_t first_not_finite(const float *values, size_t n);

/* Tensors: shapes asked for, seeded or copied, bound. Codes as instance_new's. */
int instance_bind_tensors(struct instance *instance, const struct tensor_source *sources, struct error *err);

/* ERROR_UNDEFINED with a sentence where a position of [n][axes] is outside the domain; 0 otherwise. `what` names the
 * rows ("position", "query position"), `first` is the index of row 0 in the whole sequence. */
int domain_check_rows(const struct instance *instance, const char *what, size_t n, const double *mapped, size_t first,
                      struct error *err);

/* The same for the distances between query and key positions. */
int domain_check_distances(const struct instance *instance, size_t nq, const double *mapped_q, size_t nk,
                           const double *mapped_k, struct error *err);

/* The next rows without padding: from *start (moved past padding) to *end; false where none are left. */
bool next_run(const uint8_t *padding, size_t n, size_t *start, size_t *end);

#endif
