/* Rotary positions: each pair of channels of a query or key is turned by an angle that grows with the position, so that
 * the product of a query at m and a key at n depends on m - n.
 *
 *   y_a = x_a cos(p w_i) - x_b sin(p w_i)        w_i = base^(-2i/d), i = 0 .. d/2-1, d the rotary width
 *   y_b = x_a sin(p w_i) + x_b cos(p w_i)        (a, b) = (i, i + d/2) half, (2i, 2i+1) interleaved
 *
 * Su et al. 2021, "RoFormer", arXiv:2104.09864, section 3.2. Channels from d on pass through. The scalings are in
 * rope_scaling.c, the rules for the parameters in rope_parameters.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pe/plugin.h>

#include "rope_parameters.h"
#include "rope_scaling.h"

enum {
  DERIVED_INV_FREQ,
  DERIVED_INV_FREQ_UNSCALED,
  DERIVED_PAIRS,
  DERIVED_ATTENTION_FACTOR,
  DERIVED_SOFTMAX_SCALE_MULTIPLIER,
  DERIVED_LOGIT_MULTIPLIER,
  N_DERIVED
};

/* Sines are taken for this many rows, then every head turns them: the sines stay in the first cache, and memory is read
 * in runs of whole rows. */
enum { BLOCK_ROWS = 32 };

/* cos and sin of a whole position p = NEAR * a + b come from those of NEAR * a and of b, which an instance keeps: eight
 * times as fast as taking them anew, and as exact as the product p * w_i itself. */
enum { NEAR = 16 };

/* Beyond 2^53 neighbouring whole positions are the same double, so an encoding could not tell them apart. */
static const double largest_position = 9007199254740992.0;

struct pe_instance {
  rope_scaling scaling; /* its lists point into `numbers` */
  uint32_t n_layers, n_heads, n_kv_heads;
  size_t head_dim;
  int interleaved;
  const double *inv_freq; /* [n_pairs], in `numbers`; where the frequencies depend on the length, unused */
  const double *near; /* [NEAR][2][n_pairs], in `numbers`: cos and sin at positions 0 .. NEAR - 1; unused there, too */
  double numbers[];   /* [3 + 2 NEAR][n_pairs]: inv_freq, short_factor, long_factor, near */
};

/* both [2][n] = cos and sin of position * inv_freq */
static void cosines_and_sines(double position, const double *inv_freq, size_t n, double *both) {
  for (size_t i = 0; i < n; i++) {
    double angle = position * inv_freq[i];
    both[i] = cos(angle);
    both[n + i] = sin(angle);
  }
}

static pe_status rope_create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                             pe_error *err) {
  rope_scaling scaling;
  pe_status status = rope_settle(host, shape, values, &scaling, err);
  if (status != PE_OK) {
    return status;
  }
  size_t n = scaling.n_pairs;
  pe_instance *self = malloc(sizeof *self + (3 + 2 * NEAR) * n * sizeof self->numbers[0]);
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu frequencies", n);
  }
  *self = (pe_instance){.scaling = scaling,
                        .n_layers = shape->n_layers,
                        .n_heads = shape->n_heads,
                        .n_kv_heads = shape->n_kv_heads,
                        .head_dim = shape->head_dim,
                        .interleaved = values[ROPE_LAYOUT].i == ROPE_LAYOUT_INTERLEAVED,
                        .inv_freq = self->numbers,
                        .near = self->numbers + 3 * n};
  if (scaling.kind == ROPE_SCALING_LONGROPE) {
    memcpy(self->numbers + n, scaling.short_factor, n * sizeof *self->numbers);
    memcpy(self->numbers + 2 * n, scaling.long_factor, n * sizeof *self->numbers);
    self->scaling.short_factor = self->numbers + n;
    self->scaling.long_factor = self->numbers + 2 * n;
  }
  if (!rope_depends_on_length(&scaling)) {
    rope_inv_freq(&self->scaling, 0, self->numbers);
    for (size_t b = 0; b < NEAR; b++) {
      cosines_and_sines((double)b, self->inv_freq, n, self->numbers + (3 + 2 * b) * n);
    }
  }
  *out = self;
  return PE_OK;
}

