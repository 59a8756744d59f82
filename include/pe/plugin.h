/* pe/plugin.h - the contract between pe-run and a positional encoding.
 *
 * A plugin is a shared object that exports one constant data symbol, `pe_plugin_entry`. The runner (the
 * "host") reads it before it calls any code. Everything a plugin author needs is in this file and in libc and libm.
 *
 * Where a scheme can act (one scheme may act at several sites):
 *
 *     x = x + embed(pos)                            PE_SITE_EMBED   once, on the input [T][d_model]
 *     q = R(pos) q ,  k = R(pos) k                  PE_SITE_QK      per layer, after projection [heads][T][head_dim]
 *     s = scale (q . k) + bias(pos_q, pos_k, ...)   PE_SITE_BIAS    per score tile, after scaling, before mask and
 * softmax
 *
 * Rules that hold for every call:
 *
 *  1. Split invariance. Elements are bit-identical however rows, heads and tiles are cut into calls.
 *  2. Additive. embed_add and bias_add only add to what is there. Stride padding and neighbours are never touched.
 *  3. Empty. n = 0, nq = 0 or nk = 0 is valid and does nothing.
 *  4. Domain. A position outside the domain gives PE_ERR_POS_RANGE, a fractional one where whole numbers are needed
 *     PE_ERR_POS_KIND, pe_error.where is the index of the first offending row (of a tile: in pos_q, or in pos_k where
 * only keys are at fault; the message says which), and the outputs are untouched: check everything, then write. The
 * host records such a result as "undefined here", not as a failure.
 *  5. Memory. The plugin frees in destroy what it allocated in create. All memory in a call is the caller's; pointers
 * in pe_rows and pe_tile die at return. Bound tensors outlive the instance and their contents may change between calls,
 * so nothing computed from them is kept. pe_value.list dies at the end of create.
 *  6. Floating point. Rounding mode, flush-to-zero and exception masks are left as found; no fast-math. Angles are
 * formed in double.
 *  7. No hidden state. No globals that change, no environment, files, clock or random numbers.
 *  8. Length. What depends on the sequence length depends on `seq_len` of the call alone. The host sets it to the
 * largest position of the call plus one unless the user gives it.
 *  9. Relative bias. With PE_TRAIT_RELATIVE the host may call bias_add once per head with nq = 1 for all distances of
 *     evenly spaced positions and add that row itself.
 *
 * Thread tags: [any] re-entrant, also on one instance; [serial] no other call on this instance runs meanwhile.
 *
 * Growing: structs are only ever appended to, and each member is read only where struct_size covers it. The major
 * version must match, a newer minor is accepted. Optional abilities are found by `extension`, by an id that carries its
 * own revision.
 */
#ifndef PE_PLUGIN_H
#define PE_PLUGIN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PE_ABI_MAGIC 0x50452d31u /* "PE-1" */
#define PE_ABI_MAJOR 0u          /* 0: may still change between releases of pe-run */
#define PE_ABI_MINOR 1u

/* ---- status -------------------------------------------------------------------------------------------------------
 */

/* What every fallible function returns. The numbers are pinned. */
typedef int32_t pe_status;
enum {
  PE_OK = 0,
  PE_ERR_ARGUMENT = 1,    /* the host broke this contract (a NULL, an unknown role) */
  PE_ERR_PARAM = 2,       /* parameters that do not go together */
  PE_ERR_SHAPE = 3,       /* the model's shape does not suit the scheme (an odd width for a rotation) */
  PE_ERR_POS_RANGE = 4,   /* a position outside the domain */
  PE_ERR_POS_KIND = 5,    /* a fractional position where whole numbers are needed */
  PE_ERR_UNSUPPORTED = 6, /* a valid request that this scheme does not serve */
  PE_ERR_MEMORY = 7,      /* an allocation failed */
  PE_ERR_INTERNAL = 8     /* a fault of the plugin's own */
};

/* Where a function says what went wrong. The caller's memory; a function may be given NULL. Written only when the
 * status is not PE_OK. */
