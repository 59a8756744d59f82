/* A scheme made for a model: parameters, tensors and position map. All compute calls go through here; each checks the
 * floating-point environment, the plugin's answer and that its output is finite.
 *
 * Undefined is a result: ERROR_UNDEFINED with a sentence that names the position. Everything else that a plugin does
 * wrong is ERROR_SCHEME_*.
 */
#ifndef PE_HOST_INSTANCE_H
#define PE_HOST_INSTANCE_H

#include "base/position_map.h"
#include "host/host.h"

struct instance;

/* A tensor the user gives: float32, row-major. data NULL: seeded by the host. */
struct tensor_source {
  const float *data; /* copied */
  pe_dims shape;
  const char *from; /* file:/dataset or "the config", for messages */
};

struct instance_request {
  const struct scheme *scheme;
  pe_shape shape;                      /* `given` is filled in by instance_new */
  const struct section *params;        /* of scheme->info.params; NULL: all defaults */
  const struct tensor_source *tensors; /* [n_tensors], or NULL: all seeded */
  struct position_map map;
  uint64_t seed;                                 /* of seeded tensors and of shuffled positions */
  void (*warn)(void *context, const char *text); /* what the plugin has to say, from any thread that calls it while the
                                                    instance lives; may be NULL */
  void *warn_context;
};

/* An instance, to be released with instance_free. NULL with ERROR_SCHEME_REFUSED (the scheme's own sentence; a site
 * that the model does not have; an automatic position map without a training length), ERROR_FILE_CONTENT (a tensor's
 * shape, both named, or an element that is not finite), ERROR_SCHEME_FAILED (an answer the contract does not allow) or
 * ERROR_MEMORY. */
struct instance *instance_new(const struct instance_request *request, struct error *err);
void instance_free(struct instance *instance);

const struct scheme *instance_scheme(const struct instance *instance);
const struct position_map *instance_map(const struct instance *instance);
uint32_t instance_sites(const struct instance *instance);
uint32_t instance_traits(const struct instance *instance);
pe_domain instance_domain(const struct instance *instance);

/* Width of query and key rows after instance_rotate; head_dim unless the scheme widens. */
size_t instance_qk_width(const struct instance *instance);

/* Whether a call changed the floating-point environment since the instance was made; it was restored each time. [any]
 */
bool instance_changed_fp_state(const struct instance *instance);

/* The score scale that the scheme asks for, or `fallback`. */
double instance_score_scale(const struct instance *instance, double fallback);

/* Scheme tensor `which` (of scheme->info.tensors) as bound; NULL: not given. */
const float *instance_tensor(const struct instance *instance, size_t which, pe_dims *shape);

/* mapped [n][axes] = the positions the scheme is told for a whole sequence at `positions` [n][axes]; rows with
 * padding[i] != 0 (padding may be NULL) get -1 and take no part. The length that divides positions is the largest one
 * plus one; a shuffled order is one per number of rows. *seq_len = largest mapped position + 1 (never below 0). Fails
 * with ERROR_MEMORY alone. [any] */
int instance_map_positions(const struct instance *instance, size_t n, const double *positions, const uint8_t *padding,
                           double *mapped, double *seq_len, struct error *err);

/* Whether every mapped position (distance, for a relative scheme) of a sequence of `n` rows is one that training could
 * have set: from 0 to below train_len, or the scheme's own trained_max. train_len 0: not known, true. */
bool instance_is_trained(const struct instance *instance, size_t n, const double *mapped, const uint8_t *padding,
                         double train_len);

/* x [n][stride] += encoding at mapped [n]. Nothing where the scheme has no EMBED site. Padding rows are left alone.
 * [any] */
int instance_embed(const struct instance *instance, size_t n, const double *mapped, const uint8_t *padding,
                   double seq_len, float *x, size_t stride, struct error *err);

/* out [n_heads][n][qk_width] = in [n_heads][n][head_dim] moved to mapped [n]; contiguous heads and rows; role
 * PE_ROLE_QUERY or PE_ROLE_KEY; heads [head, head + n_heads) of that role. Where the scheme has no QK site the rows are
 * copied. Padding rows are copied (widened with zeros). out may be in where the widths are equal. [any] */
int instance_rotate(const struct instance *instance, int role, unsigned layer, unsigned head, unsigned n_heads,
                    size_t n, const double *mapped, const uint8_t *padding, double seq_len, const float *in, float *out,
                    struct error *err);

/* The same for rows first .. first + count - 1 of the n alone, the others left as they are: the bits do not depend on
 * how rows are cut into calls, so that threads can share them. in, out, mapped and padding are those of all rows. [any]
 */
int instance_rotate_rows(const struct instance *instance, int role, unsigned layer, unsigned head, unsigned n_heads,
                         size_t n, size_t first, size_t count, const double *mapped, const uint8_t *padding,
                         double seq_len, const float *in, float *out, struct error *err);

/* s [nq][s_stride] += bias of query head `head` for rows at mapped_q [nq] and columns at mapped_k [nk]. Padding rows
 * and columns get none. q, k: rows as in the product, used by PE_TRAIT_CONTENT schemes. Nothing where the scheme has no
 * BIAS site. [any] */
struct bias_tile {
  unsigned layer, head;
  double seq_len;
  size_t nq, nk;
  const double *mapped_q, *mapped_k;
  const uint8_t *padding_q, *padding_k; /* may be NULL */
  const float *q, *k;
  size_t q_stride, k_stride;
  float *s;
  size_t s_stride;
};
int instance_bias(const struct instance *instance, const struct bias_tile *tile, struct error *err);

/* Derived values at a length. *data is a buffer that the caller frees. */
size_t instance_derived_count(const struct instance *instance, double seq_len);
int instance_derived(const struct instance *instance, double seq_len, size_t which, pe_derived *out, double **data,
                     struct error *err);
/* The derived value of that name; 0 and *data NULL where the scheme has none. */
int instance_derived_named(const struct instance *instance, double seq_len, const char *name, pe_derived *out,
                           double **data, struct error *err);

#endif
