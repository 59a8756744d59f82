/* The work of `pe-run vectors`, apart from its command line. */
#ifndef PE_COMMANDS_VECTORS_H
#define PE_COMMANDS_VECTORS_H

#include "commands/scheme_arguments.h"
#include "results/tensors.h"

struct vectors_request {
  struct scheme_arguments scheme;
  unsigned heads, head_dim, d_model; /* d_model 0: heads x head_dim */
  const char *positions;             /* as on the command line */
  double seq_len;                    /* below 0: the largest position plus one */
  double train_length;               /* 0: not known */
  uint64_t seed;
  const char *out; /* FILE.h5 or FILE.json */
};

/* Make the vectors and write them. On any error nothing is written. */
int vectors(struct session *session, const struct vectors_request *request, struct error *err);

/* {"scheme": ..., "parameters": {...}, "tensors": {"out_q": {"shape": [...], "data": [...]}}}: text attributes whose
 * name is "parameters" are JSON already. To be freed; NULL with ERROR_MEMORY. */
char *vectors_json(const struct tensors *tensors, struct error *err);

#endif