typedef struct pe_error {
  uint32_t struct_size; /* bytes of the caller's struct */
  uint32_t reserved;    /* 0 */
  int64_t where;        /* index of the first offending row, parameter or tensor; -1: none */
  char msg[232];        /* one sentence, UTF-8, NUL-terminated, with names and values */
} pe_error;

/* ---- parameters ---------------------------------------------------------------------------------------------------
 */

/* Types of a parameter. The host parses, fills in defaults, checks ranges and passes the values in table order. */
enum {
  PE_BOOL = 0,     /* value.i is 0 or 1 */
  PE_INT = 1,      /* value.i in [min, max] */
  PE_REAL = 2,     /* value.r in [min, max], finite */
  PE_CHOICE = 3,   /* value.i is the index into choices */
  PE_REAL_LIST = 4 /* value.list[0..n), each in [min, max], list_min <= n <= list_max */
};

/* Flags of a parameter. */
enum {
  PE_PARAM_OPTIONAL = 1, /* no default: absent unless the user gives it; then value.given is 0 */
  PE_PARAM_REQUIRED = 2, /* the user must give it */
  PE_PARAM_OR_LIST = 4   /* PE_CHOICE only: a list of reals is accepted too; then value.i is -1 and list, n are set */
};

/* One parameter's value. */
typedef struct pe_value {
  int64_t i;          /* PE_BOOL, PE_INT, PE_CHOICE; also the value of a PE_REAL, truncated */
  double r;           /* PE_REAL; also the value of a PE_INT */
  const double *list; /* PE_REAL_LIST; in tables NULL with n = 0 is the empty list. Dies at the end of create */
  size_t n;           /* elements of list */
  int32_t given;      /* 1: by the user or by the default; 0: absent (PE_PARAM_OPTIONAL only) */
  int32_t reserved;   /* 0 */
} pe_value;

/* One row of a scheme's parameter table. Static memory of the plugin. */
typedef struct pe_param {
  const char *key; /* as written in a config: [a-z][a-z0-9_]*, unique in the table, not a word the host reserves */
  const char *doc; /* one line: the meaning, with the paper's symbol */
  int32_t type;    /* PE_BOOL ... PE_REAL_LIST */
  uint32_t flags;  /* PE_PARAM_* */
  double min, max; /* inclusive bounds of PE_INT, PE_REAL and list elements; -INFINITY, INFINITY: none */
  pe_value dflt;   /* the default; `given` is ignored; unused with PE_PARAM_OPTIONAL or _REQUIRED */
  const char *const *choices; /* PE_CHOICE: names, ended by NULL; else NULL */
  size_t list_min, list_max;  /* bounds of the number of list elements */
} pe_param;

/* ---- tensors ------------------------------------------------------------------------------------------------------
 */

/* How the host fills a tensor that the user does not give. */
enum {
  PE_INIT_ZERO = 0,
  PE_INIT_CONSTANT = 1, /* init_a */
  PE_INIT_NORMAL = 2,   /* mean init_a, standard deviation init_b */
  PE_INIT_UNIFORM = 3   /* in [init_a, init_b) */
};

/* Flags of a tensor. */
enum {
  PE_TENSOR_GIVEN = 1,          /* never seeded: absent unless the user gives it; then its binding is NULL */
  PE_TENSOR_PER_SQRT_DMODEL = 2 /* seeded values are divided by sqrt(d_model) */
};

/* One row of a scheme's tensor table: learnable or given numbers, float32, row-major. The host seeds, loads, binds and
 * saves them; their shapes follow from create. Static memory of the plugin. */
typedef struct pe_tensor {
  const char *name; /* as the paper writes it: [A-Za-z][A-Za-z0-9_]*, unique among parameters and tensors */
  const char *doc;  /* one line: meaning and shape */
  int32_t init;     /* PE_INIT_* */
  uint32_t flags;   /* PE_TENSOR_* */
  double init_a, init_b;
} pe_tensor;

/* Shape of a tensor. */
typedef struct pe_dims {
  uint32_t rank;     /* 0 to 4 */
  uint32_t reserved; /* 0 */
  size_t dim[4];     /* the first `rank` are used */
} pe_dims;

/* ---- derived values -----------------------------------------------------------------------------------------------
 */

