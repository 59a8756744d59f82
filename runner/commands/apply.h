/* The work of `pe-run apply`, apart from its command line. */
#ifndef PE_COMMANDS_APPLY_H
#define PE_COMMANDS_APPLY_H

#include "commands/scheme_arguments.h"

#include <stdbool.h>

struct apply_request {
  struct scheme_arguments scheme;
  int site;                         /* PE_SITE_EMBED, _QK or _BIAS */
  const char *positions, *in, *out; /* as on the command line */
  int role;                         /* PE_ROLE_QUERY, PE_ROLE_KEY; PE_ROLE_EMBED: not said */
  unsigned heads;                   /* of biases */
  const char *queries, *keys;
  double seq_len; /* below 0: the largest position plus one */
  bool derived;
  double train_length; /* 0: not known */
  unsigned layer;
  uint64_t seed;
};

/* Read, apply, write. On any error nothing is written. */
int apply(struct session *session, const struct apply_request *request, struct error *err);

#endif