static void rope_destroy(pe_instance *self) {
  free(self);
}

static pe_status rope_domain(const pe_instance *self, pe_domain *out) {
  (void)self;
  out->min = -largest_position;
  out->max = largest_position;
  return PE_OK;
}

static double rope_score_scale(const pe_instance *self, double dflt) {
  return dflt * self->scaling.softmax_scale_multiplier;
}

static size_t first_channel(const pe_instance *self, size_t pair) {
  return self->interleaved ? 2 * pair : pair;
}

static size_t second_channel(const pe_instance *self, size_t pair) {
  return self->interleaved ? 2 * pair + 1 : pair + self->scaling.n_pairs;
}

static uint32_t rope_derived_count(const pe_instance *self, double seq_len) {
  (void)self;
  (void)seq_len;
  return N_DERIVED;
}

static pe_status rope_derived(const pe_instance *self, double seq_len, uint32_t which, pe_derived *out, double *buf,
                              size_t len, size_t *need) {
  static const struct {
    const char *name, *doc;
    uint32_t rank;
  } known[N_DERIVED] = {
      [DERIVED_INV_FREQ] = {"inv_freq", "radians per position, after scaling", 1},
      [DERIVED_INV_FREQ_UNSCALED] = {"inv_freq_unscaled", "radians per position, before scaling", 1},
      [DERIVED_PAIRS] = {"pairs", "channels turned together", 2},
      [DERIVED_ATTENTION_FACTOR] = {"attention_factor", "multiplies cos and sin", 1},
      [DERIVED_SOFTMAX_SCALE_MULTIPLIER] = {"softmax_scale_multiplier", "multiplies the score scale", 1},
      [DERIVED_LOGIT_MULTIPLIER] = {"logit_multiplier", "attention_factor^2 softmax_scale_multiplier", 1}};
  if (which >= N_DERIVED || (rope_depends_on_length(&self->scaling) && !isfinite(seq_len))) {
    return PE_ERR_ARGUMENT;
  }
  const rope_scaling *scaling = &self->scaling;
  size_t rows = which <= DERIVED_PAIRS ? scaling->n_pairs : 1;
  size_t columns = which == DERIVED_PAIRS ? 2 : 1;
  *need = rows * columns;
  if (buf && len < *need) {
    return PE_ERR_ARGUMENT;
  }
  *out = (pe_derived){.name = known[which].name,
                      .doc = known[which].doc,
                      .rank = known[which].rank,
                      .dim = {rows, columns},
                      .data = buf};
  if (!buf) {
    return PE_OK;
  }
  double factor = scaling->attention_factor;
  switch (which) {
  case DERIVED_INV_FREQ:
    rope_inv_freq(scaling, seq_len, buf);
    break;
  case DERIVED_INV_FREQ_UNSCALED:
    rope_inv_freq_unscaled(scaling, buf);
    break;
  case DERIVED_PAIRS:
    for (size_t i = 0; i < scaling->n_pairs; i++) {
      buf[2 * i] = (double)first_channel(self, i);
      buf[2 * i + 1] = (double)second_channel(self, i);
    }
    break;
  case DERIVED_ATTENTION_FACTOR:
    buf[0] = factor;
    break;
  case DERIVED_SOFTMAX_SCALE_MULTIPLIER:
    buf[0] = scaling->softmax_scale_multiplier;
    break;
  default:
    buf[0] = factor * factor * scaling->softmax_scale_multiplier;
    break;
  }
  return PE_OK;
}

/* Scratch of one call, in this order: [n_pairs] frequencies for its length; [2][n_pairs] cosines and sines of the last
 * multiple of NEAR, then of a row; [BLOCK_ROWS][n_turned] cosines, then sines, of a block of rows. */
static size_t rope_scratch_bytes(const pe_instance *self, size_t max_q, size_t max_k) {
  (void)max_q;
  (void)max_k;
  return self->scaling.n_pairs * (5 * sizeof(double) + 2 * BLOCK_ROWS * sizeof(float));
}