/* A value that follows from the parameters for one sequence length. Names are pinned where the runner uses them:
 *   inv_freq           [n]     radians per position that run, after scaling; pair i turns by position * inv_freq[i]
 *   inv_freq_unscaled  [n]     the same before scaling
 *   pairs              [n][2]  channels turned together, in inv_freq's order
 *   attention_factor   [1]     multiplies cos and sin, so a logit by its square
 *   softmax_scale_multiplier [1]  multiplies the score scale
 *   logit_multiplier   [1]     attention_factor squared times softmax_scale_multiplier
 *   slopes             [heads] bias per unit of distance, positive
 *   bucket_edges       [n]     first distance of each bucket
 */
typedef struct pe_derived {
  const char *name;   /* static memory of the plugin */
  const char *doc;    /* one line, static; may be NULL */
  uint32_t rank;      /* 1 or 2 */
  uint32_t reserved;  /* 0 */
  size_t dim[2];      /* elements per axis; dim[1] = 1 where rank is 1 */
  const double *data; /* the caller's buffer */
} pe_derived;

/* ---- shape and domain ---------------------------------------------------------------------------------------------
 */

/* The model that an instance is made for. */
typedef struct pe_shape {
  uint32_t struct_size;
  uint32_t n_layers;   /* >= 1 */
  uint32_t n_heads;    /* query heads, >= 1 */
  uint32_t n_kv_heads; /* key heads; divides n_heads */
  uint32_t d_model;    /* width of the input; 0 where there is none (given q and k) */
  uint32_t head_dim;   /* width of a query or key row; 0 where there are none */
  double train_len;    /* training length in tokens; 0: not known */
  const pe_dims
      *given; /* [n_tensors]: shape of each tensor the user gives, rank 0 where he does not; NULL: none given */
} pe_shape;

/* Where an instance is defined. The host fills struct_size and the defaults (0, 1, -INFINITY, INFINITY, INFINITY, NAN);
 * the plugin overwrites what differs. */
typedef struct pe_domain {
  uint32_t struct_size;
  uint32_t integer_only; /* 1: fractional positions give PE_ERR_POS_KIND */
  uint32_t pos_axes;     /* coordinates per position, >= 1 */
  uint32_t reserved;     /* 0 */
  double min, max;       /* inclusive bounds of every coordinate */
  double max_distance;   /* largest |pos_q - pos_k| */
  double trained_max;    /* largest position (distance, with PE_TRAIT_RELATIVE) whose value training up to train_len can
                            have    set. INFINITY: every one (a clamped table). NAN: train_len - 1 */
} pe_domain;

/* ---- calls --------------------------------------------------------------------------------------------------------
 */

/* What the rows of a call are. */
enum { PE_ROLE_EMBED = 0, PE_ROLE_QUERY = 1, PE_ROLE_KEY = 2 };

/* Rows at positions, for embed_add and qk_apply. Strides count elements. */
typedef struct pe_rows {
  uint32_t struct_size;
  int32_t role;                       /* PE_ROLE_* */
  uint32_t layer;                     /* 0-based */
  uint32_t head, n_heads;             /* heads [head, head + n_heads): sines are taken once per row. Key heads count key
                                         heads. EMBED: 0 and 1 */
  uint32_t reserved;                  /* 0 */
  double seq_len;                     /* length the call belongs to, cache included */
  size_t n;                           /* rows */
  const double *pos;                  /* [n][pos_axes] */
  const float *in;                    /* [n_heads][n][d_in]; NULL for EMBED */
  size_t in_stride, in_head_stride;   /* between rows, between heads */
  float *out;                         /* [n_heads][n][d_out]; may equal `in` where widths and strides do. EMBED: += */
  size_t out_stride, out_head_stride; /* between rows, between heads */
} pe_rows;

/* A rectangle of scores of one head, for bias_add. Strides count elements. */
typedef struct pe_tile {
  uint32_t struct_size;
  uint32_t layer, head;      /* 0-based; query head */
  uint32_t reserved;         /* 0 */
  double seq_len;            /* length the call belongs to, cache included */
  size_t nq, nk;             /* rows, columns */
  const double *pos_q;       /* [nq][pos_axes] */
  const double *pos_k;       /* [nk][pos_axes] */
  const float *q, *k;        /* [nq][d], [nk][d] as they enter the product; NULL unless PE_TRAIT_CONTENT */
  size_t q_stride, k_stride; /* between rows */
  float *s;                  /* [nq][nk] += bias, nothing else */
  size_t s_stride;           /* between rows */
} pe_tile;

