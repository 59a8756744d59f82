#include "train/encoding.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const struct instance *stack_layer(const struct stack *stack, size_t layer) {
  return stack->every && (layer + 1) % stack->every == 0 ? stack->other : stack->scheme;
}

const double *encoding_positions(const struct encoding *encoding, const struct stack *stack, size_t layer,
                                 double *seq_len) {
  bool other = stack_layer(stack, layer) != stack->scheme;
  *seq_len = other ? encoding->other_seq_len : encoding->seq_len;
  return other ? encoding->other_mapped : encoding->mapped;
}

/* Whether a layer's bias is the same for every sequence. */
static bool has_fixed_bias(const struct instance *scheme) {
  return (instance_sites(scheme) & PE_SITE_BIAS) && !(instance_traits(scheme) & PE_TRAIT_CONTENT);
}

static int refuse_axes(const struct instance *scheme, struct error *err) {
  unsigned axes = instance_domain(scheme).pos_axes;
  return axes == 1 ? 0
                   : error_set(err, ERROR_SCHEME_REFUSED,
                               "%s: positions have %u coordinates here; the tokens of a text have one",
                               instance_scheme(scheme)->info.id, axes);
}

int encoding_init(struct encoding *encoding, const struct decoder_shape *shape, const struct stack *stack,
                  size_t longest, bool with_bias, struct error *err) {
  *encoding = (struct encoding){0};
  int status = refuse_axes(stack->scheme, err);
  status = status || !stack->other ? status : refuse_axes(stack->other, err);
  if (status) {
    return status;
  }
  for (size_t layer = 0; layer < shape->layers; layer++) {
    encoding->has_bias = encoding->has_bias || (with_bias && has_fixed_bias(stack_layer(stack, layer)));
  }
  encoding->mapped = memory_new(longest, sizeof(double), "positions", err);
  if (encoding->mapped && stack->other) {
    encoding->other_mapped = memory_new(longest, sizeof(double), "positions", err);
  }
  bool failed = !encoding->mapped || (stack->other && !encoding->other_mapped);
  if (!failed && (instance_sites(stack->scheme) & PE_SITE_EMBED)) {
    encoding->rows = memory_new_3d(longest, shape->d_model, 1, sizeof(float), "encodings", err);
    failed = !encoding->rows;
  }
  if (!failed && encoding->has_bias) {
    encoding->bias = memory_new_3d(shape->layers * shape->heads, longest, longest, sizeof(float), "biases", err);
    failed = !encoding->bias;
  }
  if (!failed && with_bias) {
    encoding->layers = shape->layers;
    encoding->turns = memory_new(shape->layers, sizeof *encoding->turns, "rotations", err);
    failed = !encoding->turns;
  }
  if (failed) {
    encoding_destroy(encoding);
    return ERROR_MEMORY;
  }
  return 0;
}

void encoding_destroy(struct encoding *encoding) {
  for (size_t layer = 0; encoding->turns && layer < encoding->layers; layer++) {
    turns_destroy(&encoding->turns[layer]);
  }
  free(encoding->turns);
  free(encoding->mapped);
  free(encoding->other_mapped);
  free(encoding->rows);
  free(encoding->bias);
  *encoding = (struct encoding){0};
}

static int map_positions(struct encoding *encoding, const struct stack *stack, struct error *err) {
  size_t n = encoding->length;
  double *positions = memory_new(n, sizeof *positions, "positions", err);
  if (!positions) {
    return ERROR_MEMORY;
  }
  for (size_t i = 0; i < n; i++) {
    positions[i] = (double)i;
  }
  int status = instance_map_positions(stack->scheme, n, positions, NULL, encoding->mapped, &encoding->seq_len, err);
  if (!status && stack->other) {
    status =
        instance_map_positions(stack->other, n, positions, NULL, encoding->other_mapped, &encoding->other_seq_len, err);
  }
  free(positions);
  return status;
}

/* Tables of the rotations; they hold as long as the length stays. */
static int fill_turns(struct encoding *encoding, const struct decoder_shape *shape, const struct stack *stack,
                      struct error *err) {
  int status = 0;
  for (size_t layer = 0; !status && layer < encoding->layers; layer++) {
    double seq_len;
    const double *mapped = encoding_positions(encoding, stack, layer, &seq_len);
    turns_destroy(&encoding->turns[layer]);
    status = turns_init(&encoding->turns[layer], stack_layer(stack, layer), (unsigned)layer, shape->heads,
                        shape->d_model / shape->heads, encoding->length, mapped, seq_len, err);
  }
  encoding->turned = status ? 0 : encoding->length;
  return status;
}

struct fill {
  struct encoding *encoding;
  const struct decoder_shape *shape;
  const struct stack *stack;
};

/* The bias of one layer and head. */
static int fill_bias(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  const struct fill *fill = context;
  struct encoding *encoding = fill->encoding;
  size_t layer = unit / fill->shape->heads, n = encoding->length;
  const struct instance *scheme = stack_layer(fill->stack, layer);
  float *s = encoding->bias + unit * n * n;
  memset(s, 0, n * n * sizeof *s);
  if (!has_fixed_bias(scheme)) {
    return 0;
  }
  double seq_len;
  const double *mapped = encoding_positions(encoding, fill->stack, layer, &seq_len);
  struct bias_tile tile = {.layer = (unsigned)layer,
                           .head = (unsigned)(unit % fill->shape->heads),
                           .seq_len = seq_len,
                           .nq = n,
                           .nk = n,
                           .mapped_q = mapped,
                           .mapped_k = mapped,
                           .s = s,
                           .s_stride = n};
  return instance_bias(scheme, &tile, err);
}

int encoding_fill(struct encoding *encoding, const struct decoder_shape *shape, const struct stack *stack,
                  size_t length, struct pool *pool, struct error *err) {
  encoding->length = length;
  int status = map_positions(encoding, stack, err);
  if (!status && encoding->rows) {
    memset(encoding->rows, 0, length * shape->d_model * sizeof *encoding->rows);
    status = instance_embed(stack->scheme, length, encoding->mapped, NULL, encoding->seq_len, encoding->rows,
                            shape->d_model, err);
  }
  if (!status && encoding->turns && encoding->turned != length) {
    status = fill_turns(encoding, shape, stack, err);
  }
  if (!status && encoding->bias) {
    struct fill fill = {encoding, shape, stack};
    status = pool_run(pool, shape->layers * shape->heads, fill_bias, &fill, err);
  }
  return status;
}
