/* An instance under check, called directly: the host's own safety nets would hide what it does. */
#ifndef PE_HOST_CHECK_SUBJECT_H
#define PE_HOST_CHECK_SUBJECT_H

#include "host/check/run.h"

/* Tokens of the sequence that checks compute: a prime, so that blocks do not come out even. */
enum { SUBJECT_TOKENS = 13, SUBJECT_MOST_AXES = 8 };

struct subject {
  struct check_run *run;
  const pe_scheme *table;
  pe_shape shape;
  pe_instance *self;
  pe_domain domain;
  uint32_t traits;
  size_t axes, width; /* coordinates per position; of rows after qk_apply */
  pe_dims *dims;      /* [n_tensors] */
  float **tensors;    /* [n_tensors]; NULL: absent */

  size_t n;    /* tokens */
  double *pos; /* [n][axes], inside the domain */
  double seq_len;
  float *query, *key;           /* [heads][n][head_dim], inputs of qk_apply */
  float *content_q, *content_k; /* [heads][n][width], rows as in the product, for PE_TRAIT_CONTENT */
};

/* Which parameter values and which shape. */
struct subject_wish {
  const pe_value *values; /* [n_params]; NULL: those of value_set_defaults */
  const pe_shape *shape;  /* NULL: the usual one of run->spec */
  double first, step;     /* positions first, first + step, ...; both 0: 0, 1, 2, ... Moved into the domain */
  size_t tokens;          /* 0: SUBJECT_TOKENS */
};

/* Models that most schemes can be made for, the smallest first. NULL beyond the last. */
const pe_shape *subject_usual_shape(size_t which);

/* Make one. PE_OK; what `create` answered, its sentence in `why`; or PE_ERR_INTERNAL after check_fail, where the
 * answers about it make no sense. subject_close is due in any case. */
pe_status subject_open(struct check_run *run, const struct subject_wish *wish, struct subject *out, pe_error *why);

/* The same, where all that is not PE_OK ends in a verdict: false then, a failure for the defaults, a skip else. */
bool subject_require(struct check_run *run, const struct subject_wish *wish, struct subject *out);

void subject_close(struct subject *subject);

/* Run each(subject) on the scheme with its defaults and then, by level, at other positions, with every parameter at
 * each of its notable values, and with all of them at random; stops at the first failure. Values that `create` refuses
 * are passed over. */
void subject_each(struct check_run *run, void (*each)(struct subject *subject));

/* Heads of a role: query heads or key heads. */
size_t subject_heads(const struct subject *subject, int role);

uint32_t subject_sites(const struct subject *subject);

/* Scratch that calls with these sizes need. */
size_t subject_scratch_bytes(const struct subject *subject, size_t max_q, size_t max_k);

#endif