/* What the host offers to an instance. Outlives it. */
typedef struct pe_host {
  uint32_t struct_size;
  uint32_t abi_major, abi_minor; /* of the host */
  uint32_t reserved;             /* 0 */
  void *ctx;                     /* passed back to log */
  /* [any] A sentence for the user; level 0 debug, 1 information, 2 warning. The text is copied. May be NULL. */
  void (*log)(void *ctx, int32_t level, const char *msg);
} pe_host;

typedef struct pe_instance pe_instance; /* the plugin defines it */

/* Sites: a set of these bits. */
enum { PE_SITE_EMBED = 1, PE_SITE_QK = 2, PE_SITE_BIAS = 4 };

/* Traits: promises about the scheme, a set of these bits. */
enum {
  PE_TRAIT_RELATIVE = 1,        /* scores depend on pos_q - pos_k alone; BIAS: bit for bit; QK: in exact arithmetic */
  PE_TRAIT_CONTENT = 2,         /* the bias needs the q and k rows */
  PE_TRAIT_CAUSAL_ONLY = 4,     /* meant for a causal mask; without one it runs with a warning */
  PE_TRAIT_LENGTH_DEPENDENT = 8 /* uses seq_len */
};

/* ---- the scheme ---------------------------------------------------------------------------------------------------
 */

/* One scheme. Static constant memory of the plugin. Members marked "optional" may be NULL; functions of a site that the
 * scheme does not name in `sites` must be NULL. */
typedef struct pe_scheme {
  uint32_t struct_size;
  uint32_t version;      /* of the numeric behaviour: raised whenever a result may change */
  const char *id;        /* [A-Za-z][A-Za-z0-9_]{0,63}; the name in a config */
  const char *title;     /* one line for people */
  const char *reference; /* where the formula comes from */
  uint32_t sites;        /* PE_SITE_*, at least one */
  uint32_t traits;       /* PE_TRAIT_*: those of every instance; see instance_traits */

  const pe_param *params; /* [n_params], rows param_stride bytes apart; NULL where n_params is 0 */
  uint32_t n_params, param_stride;
  const pe_tensor *tensors; /* [n_tensors], rows tensor_stride bytes apart; NULL where n_tensors is 0 */
  uint32_t n_tensors, tensor_stride;

  /* [any] Make an instance for a shape from parameter values in table order. Refuses impossible combinations with
   * PE_ERR_SHAPE or PE_ERR_PARAM and a sentence. On failure *out is untouched and nothing is leaked. */
  pe_status (*create)(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                      pe_error *err);

  /* [serial] Free an instance; NULL is allowed. */
  void (*destroy)(pe_instance *self);

  /* [any] optional: where the instance is defined; without it everywhere, on one axis. */
  pe_status (*domain)(const pe_instance *self, pe_domain *out);

  /* [any] Shape of tensor `which`, rank 0 where it is absent (PE_TENSOR_GIVEN); needed where n_tensors > 0. Where the
   * user gives the tensor, the host compares. */
  pe_status (*tensor_shape)(const pe_instance *self, uint32_t which, pe_dims *out);

  /* [serial] Bind all tensors, in table order; called before any compute call. The array dies at return, what its
   * elements point to does not. Needed where n_tensors > 0. */
  pe_status (*tensor_bind)(pe_instance *self, const float *const *tensors);

  /* [any] optional: number of derived values at a length. */
  uint32_t (*derived_count)(const pe_instance *self, double seq_len);

  /* [any] optional: derived value `which`. Writes name, shape and *need; writes the data, and data = buf, where
   * buf holds len >= *need doubles. buf = NULL asks for the size alone. */
  pe_status (*derived)(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                       size_t len, size_t *need);

  /* [any] optional: bytes of scratch, 64-byte aligned, that calls with up to max_q rows (max_k columns) need, gradients
   * included. Without it 0 and scratch is NULL. */
  size_t (*scratch_bytes)(const pe_instance *self, size_t max_q, size_t max_k);

  /* [any] optional: width of q and k rows after qk_apply; without it head_dim. */
  uint32_t (*qk_width)(const pe_instance *self);

  /* [any] optional: the score scale the scheme asks for, where the model would use dflt (T5 gives 1). */
  double (*score_scale)(const pe_instance *self, double dflt);

  /* [any] out[r][:] += encoding of pos[r]. Needed with PE_SITE_EMBED. */
  pe_status (*embed_add)(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err);

  /* [any] out[h][r][:] = in[h][r][:] moved to pos[r]. Needed with PE_SITE_QK. */
  pe_status (*qk_apply)(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err);

  /* [any] s[r][c] += bias(pos_q[r], pos_k[c]). Needed with PE_SITE_BIAS. */
  pe_status (*bias_add)(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err);

  /* [any] optional: the extension with this id, or NULL for an id it does not know. Static memory of the plugin. */
  const void *(*extension)(const char *id);

  /* [any] optional: the traits of this instance, where they depend on its parameters (a distance rule that is made for
   * a causal mask, a table that is relative or not). They include all of `traits`; without it an instance has just
   * these. */
  uint32_t (*instance_traits)(const pe_instance *self);
} pe_scheme;

