/* Two variants beside each other: what the parts of compare_variants share. */
#ifndef PE_COMMANDS_COMPARE_PAIR_H
#define PE_COMMANDS_COMPARE_PAIR_H

#include "commands/compare.h"
#include "commands/positions.h"

/* Differences up to this share of the largest number are what float32 leaves: a few roundings of 6e-8 each. */
extern const double compare_rounding_share;

struct difference {
  bool identical;
  bool parts;         /* somewhere beyond rounding */
  size_t first;       /* first element beyond rounding; where none is, that of the largest difference */
  size_t largest;     /* where the largest difference is */
  double amount;      /* that difference */
  float ours, theirs; /* the numbers at `first` */
};

/* a, b [heads][rows][columns]; `first` is the one of the first row, then head, then column. */
struct difference difference_of(const float *a, const float *b, size_t heads, size_t rows, size_t columns);

/* The same of a part, rows first_row on of `rows` in all, a, b [heads][count][columns]: goes on with *d, against what
 * is `allowed`. Parts are handed in from the first row to the last. */
struct rows_part {
  size_t heads, rows, columns, first_row, count;
};
void difference_add(struct difference *d, const float *a, const float *b, const struct rows_part *part, double allowed);

/* The largest number of both, `count` each. */
double difference_size(const float *a, const float *b, size_t count);

/* Scores of pairs whose distance is in [0, 1), [1, 2), [2, 4) and so on; farther ones than 2^54 are left out. */
enum { BANDS = 55 };

struct band {
  double largest, squares_a, squares_b;
  size_t count;
};

/* One of the two. */
struct side {
  char *name; /* "rope base=10000" */
  struct scheme_choice choice;
  struct instance *instance;
  struct positions positions;
  double seq_len;
  float *embedding; /* [T][d_model] or NULL */
  float *q, *k;     /* [heads][T][width] */
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
  bool shown;                     /* a table was printed */
  struct difference bias, scores; /* [heads][T][T]; bias: where both have one */
  struct band bands[BANDS];       /* of the scores */
};

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

/* Rounded as --round asks, the first side alone. */
void side_round(const struct pair *pair, const struct side *side, float *values, size_t count);

/* Rows [heads][T][head_dim] of the content, and rows turned by a side; both to be freed, NULL with *err. */
float *pair_rows(const struct pair *pair, const float *x, struct error *err);
float *side_turn(const struct pair *pair, const struct side *side, int role, const float *in, struct error *err);

/* ---- biases and scores (compare_scores.c) ---- */

/* pair->bias, scores and bands, from both sides' rows. Blocks of queries are worked through, so that memory grows with
 * T and not with its square. */
int pair_fill_scores(struct pair *pair, struct error *err);

/* ---- tables (compare_tables.c) ---- */

int pair_show_derived(struct pair *pair, struct finding *finding, struct error *err);
int pair_show_vectors(struct pair *pair, struct finding *finding, struct error *err);
int pair_show_scores(struct pair *pair, struct finding *finding, struct error *err);
int pair_show_verdict(struct pair *pair, enum agreement agreement, struct error *err);

/* ---- channels (compare_order.c) ---- */

/* Whether the two are the same encoding with its channels in another order. */
int pair_check_order(struct pair *pair, bool *agree, struct error *err);

#endif
