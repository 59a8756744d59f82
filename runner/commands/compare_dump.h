/* A tensor that another program wrote, and what a variant would have written in its place. */
#ifndef PE_COMMANDS_COMPARE_DUMP_H
#define PE_COMMANDS_COMPARE_DUMP_H

#include "commands/compare.h"
#include "commands/positions.h"

enum dump_kind {
  DUMP_INV_FREQ,  /* [pairs] */
  DUMP_COS,       /* [T, pairs] or [T, 2 pairs] */
  DUMP_SIN,       /* the same */
  DUMP_COS_SIN,   /* [T, pairs and pairs], or [T, pairs, 2] */
  DUMP_EMBEDDING, /* [T, d_model] */
  DUMP_ROTATED,   /* [T, head_dim] or [heads, T, head_dim] */
  DUMP_BIAS,      /* [Tq, Tk] or [heads, Tq, Tk] */
  N_DUMP_KINDS
};

/* "inv_freq", "cos", ...; ended by NULL. */
extern const char *const dump_kind_names[];

/* How a table names its pairs: each once, all twice in a row, each twice in a row; cosines, then sines; or both of each
 * pair side by side. */
enum dump_form { FORM_PAIRS, FORM_HALVES, FORM_NEIGHBOURS, FORM_CONCATENATED, FORM_COMPLEX };

/* Leading axes of length 1 are dropped. */
struct dump {
  char *from; /* its name */
  enum dump_kind kind;
  enum dump_form form;
  size_t heads, rows, columns;
  double *data;                     /* [heads][rows][columns] */
  float *in;                        /* DUMP_ROTATED: the rows before, in the same shape */
  int role;                         /* PE_ROLE_QUERY, PE_ROLE_KEY */
  struct positions positions, keys; /* of the rows; DUMP_BIAS: of the columns */
  double seq_len;
};

/* Read file and keys (request->theirs); positions are read by dump_place. */
int dump_read(const struct compare_request *request, struct dump *dump, unsigned sites, struct error *err);
int dump_place(const struct compare_request *request, struct dump *dump, size_t axes, struct error *err);
void dump_free(struct dump *dump);

/* A part of it that shows the frequencies: the rows at the smallest positions but 0, one head. Owns nothing of the
 * whole; to be freed. */
int dump_probe(const struct dump *dump, struct dump *probe, struct error *err);

/* What another program may have done otherwise. All zero: nothing. */
enum cause_frequencies { FREQUENCIES_AS_THEY_ARE, FREQUENCIES_UNSCALED, FREQUENCIES_BY_HEAD };
enum cause_order { ORDER_AS_IT_IS, ORDER_HALVES, ORDER_NEIGHBOURS };

struct cause {
  char name[160];   /* "interleaved layout" */
  char setting[96]; /* KEY=VALUE in the place of the variant's own; "": none */
  double offset;    /* added to positions */
  enum cause_frequencies frequencies;
  bool factor_left_out, factor_twice; /* the attention factor */
  bool pairs_by_head;                 /* (i, i + head_dim/2) where only a part of the head turns */
  bool other_way;                     /* sines negated */
  enum cause_order order;             /* of the channels that come out */
  bool swapped, negated;              /* biases: query and key; the sign */
  enum number_format slopes;          /* biases by slope */
  struct angle_rounding rounding;
};

/* The variant under a cause. */
struct ours {
  struct session *session;
  const struct compare_request *request;
};

/* values [heads][rows][columns] as `dump`. Any error: the cause does not apply to this scheme or tensor. */
int dump_ours(const struct ours *ours, const struct dump *dump, const struct cause *cause, double *values,
              struct error *err);

/* An instance of the variant for the tensor's shape. */
struct instance *dump_instance(const struct ours *ours, const struct dump *dump, const struct cause *cause,
                               struct error *err);

/* How far the two are apart. */
struct match {
  bool identical; /* as float32 */
  bool exact;     /* what one rounding to float32 leaves */
  bool close;     /* what float32 throughout leaves: angles off by 1.2e-7 of the position */
  double largest; /* difference */
  size_t first;   /* element that is off: of the first row, then head, then column */
  double allowed; /* there */
};

/* With any stage rounded, one element in 20 may be off: a value near the middle of two numbers of a format goes to
 * either, by the last bit of how it was computed. */
struct match dump_match(const struct dump *dump, const double *values, bool rounded);

/* Whether the columns of an embedding are those of `values` in another order. */
int dump_same_columns(const struct dump *dump, const double *values, bool *same, struct error *err);

/* Print the causes that explain the tensor, *found of them. */
int dump_explain(const struct ours *ours, const struct dump *dump, size_t *found, struct error *err);

#endif