/* The exported symbol's type. Constant data. */
typedef struct pe_entry {
  uint32_t magic;       /* PE_ABI_MAGIC */
  uint32_t struct_size; /* sizeof(pe_entry) */
  uint32_t abi_major, abi_minor;
  const char *name;                /* of the plugin, for messages */
  const char *version;             /* of the plugin, free text */
  const pe_scheme *const *schemes; /* [n_schemes] */
  uint32_t n_schemes;              /* >= 1 */
  uint32_t reserved;               /* 0 */
} pe_entry;

#define PE_ENTRY_SYMBOL "pe_plugin_entry"

#ifdef __cplusplus
#define PE_PLUGIN_EXTERN extern "C"
#else
#define PE_PLUGIN_EXTERN extern
#endif
/* Declared here so that the definition needs no other prototype. */
PE_PLUGIN_EXTERN __attribute__((visibility("default"))) const pe_entry pe_plugin_entry;

/* True where struct *p, of type T, is long enough to hold member m and m is not NULL. */
#define PE_HAS(p, T, m) ((p)->struct_size >= offsetof(T, m) + sizeof((p)->m) && (p)->m != 0)

/* Fill *e, where there is one, and return st: `return pe_fail(err, PE_ERR_SHAPE, -1, "head_dim %u is odd", d);` */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5), unused))
#endif
static inline pe_status
pe_fail(pe_error *e, pe_status st, int64_t where, const char *fmt, ...) {
  if (e) {
    va_list ap;
    e->where = where;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
  }
  return st;
}

/* ---- extension: gradients -----------------------------------------------------------------------------------------
 */

#define PE_EXT_VJP "pe.vjp/1"

/* Vector-Jacobian products: what training needs. dw[t] accumulates the gradient of tensor t into a block that belongs
 * to the caller's unit of work (a fixed partition, so that sums do not depend on threads); dw is NULL where the scheme
 * has no tensors, and an element is NULL where that gradient is not wanted. Nothing but sums is written into dw, dq,
 * dk. */
typedef struct pe_ext_vjp {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  /* [any] EMBED and QK. x: the forward call (x->out unused). g: same rows; g->in = dL/d out (also for EMBED),
   * g->out = dL/d in, written (NULL for EMBED, whose input gradient is the output's). */
  pe_status (*rows_vjp)(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw, void *scratch,
                        pe_error *err);
  /* [any] BIAS. ds: the forward tile with s = dL/ds, read only. dq [nq][dq_stride] and dk [nk][dk_stride] are added to;
   * NULL unless PE_TRAIT_CONTENT. */
  pe_status (*bias_vjp)(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                        size_t dk_stride, float *const *dw, void *scratch, pe_error *err);
} pe_ext_vjp;

#ifdef __cplusplus
}
#endif
#endif
