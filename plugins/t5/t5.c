/* T5's relative position bias (Raffel et al. 2020): one learned number per bucket of distances and head.
 *
 *     bias[h](m, n) = table[bucket(m, n)][h]        m position of the query, n of the key
 *
 * Distances below max_exact = B/2 have a bucket each, the rest up to max_distance is cut logarithmically:
 *
 *     bucket(d) = min(B - 1, max_exact + floor((B - max_exact) ln(d / max_exact) / ln(max_distance / max_exact)))
 *
 * B is the number of buckets of one direction. The first distance of every bucket is found once, in exact integers: a
 * logarithm can miss a boundary that is a whole number by one, and implementations differ there. See README.md. */
#include <math.h>
#include <pe/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Above 2^53 doubles no longer hold every whole number, so distances would be made up. */
#define POSITION_LIMIT 9007199254740992.0
#define MAX_BUCKETS 1024

enum { PARAM_NUM_BUCKETS = 0, PARAM_MAX_DISTANCE = 1, PARAM_DIRECTION = 2, PARAM_SCORE_SCALE = 3, PARAM_COUNT = 4 };
enum { DIRECTION_BIDIRECTIONAL = 0, DIRECTION_CAUSAL = 1, DIRECTION_SYMMETRIC = 2 };
enum { SCALE_ONE = 0, SCALE_MODEL = 1 };

struct pe_instance {
  int64_t direction;   /* DIRECTION_* */
  int64_t score_scale; /* SCALE_* */
  uint32_t n_heads;
  size_t num_buckets; /* rows of the table */
  size_t per_side;    /* buckets of one direction, B above */
  double train_len;
  const float *table; /* [num_buckets][n_heads], bound */
  double edges[];     /* [per_side] first distance of each bucket; equal ones where a bucket is empty */
};

static const char *const directions[] = {"bidirectional", "causal", "symmetric", NULL};
static const char *const score_scales[] = {"one", "model", NULL};

static const pe_param t5_params[PARAM_COUNT] = {
    {.key = "num_buckets",
     .doc = "buckets in all (relative_attention_num_buckets)",
     .type = PE_INT,
     .min = 2,
     .max = MAX_BUCKETS,
     .dflt = {.i = 32, .r = 32.0}},
    {.key = "max_distance",
     .doc = "distance from which the last bucket serves (relative_attention_max_distance)",
     .type = PE_INT,
     .min = 2,
     .max = 2147483647.0,
     .dflt = {.i = 128, .r = 128.0}},
    {.key = "direction",
     .doc =
         "bidirectional: half of the buckets for keys ahead; causal: keys ahead count as distance 0; symmetric: |m-n|",
     .type = PE_CHOICE,
     .dflt = {.i = DIRECTION_BIDIRECTIONAL},
     .choices = directions},
    {.key = "score_scale",
     .doc = "one: scores are q.k, as in T5; model: the model's own scale",
     .type = PE_CHOICE,
     .dflt = {.i = SCALE_ONE},
     .choices = score_scales},
};

static const pe_tensor t5_tensors[1] = {
    {.name = "table",
     .doc = "bias of each bucket and head [num_buckets, heads]; bidirectional: buckets of keys ahead come second",
     .init = PE_INIT_NORMAL,
     .flags = PE_TENSOR_PER_SQRT_DMODEL,
     .init_a = 0.0,
     .init_b = 1.0},
};

/* ---- bucket edges in exact integers ---- */

/* A natural number, least significant word first. 512 factors below 2^31, the most that the limits allow, fit. */
typedef struct big_number {
  size_t n;
  uint32_t word[512];
} big_number;

