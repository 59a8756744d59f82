/* A scheme from numbers alone: the user's file holds exactly one of
 *
 *     bias       [heads, distances]      s[h](m, n) += bias[h][|m - n|]
 *     embedding  [positions, d_model]    x[m] += embedding[m]
 *     inv_freq   [pairs]                 pair i of q and k is turned by position * inv_freq[i]
 *
 * and the instance acts at that one site; at the other two it changes nothing. See README.md. */
#include <math.h>
#include <pe/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Above 2^53 doubles no longer hold every whole number, so distances would be made up. */
#define POSITION_LIMIT 9007199254740992.0

enum { PARAM_DISTANCE = 0, PARAM_LAYOUT = 1, PARAM_COUNT = 2 };
enum { DISTANCE_SYMMETRIC = 0, DISTANCE_CAUSAL = 1 };
enum { LAYOUT_HALF = 0, LAYOUT_INTERLEAVED = 1 };
enum { TENSOR_BIAS = 0, TENSOR_EMBEDDING = 1, TENSOR_INV_FREQ = 2, TENSOR_COUNT = 3 };

struct pe_instance {
  int given;        /* TENSOR_* */
  int64_t distance; /* DISTANCE_* */
  int64_t layout;   /* LAYOUT_* */
  uint32_t n_heads;
  size_t d_model;
  size_t head_dim;
  pe_dims dims;      /* of the tensor given */
  const float *data; /* bound */
};

static const char *const distance_rules[] = {"symmetric", "causal", NULL};
static const char *const layouts[] = {"half", "interleaved", NULL};

static const pe_param table_params[PARAM_COUNT] = {
    {.key = "distance",
     .doc = "of bias: symmetric |m - n|, or causal m - n, keys ahead of the query getting nothing",
     .type = PE_CHOICE,
     .dflt = {.i = DISTANCE_SYMMETRIC},
     .choices = distance_rules},
    {.key = "layout",
     .doc = "channels that inv_freq turns together: half (i and i + pairs) or interleaved (2i and 2i + 1)",
     .type = PE_CHOICE,
     .dflt = {.i = LAYOUT_HALF},
     .choices = layouts},
};

static const pe_tensor table_tensors[TENSOR_COUNT] = {
    {.name = "bias", .doc = "bias of each head and distance [heads, distances]", .flags = PE_TENSOR_GIVEN},
    {.name = "embedding", .doc = "row added at each position [positions, d_model]", .flags = PE_TENSOR_GIVEN},
    {.name = "inv_freq", .doc = "radians per position of each pair [pairs]", .flags = PE_TENSOR_GIVEN},
};

/* ---- instance ---- */

static pe_status find_given(const pe_shape *shape, int *given, pe_error *err) {
  int count = 0;
  for (int which = 0; which < TENSOR_COUNT; which++) {
    if (shape->given && shape->given[which].rank > 0) {
      *given = which;
      count++;
    }
  }
  if (count != 1) {
    return pe_fail(err, PE_ERR_PARAM, -1, "table takes exactly one of bias, embedding and inv_freq; %d are given",
                   count);
  }
  return PE_OK;
}

static pe_status check_shape(int given, const pe_dims *dims, const pe_shape *shape, pe_error *err) {
  const uint32_t rank = given == TENSOR_INV_FREQ ? 1 : 2;
  if (dims->rank != rank) {
    return pe_fail(err, PE_ERR_SHAPE, given, "%s has %u axes, not the %u of %s", table_tensors[given].name, dims->rank,
                   rank, table_tensors[given].doc);
  }
  if (dims->dim[0] == 0) {
    return pe_fail(err, PE_ERR_SHAPE, given, "%s is empty", table_tensors[given].name);
  }
  if (given == TENSOR_BIAS && (dims->dim[0] != shape->n_heads || dims->dim[1] == 0)) {
    return pe_fail(err, PE_ERR_SHAPE, given, "bias is [%zu, %zu], the model needs [%u heads, distances]", dims->dim[0],
                   dims->dim[1], shape->n_heads);
  }
  if (given == TENSOR_EMBEDDING && (dims->dim[1] != shape->d_model || shape->d_model == 0)) {
    return pe_fail(err, PE_ERR_SHAPE, given, "embedding is [%zu, %zu], the model needs [positions, d_model %u]",
                   dims->dim[0], dims->dim[1], shape->d_model);
  }
  if (given == TENSOR_INV_FREQ && dims->dim[0] > shape->head_dim / 2) {
    return pe_fail(err, PE_ERR_SHAPE, given, "inv_freq has %zu pairs, and head_dim %u holds %u", dims->dim[0],
                   shape->head_dim, shape->head_dim / 2);
  }
  return PE_OK;
}

