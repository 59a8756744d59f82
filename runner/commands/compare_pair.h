/* Two variants beside each other: what the parts of compare_variants share. */
#ifndef PE_COMMANDS_COMPARE_PAIR_H
#define PE_COMMANDS_COMPARE_PAIR_H

#include "commands/compare.h"
#include "commands/positions.h"

/* One of the two. */
struct side {
  char *name; /* "rope base=10000" */
  struct scheme_choice choice;
  struct instance *instance;
  struct positions positions;
  double seq_len;
  float *embedding; /* [T][d_model] or NULL */
  float *q, *k;     /* [heads][T][width] */
  float *bias;      /* [heads][T][T] or NULL */
  float *scores;    /* [heads][T][T] */
  size_t width;
  struct angles angles;
  bool has_angles;
};

struct pair {
  const struct compare_request *request;
  unsigned heads, head_dim, d_model;
  size_t n; /* positions */
  float *x; /* [T][d_model] content: multiples of 1/1024 in [-2, 2] */
  struct side sides[2];
  bool shown; /* a table was printed */
};

/* Differences up to this share of the largest number are what float32 leaves: a few roundings of 6e-8 each. */
extern const double compare_rounding_share;

struct difference {
  bool identical;
  bool parts;     /* somewhere beyond rounding */
  size_t first;   /* first element beyond rounding; where none is, that of the largest difference */
  size_t largest; /* where the largest difference is */
  double amount;  /* that difference */
};

/* a, b [heads][rows][columns]; `first` is the one of the first row, then head, then column. */
struct difference difference_of(const float *a, const float *b, size_t heads, size_t rows, size_t columns);

/* What was found, over all tables. */
struct finding {
  bool identical, parts;
};

/* ---- sides (compare_sides.c) ---- */

int side_open(struct session *session, struct pair *pair, const struct scheme_arguments *arguments, struct side *side,
              struct error *err);
void side_close(struct side *side);

/* The content, and all that both make of it. */
int pair_fill(struct pair *pair, struct error *err);

/* Rows [heads][T][head_dim] of the content, and rows turned by a side; both to be freed, NULL with *err. */
float *pair_rows(const struct pair *pair, const float *x, struct error *err);
float *side_turn(const struct pair *pair, const struct side *side, int role, const float *in, struct error *err);

/* ---- tables (compare_tables.c) ---- */

int pair_show_derived(struct pair *pair, struct finding *finding, struct error *err);
int pair_show_vectors(struct pair *pair, struct finding *finding, struct error *err);
int pair_show_scores(struct pair *pair, struct finding *finding, struct error *err);
int pair_show_verdict(struct pair *pair, enum agreement agreement, struct error *err);

/* ---- channels (compare_order.c) ---- */

/* Whether the two are the same encoding with its channels in another order. */
int pair_check_order(struct pair *pair, bool *agree, struct error *err);

#endif
