/* Options that give a scheme a model to be made for. */
#ifndef PE_COMMANDS_SHAPE_OPTIONS_H
#define PE_COMMANDS_SHAPE_OPTIONS_H

#include "pe/plugin.h"

#include <argp.h>

struct shape_options {
  unsigned heads, head_dim, d_model; /* d_model 0: heads * head_dim */
  double length;                     /* 0: the training length */
  double train_length;
};

/* 8 heads of 64 channels, trained on 512 tokens. */
extern const struct shape_options shape_defaults;

/* argp child: --heads, --head-dim, --d-model, --length, --train-length. Its input is a struct shape_options. */
extern const struct argp shape_argp;

pe_shape shape_of_options(const struct shape_options *options);
double shape_length(const struct shape_options *options);

#endif