static void big_multiply(big_number *x, uint32_t factor) {
  uint64_t carry = 0;
  for (size_t i = 0; i < x->n; i++) {
    carry += (uint64_t)x->word[i] * factor;
    x->word[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry) {
    x->word[x->n++] = (uint32_t)carry;
  }
}

/* x = a^times_a * b^times_b, for a, b > 0. */
static void big_set_powers(big_number *x, uint32_t a, size_t times_a, uint32_t b, size_t times_b) {
  x->n = 1;
  x->word[0] = 1;
  for (size_t i = 0; i < times_a; i++) {
    big_multiply(x, a);
  }
  for (size_t i = 0; i < times_b; i++) {
    big_multiply(x, b);
  }
}

static int big_at_least(const big_number *x, const big_number *y) {
  if (x->n != y->n) {
    return x->n > y->n;
  }
  for (size_t i = x->n; i-- > 0;) {
    if (x->word[i] != y->word[i]) {
      return x->word[i] > y->word[i];
    }
  }
  return 1;
}

/* Whether distance lies in the k-th logarithmic bucket or beyond:
 *     n ln(d / e) / ln(D / e) >= k   is   d^n >= D^k e^(n-k)
 * with n logarithmic buckets, e = max_exact, D = max_distance, 0 < k < n. */
static int reaches_bucket(uint32_t distance, size_t k, size_t n, uint32_t max_exact, uint32_t max_distance) {
  big_number left;
  big_number right;
  big_set_powers(&left, distance, n, 1, 0);
  big_set_powers(&right, max_distance, k, max_exact, n - k);
  return big_at_least(&left, &right);
}

/* First distance of the k-th logarithmic bucket. The floating-point guess only saves steps. */
static uint32_t first_distance(size_t k, size_t n, uint32_t max_exact, uint32_t max_distance) {
  const double ratio = (double)max_distance / (double)max_exact;
  uint32_t distance = (uint32_t)(max_exact * pow(ratio, (double)k / (double)n));
  while (distance > max_exact && reaches_bucket(distance - 1, k, n, max_exact, max_distance)) {
    distance--;
  }
  while (!reaches_bucket(distance, k, n, max_exact, max_distance)) {
    distance++;
  }
  return distance;
}

static void fill_edges(double *edges, size_t per_side, uint32_t max_distance) {
  const size_t max_exact = per_side / 2;
  const size_t n = per_side - max_exact;
  for (size_t bucket = 0; bucket <= max_exact; bucket++) {
    edges[bucket] = (double)bucket;
  }
  for (size_t k = 1; k < n; k++) {
    edges[max_exact + k] = first_distance(k, n, (uint32_t)max_exact, max_distance);
  }
}

/* The last bucket that begins at or before a whole distance >= 0. */
static size_t bucket_of_distance(const pe_instance *self, double distance) {
  size_t low = 0;
  size_t high = self->per_side;
  if (distance < (double)(self->per_side / 2)) {
    return (size_t)distance;
  }
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (self->edges[middle] <= distance) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Row of the table for the key at key_minus_query. */
static size_t bucket_of(const pe_instance *self, double key_minus_query) {
  if (self->direction == DIRECTION_CAUSAL) {
    return key_minus_query < 0.0 ? bucket_of_distance(self, -key_minus_query) : 0;
  }
  const size_t ahead = self->direction == DIRECTION_BIDIRECTIONAL && key_minus_query > 0.0 ? self->per_side : 0;
  return ahead + bucket_of_distance(self, fabs(key_minus_query));
}

/* ---- instance ---- */

static pe_status t5_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                           pe_error *err) {
  (void)host;
  const size_t num_buckets = (size_t)values[PARAM_NUM_BUCKETS].i;
  const uint32_t max_distance = (uint32_t)values[PARAM_MAX_DISTANCE].i;
  const int64_t direction = values[PARAM_DIRECTION].i;
  if (direction == DIRECTION_BIDIRECTIONAL && (num_buckets % 2 != 0 || num_buckets < 4)) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_NUM_BUCKETS,
                   "num_buckets %zu does not divide into two directions of 2 or more buckets", num_buckets);
  }
  const size_t per_side = direction == DIRECTION_BIDIRECTIONAL ? num_buckets / 2 : num_buckets;
  if (max_distance <= per_side / 2) {
    return pe_fail(err, PE_ERR_PARAM, PARAM_MAX_DISTANCE,
                   "max_distance %u must be above %zu, the distances that num_buckets %zu gives a bucket each",
                   max_distance, per_side / 2, num_buckets);
  }
  pe_instance *self = malloc(sizeof *self + per_side * sizeof *self->edges);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu buckets", per_side);
  }
  self->direction = direction;
  self->score_scale = values[PARAM_SCORE_SCALE].i;
  self->n_heads = shape->n_heads;
  self->num_buckets = num_buckets;
  self->per_side = per_side;
  self->train_len = shape->train_len;
  self->table = NULL;
  fill_edges(self->edges, per_side, max_distance);
  *out = self;
  return PE_OK;
}