static pe_status check_rows(const pe_instance *self, const pe_rows *rows, const float *in, const float *out,
                            const void *scratch, pe_error *err) {
  if (rows->role != PE_ROLE_QUERY && rows->role != PE_ROLE_KEY) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "rope acts on queries and keys, not on rows of role %d", rows->role);
  }
  uint32_t heads = rows->role == PE_ROLE_QUERY ? self->n_heads : self->n_kv_heads;
  if (rows->layer >= self->n_layers || rows->head > heads || rows->n_heads > heads - rows->head) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "layer %u, heads %u to %u: the model has %u layers and %u heads",
                   rows->layer, rows->head, rows->head + rows->n_heads, self->n_layers, heads);
  }
  if (rows->n == 0) {
    return PE_OK;
  }
  if (!rows->pos || !in || !out || !scratch) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "%zu rows without positions, values or scratch", rows->n);
  }
  if (rope_depends_on_length(&self->scaling) && !isfinite(rows->seq_len)) {
    return pe_fail(err, PE_ERR_ARGUMENT, -1, "sequence length %g", rows->seq_len);
  }
  for (size_t r = 0; r < rows->n; r++) {
    /* Written so that NaN is refused, too. */
    if (!(fabs(rows->pos[r]) <= largest_position)) {
      return pe_fail(err, PE_ERR_POS_RANGE, (int64_t)r, "position %.17g is outside [-2^53, 2^53]", rows->pos[r]);
    }
  }
  return PE_OK;
}

/* first, second, cosine, sine [n]: turn n pairs in place. */
static void turn_halves(float *restrict first, float *restrict second, const float *restrict cosine,
                        const float *restrict sine, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float a = first[i];
    float b = second[i];
    first[i] = a * cosine[i] - b * sine[i];
    second[i] = b * cosine[i] + a * sine[i];
  }
}

/* x [n][2] */
static void turn_neighbours(float *restrict x, const float *restrict cosine, const float *restrict sine, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float a = x[2 * i];
    float b = x[2 * i + 1];
    x[2 * i] = a * cosine[i] - b * sine[i];
    x[2 * i + 1] = b * cosine[i] + a * sine[i];
  }
}

/* What turn_rows works with; all of it in scratch, except inv_freq where it is the instance's. */
struct angles {
  const double *inv_freq;
  double multiple;              /* the last multiple of NEAR; NaN before the first */
  double *at_multiple, *at_row; /* [2][n_pairs] */
  float *cosine, *sine;         /* [BLOCK_ROWS][n_turned] */
};

static struct angles angles_of(const pe_instance *self, double seq_len, double *scratch) {
  size_t n = self->scaling.n_pairs;
  struct angles angles = {.inv_freq = self->inv_freq,
                          .multiple = NAN,
                          .at_multiple = scratch + n,
                          .at_row = scratch + 3 * n,
                          .cosine = (float *)(scratch + 5 * n)};
  angles.sine = angles.cosine + BLOCK_ROWS * self->scaling.n_turned;
  if (rope_depends_on_length(&self->scaling)) {
    rope_inv_freq(&self->scaling, seq_len, scratch);
    angles.inv_freq = scratch;
  }
  return angles;
}

/* Of row r of a block, at `position`; sines times `direction`. In double; rounded once, with the attention factor. What
 * comes out depends on the position alone, not on the rows before. */
static void angles_of_row(const pe_instance *self, struct angles *angles, double position, double direction, size_t r) {
  size_t n = self->scaling.n_pairs, n_turned = self->scaling.n_turned;
  double *row = angles->at_row;
  if (rope_depends_on_length(&self->scaling) || position != floor(position)) {
    cosines_and_sines(position, angles->inv_freq, n, row);
  } else {
    double multiple = NEAR * floor(position / NEAR);
    if (multiple != angles->multiple) {
      cosines_and_sines(multiple, angles->inv_freq, n, angles->at_multiple);
      angles->multiple = multiple;
    }
    const double *a = angles->at_multiple, *b = self->near + (size_t)(position - multiple) * 2 * n;
    for (size_t i = 0; i < n; i++) {
      row[i] = a[i] * b[i] - a[n + i] * b[n + i];
      row[n + i] = a[n + i] * b[i] + a[i] * b[n + i];
    }
  }
  double factor = self->scaling.attention_factor;
  for (size_t i = 0; i < n_turned; i++) {
    angles->cosine[r * n_turned + i] = (float)(factor * row[i]);
    angles->sine[r * n_turned + i] = (float)(factor * direction * row[n + i]);
  }
}