static pe_status table_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                              pe_error *err) {
  (void)host;
  int given = TENSOR_BIAS;
  pe_status status = find_given(shape, &given, err);
  if (status != PE_OK) {
    return status;
  }
  status = check_shape(given, &shape->given[given], shape, err);
  if (status != PE_OK) {
    return status;
  }
  pe_instance *self = malloc(sizeof *self);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for an instance");
  }
  *self = (pe_instance){.given = given,
                        .distance = values[PARAM_DISTANCE].i,
                        .layout = values[PARAM_LAYOUT].i,
                        .n_heads = shape->n_heads,
                        .d_model = shape->d_model,
                        .head_dim = shape->head_dim,
                        .dims = shape->given[given]};
  *out = self;
  return PE_OK;
}

static void table_destroy(pe_instance *self) {
  free(self);
}

static uint32_t table_instance_traits(const pe_instance *self) {
  switch (self->given) {
  case TENSOR_BIAS:
    return PE_TRAIT_RELATIVE | (self->distance == DISTANCE_CAUSAL ? PE_TRAIT_CAUSAL_ONLY : 0u);
  case TENSOR_INV_FREQ:
    return PE_TRAIT_RELATIVE;
  default:
    return 0;
  }
}

static pe_status table_domain(const pe_instance *self, pe_domain *out) {
  out->min = -POSITION_LIMIT;
  out->max = POSITION_LIMIT;
  if (self->given == TENSOR_BIAS) {
    out->integer_only = 1;
    out->max_distance = (double)(self->dims.dim[1] - 1);
  } else if (self->given == TENSOR_EMBEDDING) {
    out->integer_only = 1;
    out->min = 0.0;
    out->max = (double)(self->dims.dim[0] - 1);
  }
  return PE_OK;
}

static pe_status table_tensor_shape(const pe_instance *self, uint32_t which, pe_dims *out) {
  if (which >= TENSOR_COUNT) {
    return PE_ERR_ARGUMENT;
  }
  *out = (int)which == self->given ? self->dims : (pe_dims){.rank = 0};
  return PE_OK;
}

static pe_status table_tensor_bind(pe_instance *self, const float *const *tensors) {
  if (!tensors[self->given]) {
    return PE_ERR_ARGUMENT;
  }
  self->data = tensors[self->given];
  return PE_OK;
}

/* ---- derived values: what a rotation is made of ---- */

/* Channels of pair i. */
static size_t first_channel(const pe_instance *self, size_t pair) {
  return self->layout == LAYOUT_HALF ? pair : 2 * pair;
}

static size_t second_channel(const pe_instance *self, size_t pair) {
  return self->layout == LAYOUT_HALF ? pair + self->dims.dim[0] : 2 * pair + 1;
}

static uint32_t table_derived_count(const pe_instance *self, double seq_len) {
  (void)seq_len;
  return self->given == TENSOR_INV_FREQ ? 2 : 0;
}

