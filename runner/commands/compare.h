/* The work of `pe-run compare`, apart from its command line. */
#ifndef PE_COMMANDS_COMPARE_H
#define PE_COMMANDS_COMPARE_H

#include "commands/scheme_arguments.h"
#include "experiments/angles.h"
#include "results/show_table.h"

struct compare_request {
  struct scheme_arguments ours, theirs; /* theirs.id may be a file: then its settings are keys of compare_file */
  unsigned heads, head_dim, d_model;    /* 0: as the file says, else 4, 64, heads x head_dim */
  const char *positions;                /* as on the command line; NULL: 0:128, of a file 0:T */
  double seq_len;                       /* below 0: the largest position plus one */
  double train_length;                  /* 0: not known */
  uint64_t seed;
  struct angle_rounding rounding; /* of ours */
  struct table_style style;
};

/* How two tensors stand to each other. */
enum agreement {
  AGREE_IDENTICAL, /* every float32 number */
  AGREE_ROUNDING,  /* what float32 leaves */
  AGREE_ORDER,     /* up to the order of channels */
  AGREE_NOT
};

/* Two variants: derived values, vectors, scores by distance. Prints its tables; 0 or an error. */
int compare_variants(struct session *session, const struct compare_request *request, enum agreement *agreement,
                     struct error *err);

/* A variant and a tensor of someone else's (FILE.h5:/dataset, FILE.npy), with a guess at the cause where they part. */
int compare_file(struct session *session, const struct compare_request *request, enum agreement *agreement,
                 struct error *err);

/* Whether a word of the command line names a tensor in a file. */
bool compare_is_file(const char *word);

#endif