/* out [n_heads][n][head_dim] = in turned by direction * angle. The positions come from `rows`, the values from `data`:
 * forward they are the same, backward `data` holds the gradients. */
static void turn_rows(const pe_instance *self, const pe_rows *rows, const pe_rows *data, double direction,
                      void *scratch) {
  size_t n_turned = self->scaling.n_turned;
  struct angles angles = angles_of(self, rows->seq_len, scratch);
  for (size_t start = 0; start < rows->n; start += BLOCK_ROWS) {
    size_t count = rows->n - start < BLOCK_ROWS ? rows->n - start : BLOCK_ROWS;
    for (size_t r = 0; r < count; r++) {
      angles_of_row(self, &angles, rows->pos[start + r], direction, r);
    }
    for (size_t head = 0; head < rows->n_heads; head++) {
      for (size_t r = 0; r < count; r++) {
        const float *in = data->in + head * data->in_head_stride + (start + r) * data->in_stride;
        float *out = data->out + head * data->out_head_stride + (start + r) * data->out_stride;
        const float *cosine = angles.cosine + r * n_turned, *sine = angles.sine + r * n_turned;
        if (out != in) {
          memcpy(out, in, self->head_dim * sizeof *out);
        }
        if (self->interleaved) {
          turn_neighbours(out, cosine, sine, n_turned);
        } else {
          turn_halves(out, out + self->scaling.n_pairs, cosine, sine, n_turned);
        }
      }
    }
  }
}

static pe_status rope_qk_apply(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  pe_status status = check_rows(self, rows, rows->in, rows->out, scratch, err);
  if (status == PE_OK) {
    turn_rows(self, rows, rows, 1, scratch);
  }
  return status;
}

/* The transpose of a rotation turns back; the attention factor stays. */
static pe_status rope_rows_vjp(const pe_instance *self, const pe_rows *x, const pe_rows *g, float *const *dw,
                               void *scratch, pe_error *err) {
  (void)dw;
  pe_status status = check_rows(self, x, g->in, g->out, scratch, err);
  if (status == PE_OK) {
    turn_rows(self, x, g, -1, scratch);
  }
  return status;
}

static uint32_t rope_instance_traits(const pe_instance *self) {
  return PE_TRAIT_RELATIVE | (rope_depends_on_length(&self->scaling) ? PE_TRAIT_LENGTH_DEPENDENT : 0);
}

static const void *rope_extension(const char *id) {
  static const pe_ext_vjp vjp = {.struct_size = sizeof vjp, .rows_vjp = rope_rows_vjp};
  return strcmp(id, PE_EXT_VJP) == 0 ? &vjp : NULL;
}

static const pe_scheme rope = {.struct_size = sizeof(pe_scheme),
                               .version = 1,
                               .id = "rope",
                               .title = "RoPE: pairs of channels of q and k turned by the position",
                               .reference = "Su et al. 2021, arXiv:2104.09864, section 3.2",
                               .sites = PE_SITE_QK,
                               .traits = PE_TRAIT_RELATIVE,
                               .params = rope_params,
                               .n_params = ROPE_N_PARAMS,
                               .param_stride = sizeof(pe_param),
                               .create = rope_create,
                               .destroy = rope_destroy,
                               .domain = rope_domain,
                               .derived_count = rope_derived_count,
                               .derived = rope_derived,
                               .scratch_bytes = rope_scratch_bytes,
                               .score_scale = rope_score_scale,
                               .qk_apply = rope_qk_apply,
                               .extension = rope_extension,
                               .instance_traits = rope_instance_traits};

static const pe_scheme *const schemes[] = {&rope};

const pe_entry pe_plugin_entry = {.magic = PE_ABI_MAGIC,
                                  .struct_size = sizeof(pe_entry),
                                  .abi_major = PE_ABI_MAJOR,
                                  .abi_minor = PE_ABI_MINOR,
                                  .name = "rope",
                                  .version = "1.0.0",
                                  .schemes = schemes,
                                  .n_schemes = 1};