static pe_status table_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                               size_t len, size_t *need) {
  if (which >= table_derived_count(self, seq_len)) {
    return PE_ERR_ARGUMENT;
  }
  const size_t pairs = self->dims.dim[0];
  *need = which == 0 ? pairs : 2 * pairs;
  if (buf && (len < *need || !self->data)) {
    return PE_ERR_ARGUMENT;
  }
  if (which == 0) {
    *out = (pe_derived){
        .name = "inv_freq", .doc = "radians per position, as given", .rank = 1, .dim = {pairs, 1}, .data = buf};
    for (size_t pair = 0; buf && pair < pairs; pair++) {
      buf[pair] = self->data[pair];
    }
  } else {
    *out = (pe_derived){.name = "pairs", .doc = "channels turned together", .rank = 2, .dim = {pairs, 2}, .data = buf};
    for (size_t pair = 0; buf && pair < pairs; pair++) {
      buf[2 * pair] = (double)first_channel(self, pair);
      buf[2 * pair + 1] = (double)second_channel(self, pair);
    }
  }
  return PE_OK;
}

/* ---- positions ---- */

/* min and max bound the positions, whole says that they must be whole numbers. */
static pe_status check_positions(const char *side, const double *pos, size_t n, double min, double max, int whole,
                                 pe_error *err) {
  for (size_t i = 0; i < n; i++) {
    if (!(pos[i] >= min && pos[i] <= max)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)i, "%s position %.17g is not within %.17g to %.17g", side, pos[i],
                     min, max);
    }
    if (whole && pos[i] != floor(pos[i])) {
      return pe_fail(err, PE_ERR_POS_KIND, (int64_t)i,
                     "%s position %.17g is no whole number: the table holds whole ones", side, pos[i]);
    }
  }
  return PE_OK;
}

static pe_status check_bound(const pe_instance *self, pe_error *err) {
  return self->data ? PE_OK
                    : pe_fail(err, PE_ERR_ARGUMENT, -1, "the tensor %s is not bound", table_tensors[self->given].name);
}

/* ---- embedding ---- */

static pe_status check_embed(const pe_instance *self, const pe_rows *rows, pe_error *err) {
  const pe_status status = check_bound(self, err);
  return status == PE_OK ? check_positions("row", rows->pos, rows->n, 0.0, (double)(self->dims.dim[0] - 1), 1, err)
                         : status;
}

static pe_status table_embed_add(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  if (self->given != TENSOR_EMBEDDING || rows->n == 0) {
    return PE_OK;
  }
  const pe_status status = check_embed(self, rows, err);
  if (status != PE_OK) {
    return status;
  }
  for (size_t row = 0; row < rows->n; row++) {
    const float *entry = self->data + (size_t)rows->pos[row] * self->d_model;
    float *out = rows->out + row * rows->out_stride;
    for (size_t channel = 0; channel < self->d_model; channel++) {
      out[channel] += entry[channel];
    }
  }
  return PE_OK;
}

static pe_status embed_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *dtable, pe_error *err) {
  const pe_status status = check_embed(self, x, err);
  if (status != PE_OK || !dtable) {
    return status;
  }
  for (size_t row = 0; row < x->n; row++) {
    const float *in = g->in + row * g->in_stride;
    float *entry = dtable + (size_t)x->pos[row] * self->d_model;
    for (size_t channel = 0; channel < self->d_model; channel++) {
      entry[channel] += in[channel];
    }
  }
  return PE_OK;
}

/* ---- rotation ---- */

static void copy_rows(const pe_instance *self, const pe_rows *rows) {
  for (uint32_t head = 0; head < rows->n_heads; head++) {
    for (size_t row = 0; row < rows->n; row++) {
      const float *in = rows->in + head * rows->in_head_stride + row * rows->in_stride;
      float *out = rows->out + head * rows->out_head_stride + row * rows->out_stride;
      if (out != in) {
        memcpy(out, in, self->head_dim * sizeof *out);
      }
    }
  }
}

/* Turns the pairs of every row; direction -1 turns back. Sine and cosine are taken once for all heads. */
static void turn_rows(const pe_instance *self, const pe_rows *rows, const double *pos, double direction) {
  copy_rows(self, rows);
  for (size_t row = 0; row < rows->n; row++) {
    for (size_t pair = 0; pair < self->dims.dim[0]; pair++) {
      const double angle = pos[row] * self->data[pair];
      const float cosine = (float)cos(angle);
      const float sine = (float)(direction * sin(angle));
      const size_t first = first_channel(self, pair);
      const size_t second = second_channel(self, pair);
      for (uint32_t head = 0; head < rows->n_heads; head++) {
        float *out = rows->out + head * rows->out_head_stride + row * rows->out_stride;
        const float x0 = out[first];
        const float x1 = out[second];
        out[first] = x0 * cosine - x1 * sine;
        out[second] = x0 * sine + x1 * cosine;
      }
    }
  }
}

