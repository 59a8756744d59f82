/* All that a scheme computes for one sequence, done in different ways that must give the same bits. */
#ifndef PE_HOST_CHECK_COMPUTE_H
#define PE_HOST_CHECK_COMPUTE_H

#include "host/check/subject.h"

enum scratch_fill { SCRATCH_ZERO, SCRATCH_PATTERN, SCRATCH_ONES };

/* How the sequence is cut into calls, and what surrounds them. */
struct method {
  size_t rows, heads;    /* of an EMBED or QK call; 0: all */
  size_t tile_q, tile_k; /* of a BIAS call; 0: all */
  size_t gap;            /* elements between rows beyond their width, and three times that between heads */
  size_t offset;         /* elements between the start of the memory and the first row */
  bool in_place;         /* QK: out is in, where the widths are equal */
  bool backwards;        /* the last block first */
  enum guard_side side;
  enum scratch_fill scratch;
  float background;  /* of what EMBED and BIAS add to: times a fixed pattern; 0: zeros */
  double seq_len;    /* 0: the subject's */
  const double *pos; /* [n][axes]; NULL: the subject's */
  bool plain;        /* no guard pages and no stage: for several threads at once */
};

struct outputs {
  size_t n, d_model, width, n_heads, n_kv_heads;
  float *embed;       /* [n][d_model]; NULL without the site, as below */
  float *query, *key; /* [heads][n][width] */
  float *bias;        /* [n_heads][n][n] */
};

/* What went wrong in a call; each kind has a check of its own, the others step back. */
enum problem_kind {
  PROBLEM_NONE,
  PROBLEM_STATUS,
  PROBLEM_UNDEFINED, /* not defined here, and that is an answer: with unusual parameters or lengths; nobody's failure */
  PROBLEM_BOUNDS,
  PROBLEM_UNWRITTEN,
  PROBLEM_HOST
};
struct problem {
  enum problem_kind kind;
  char text[CHECK_TEXT];
};

/* Compute everything; outputs_free is due in any case. The floating-point environment is restored after each call; the
 * first call that changed it is remembered in *fp_changed (CHECK_TEXT bytes, "" before), where that is not NULL. */
struct problem compute(const struct subject *subject, const struct method *method, struct outputs *out,
                       char *fp_changed);
void outputs_free(struct outputs *outputs);

/* What the background holds at element i of a row-major output. */
float background_at(const struct method *method, size_t i);

/* The same; where there is a problem, a verdict: a failure where `owned` is its kind, else a skip. */
bool compute_or_skip(const struct subject *subject, const struct method *method, struct outputs *out,
                     enum problem_kind owned);

/* Whether two are equal bit by bit; else *text names site, head, row, channel and both values. */
bool outputs_equal(const struct subject *subject, const struct outputs *a, const struct outputs *b, char *text,
                   size_t size);

/* A digest of all bits. */
uint64_t outputs_digest(const struct outputs *outputs);

#endif