static void t5_destroy(pe_instance *self) {
  free(self);
}

static uint32_t t5_instance_traits(const pe_instance *self) {
  return PE_TRAIT_RELATIVE | (self->direction == DIRECTION_CAUSAL ? PE_TRAIT_CAUSAL_ONLY : 0u);
}

static pe_status t5_domain(const pe_instance *self, pe_domain *out) {
  out->integer_only = 1;
  out->min = -POSITION_LIMIT;
  out->max = POSITION_LIMIT;
  if (self->train_len >= 1.0) {
    /* Training sets the bucket of its longest distance, and with it every distance that shares this bucket. */
    const size_t last = bucket_of_distance(self, floor(self->train_len - 1.0));
    out->trained_max = last + 1 < self->per_side ? self->edges[last + 1] - 1.0 : INFINITY;
  }
  return PE_OK;
}

static pe_status t5_tensor_shape(const pe_instance *self, uint32_t which, pe_dims *out) {
  if (which != 0) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_dims){.rank = 2, .dim = {self->num_buckets, self->n_heads}};
  return PE_OK;
}

static pe_status t5_tensor_bind(pe_instance *self, const float *const *tensors) {
  if (!tensors[0]) {
    return PE_ERR_ARGUMENT;
  }
  self->table = tensors[0];
  return PE_OK;
}

static uint32_t t5_derived_count(const pe_instance *self, double seq_len) {
  (void)self;
  (void)seq_len;
  return 1;
}

static pe_status t5_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                            size_t len, size_t *need) {
  (void)seq_len;
  if (which != 0) {
    return PE_ERR_ARGUMENT;
  }
  *need = self->per_side;
  if (buf && len < *need) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_derived){.name = "bucket_edges",
                      .doc = "first distance of each bucket of one direction",
                      .rank = 1,
                      .dim = {self->per_side, 1},
                      .data = buf};
  if (buf) {
    memcpy(buf, self->edges, self->per_side * sizeof *buf);
  }
  return PE_OK;
}

static double t5_score_scale(const pe_instance *self, double dflt) {
  return self->score_scale == SCALE_ONE ? 1.0 : dflt;
}

/* Gradients are summed over a tile in double, per bucket. */
static size_t t5_scratch_bytes(const pe_instance *self, size_t max_q, size_t max_k) {
  (void)max_q;
  (void)max_k;
  return self->num_buckets * sizeof(double);
}

/* ---- bias ---- */

static pe_status check_positions(const char *side, const double *pos, size_t n, pe_error *err) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(pos[i]) <= POSITION_LIMIT)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)i, "%s position %.17g is not within -2^53 to 2^53", side, pos[i]);
    }
    if (pos[i] != floor(pos[i])) {
      return pe_fail(err, PE_ERR_POS_KIND, (int64_t)i, "%s position %.17g is no whole number: buckets hold whole ones",
                     side, pos[i]);
    }
  }
  return PE_OK;
}