static pe_status check_turn(const pe_instance *self, const pe_rows *rows, pe_error *err) {
  const pe_status status = check_bound(self, err);
  return status == PE_OK ? check_positions("row", rows->pos, rows->n, -POSITION_LIMIT, POSITION_LIMIT, 0, err) : status;
}

static pe_status table_qk_apply(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)scratch;
  if (self->given != TENSOR_INV_FREQ) {
    copy_rows(self, rows);
    return PE_OK;
  }
  const pe_status status = check_turn(self, rows, err);
  if (status == PE_OK) {
    turn_rows(self, rows, rows->pos, 1.0);
  }
  return status;
}

/* d out0 / d angle = -out1 and d out1 / d angle = out0; the angle is position * inv_freq. */
static double frequency_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, size_t pair) {
  const size_t first = first_channel(self, pair);
  const size_t second = second_channel(self, pair);
  double sum = 0.0;
  for (size_t row = 0; row < x->n; row++) {
    const double angle = x->pos[row] * self->data[pair];
    const double cosine = cos(angle);
    const double sine = sin(angle);
    for (uint32_t head = 0; head < x->n_heads; head++) {
      const float *in = x->in + head * x->in_head_stride + row * x->in_stride;
      const float *gradient = g->in + head * g->in_head_stride + row * g->in_stride;
      const double out0 = in[first] * cosine - in[second] * sine;
      const double out1 = in[first] * sine + in[second] * cosine;
      sum += x->pos[row] * (gradient[second] * out0 - gradient[first] * out1);
    }
  }
  return sum;
}

static pe_status turn_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *dinv_freq,
                          pe_error *err) {
  const pe_status status = check_turn(self, x, err);
  if (status != PE_OK) {
    return status;
  }
  /* Ahead of turn_rows: g->out may be g->in. */
  for (size_t pair = 0; dinv_freq && pair < self->dims.dim[0]; pair++) {
    dinv_freq[pair] += (float)frequency_vjp(self, x, g, pair);
  }
  turn_rows(self, g, x->pos, -1.0);
  return PE_OK;
}

static pe_status table_rows_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw,
                                void *scratch, pe_error *err) {
  (void)scratch;
  if (x->role == PE_ROLE_EMBED) {
    return self->given == TENSOR_EMBEDDING && x->n > 0 ? embed_vjp(self, x, g, dw ? dw[TENSOR_EMBEDDING] : NULL, err)
                                                       : PE_OK;
  }
  if (self->given == TENSOR_INV_FREQ) {
    return turn_vjp(self, x, g, dw ? dw[TENSOR_INV_FREQ] : NULL, err);
  }
  copy_rows(self, g);
  return PE_OK;
}

/* ---- bias ---- */

static double distance_of(const pe_instance *self, double query_minus_key) {
  return self->distance == DISTANCE_SYMMETRIC ? fabs(query_minus_key) : query_minus_key;
}

