#include "commands/shape_options.h"

#include <stdlib.h>

enum { OPTION_HEADS = 0x300, OPTION_HEAD_DIM, OPTION_D_MODEL, OPTION_LENGTH, OPTION_TRAIN_LENGTH };

const struct shape_options shape_defaults = {.heads = 8, .head_dim = 64, .train_length = 512};

static const struct argp_option options[] = {
    {"heads", OPTION_HEADS, "N", 0, "query heads of the model (default 8)", 2},
    {"head-dim", OPTION_HEAD_DIM, "N", 0, "width of a query or key row (default 64)", 2},
    {"d-model", OPTION_D_MODEL, "N", 0, "width of the input (default heads x head-dim)", 2},
    {"length", OPTION_LENGTH, "N", 0, "sequence length (default: the training length)", 2},
    {"train-length", OPTION_TRAIN_LENGTH, "N", 0, "training length (default 512)", 2},
    {0}};

static unsigned whole_number(struct argp_state *state, const char *option, const char *text) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (*end || *text == '-' || n < 1 || n > (1u << 24)) {
    argp_error(state, "--%s: '%s' is not a whole number from 1 to %u", option, text, 1u << 24);
  }
  return (unsigned)n;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct shape_options *shape = state->input;
  switch (key) {
  case OPTION_HEADS:
    shape->heads = whole_number(state, "heads", argument);
    return 0;
  case OPTION_HEAD_DIM:
    shape->head_dim = whole_number(state, "head-dim", argument);
    return 0;
  case OPTION_D_MODEL:
    shape->d_model = whole_number(state, "d-model", argument);
    return 0;
  case OPTION_LENGTH:
    shape->length = whole_number(state, "length", argument);
    return 0;
  case OPTION_TRAIN_LENGTH:
    shape->train_length = whole_number(state, "train-length", argument);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

const struct argp shape_argp = {.options = options, .parser = parse};

pe_shape shape_of_options(const struct shape_options *shape) {
  return (pe_shape){.struct_size = sizeof(pe_shape),
                    .n_layers = 1,
                    .n_heads = shape->heads,
                    .n_kv_heads = shape->heads,
                    .d_model = shape->d_model ? shape->d_model : shape->heads * shape->head_dim,
                    .head_dim = shape->head_dim,
                    .train_len = shape->train_length};
}

double shape_length(const struct shape_options *shape) {
  return shape->length > 0 ? shape->length : shape->train_length;
}