static pe_status check_tile(const pe_instance *self, const pe_tile *tile, pe_error *err) {
  if (!self->table) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "the tensor table is not bound");
  }
  if (tile->head >= self->n_heads) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "head %u of %u", tile->head, self->n_heads);
  }
  const pe_status status = check_positions("query", tile->pos_q, tile->nq, err);
  return status == PE_OK ? check_positions("key", tile->pos_k, tile->nk, err) : status;
}

static pe_status t5_bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)scratch;
  if (tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, tile, err);
  if (status != PE_OK) {
    return status;
  }
  const float *column = self->table + tile->head;
  for (size_t row = 0; row < tile->nq; row++) {
    float *s = tile->s + row * tile->s_stride;
    for (size_t col = 0; col < tile->nk; col++) {
      s[col] += column[bucket_of(self, tile->pos_k[col] - tile->pos_q[row]) * self->n_heads];
    }
  }
  return PE_OK;
}

/* A bucket's gradient is the sum over the elements that read it. */
static pe_status t5_bias_vjp(const pe_instance *self, const pe_tile *ds, float *dq, size_t dq_stride, float *dk,
                             size_t dk_stride, float *const *dw, void *scratch, pe_error *err) {
  (void)dq;
  (void)dq_stride;
  (void)dk;
  (void)dk_stride;
  if (ds->nq == 0 || ds->nk == 0) {
    return PE_OK;
  }
  const pe_status status = check_tile(self, ds, err);
  if (status != PE_OK) {
    return status;
  }
  if (!dw || !dw[0]) {
    return PE_OK;
  }
  double *sums = scratch;
  for (size_t bucket = 0; bucket < self->num_buckets; bucket++) {
    sums[bucket] = 0.0;
  }
  for (size_t row = 0; row < ds->nq; row++) {
    const float *s = ds->s + row * ds->s_stride;
    for (size_t col = 0; col < ds->nk; col++) {
      sums[bucket_of(self, ds->pos_k[col] - ds->pos_q[row])] += s[col];
    }
  }
  for (size_t bucket = 0; bucket < self->num_buckets; bucket++) {
    dw[0][bucket * self->n_heads + ds->head] += (float)sums[bucket];
  }
  return PE_OK;
}

static const pe_ext_vjp t5_vjp = {.struct_size = sizeof(pe_ext_vjp), .bias_vjp = t5_bias_vjp};

static const void *t5_extension(const char *id) {
  return strcmp(id, PE_EXT_VJP) == 0 ? &t5_vjp : NULL;
}

static const pe_scheme t5_scheme = {
    .struct_size = sizeof(pe_scheme),
    .version = 1,
    .id = "t5",
    .title = "T5 relative position bias in buckets",
    .reference = "Raffel et al.: Exploring the Limits of Transfer Learning, JMLR 2020, arXiv:1910.10683",
    .sites = PE_SITE_BIAS,
    .traits = PE_TRAIT_RELATIVE,
    .params = t5_params,
    .n_params = PARAM_COUNT,
    .param_stride = sizeof(pe_param),
    .tensors = t5_tensors,
    .n_tensors = 1,
    .tensor_stride = sizeof(pe_tensor),
    .create = t5_create,
    .destroy = t5_destroy,
    .domain = t5_domain,
    .tensor_shape = t5_tensor_shape,
    .tensor_bind = t5_tensor_bind,
    .derived_count = t5_derived_count,
    .derived = t5_derived,
    .scratch_bytes = t5_scratch_bytes,
    .score_scale = t5_score_scale,
    .bias_add = t5_bias_add,
    .extension = t5_extension,
    .instance_traits = t5_instance_traits,
};

static const pe_scheme *const t5_schemes[] = {&t5_scheme};

const pe_entry pe_plugin_entry = {
    .magic = PE_ABI_MAGIC,
    .struct_size = sizeof(pe_entry),
    .abi_major = PE_ABI_MAJOR,
    .abi_minor = PE_ABI_MINOR,
    .name = "t5",
    .version = "1",
    .schemes = t5_schemes,
    .n_schemes = 1,
};