static pe_status check_tile(const pe_instance *self, const pe_tile *tile, pe_error *err) {
  pe_status status = check_bound(self, err);
  if (status != PE_OK) {
    return status;
  }
  if (tile->head >= self->n_heads) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "head %u of %u", tile->head, self->n_heads);
  }
  status = check_positions("query", tile->pos_q, tile->nq, -POSITION_LIMIT, POSITION_LIMIT, 1, err);
  if (status != PE_OK) {
    return status;
  }
  status = check_positions("key", tile->pos_k, tile->nk, -POSITION_LIMIT, POSITION_LIMIT, 1, err);
  if (status != PE_OK) {
    return status;
  }
  double first_key = tile->pos_k[0];
  double last_key = tile->pos_k[0];
  for (size_t col = 1; col < tile->nk; col++) {
    first_key = fmin(first_key, tile->pos_k[col]);
    last_key = fmax(last_key, tile->pos_k[col]);
  }
  const double longest = (double)(self->dims.dim[1] - 1);
  for (size_t row = 0; row < tile->nq; row++) {
    const double distance =
        fmax(distance_of(self, tile->pos_q[row] - first_key), distance_of(self, tile->pos_q[row] - last_key));
    if (distance > longest) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)row,
                     "query position %.17g has a key at distance %.17g, and the table ends at %.17g", tile->pos_q[row],
                     distance, longest);
    }
  }
  return PE_OK;
}

static pe_status table_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  if (self->given != TENSOR_BIAS || tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, tile, err);
  if (status != PE_OK) {
    return status;
  }
  const float *bias = self->data + tile->head * self->dims.dim[1];
  for (size_t row = 0; row < tile->nq; row++) {
    float *s = tile->s + row * tile->s_stride;
    for (size_t col = 0; col < tile->nk; col++) {
      const double distance = distance_of(self, tile->pos_q[row] - tile->pos_k[col]);
      if (distance >= 0.0) {
        s[col] += bias[(size_t)distance];
      }
    }
  }
  return PE_OK;
}

static pe_status table_bias_vjp(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                                size_t dk_stride, float *const *dw, void *scratch, pe_error *err) {
  (void)dq;
  (void)dq_stride;
  (void)dk;
  (void)dk_stride;
  (void)scratch;
  if (self->given != TENSOR_BIAS || ds->nq == 0 || ds->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, ds, err);
  if (status != PE_OK || !dw || !dw[TENSOR_BIAS]) {
    return status;
  }
  float *dbias = dw[TENSOR_BIAS] + ds->head * self->dims.dim[1];
  for (size_t row = 0; row < ds->nq; row++) {
    const float *s = ds->s + row * ds->s_stride;
    for (size_t col = 0; col < ds->nk; col++) {
      const double distance = distance_of(self, ds->pos_q[row] - ds->pos_k[col]);
      if (distance >= 0.0) {
        dbias[(size_t)distance] += s[col];
      }
    }
  }
  return PE_OK;
}

static const pe_ext_vjp table_vjp = {
    .struct_size = sizeof(pe_ext_vjp), .rows_vjp = table_rows_vjp, .bias_vjp = table_bias_vjp};

static const void *table_extension(const char *id) {
  return strcmp(id, PE_EXT_VJP) == 0 ? &table_vjp : NULL;
}

static const pe_scheme table_scheme = {
    .struct_size = sizeof(pe_scheme),
    .version = 1,
    .id = "table",
    .title = "A table of biases, embeddings or frequencies from a file",
    .reference = "the file's own",
    .sites = PE_SITE_EMBED | PE_SITE_QK | PE_SITE_BIAS,
    .traits = 0,
    .params = table_params,
    .n_params = PARAM_COUNT,
    .param_stride = sizeof(pe_param),
    .tensors = table_tensors,
    .n_tensors = TENSOR_COUNT,
    .tensor_stride = sizeof(pe_tensor),
    .create = table_create,
    .destroy = table_destroy,
    .domain = table_domain,
    .tensor_shape = table_tensor_shape,
    .tensor_bind = table_tensor_bind,
    .derived_count = table_derived_count,
    .derived = table_derived,
    .embed_add = table_embed_add,
    .qk_apply = table_qk_apply,
    .bias_add = table_bias_add,
    .extension = table_extension,
    .instance_traits = table_instance_traits,
};

static const pe_scheme *const table_schemes[] = {&table_scheme};

const pe_entry pe_plugin_entry = {
    .magic = PE_ABI_MAGIC,
    .struct_size = sizeof(pe_entry),
    .abi_major = PE_ABI_MAJOR,
    .abi_minor = PE_ABI_MINOR,
    .name = "table",
    .version = "1",
    .schemes = table_schemes,
    .n_schemes = 1,
};
