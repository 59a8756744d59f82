#include "commands/compare_pair.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"

#include <stdlib.h>

static char *side_name(const struct scheme_arguments *arguments, struct error *err) {
  struct text text = {0};
  text_append(&text, arguments->id);
  for (size_t i = 0; i < arguments->n_settings; i++) {
    text_printf(&text, " %s", arguments->settings[i]);
  }
  return text_take(&text, err);
}

/* Multiples of 1/1024 in [-2, 2]: exact in every format wider than 12 bits. */
static float *make_content(const struct pair *pair, struct error *err) {
  float *x = memory_new_3d(pair->n, pair->d_model, 1, sizeof *x, "content", err);
  struct rng rng = rng_stream(pair->request->seed, "compare/content");
  for (size_t i = 0; x && i < pair->n * pair->d_model; i++) {
    x[i] = (float)((double)rng_below(&rng, i, 4097) / 1024 - 2);
  }
  return x;
}

int side_open(struct session *session, struct pair *pair, const struct scheme_arguments *arguments, struct side *side,
              struct error *err) {
  int status = scheme_choose(session, arguments, &side->choice, err);
  if (status) {
    return status;
  }
  side->name = side_name(arguments, err);
  pe_shape shape = {.n_layers = 1,
                    .n_heads = pair->heads,
                    .n_kv_heads = pair->heads,
                    .d_model = pair->d_model,
                    .head_dim = pair->head_dim,
                    .train_len = pair->request->train_length};
  side->instance = side->name ? scheme_instance(&side->choice, &shape, pair->request->seed, err) : NULL;
  if (!side->instance) {
    return err->code;
  }
  const char *where = pair->request->positions ? pair->request->positions : "0:128";
  status = positions_read("--positions", where, instance_domain(side->instance).pos_axes, &side->positions, err);
  if (status) {
    return status;
  }
  double length = positions_length(&side->positions);
  side->seq_len = pair->request->seq_len >= 0 ? pair->request->seq_len : length;
  return angles_of(side->instance, side->seq_len, &side->angles, &side->has_angles, err);
}

void side_close(struct side *side) {
  free(side->name);
  free(side->positions.values);
  free(side->embedding);
  free(side->q);
  free(side->k);
  angles_free(&side->angles);
  instance_free(side->instance);
  scheme_choice_free(&side->choice);
}

/* ---- vectors ---- */

/* Rounded as --round asks, the first side alone. */
void side_round(const struct pair *pair, const struct side *side, float *values, size_t count) {
  enum number_format format = pair->request->rounding.format[STAGE_OUTPUT];
  for (size_t i = 0; side == &pair->sides[0] && i < count; i++) {
    values[i] = (float)round_to_format(values[i], format);
  }
}

static int make_embedding(struct pair *pair, struct side *side, struct error *err) {
  size_t width = pair->d_model;
  side->embedding = memory_new_3d(pair->n, width, 1, sizeof *side->embedding, "embedding", err);
  if (!side->embedding) {
    return err->code;
  }
  int status =
      instance_embed(side->instance, pair->n, side->positions.values, NULL, side->seq_len, side->embedding, width, err);
  side_round(pair, side, side->embedding, pair->n * width);
  return status;
}

/* Rows by head: the input cut into heads, again from its start where it is too narrow. */
float *pair_rows(const struct pair *pair, const float *x, struct error *err) {
  size_t d = pair->head_dim;
  float *rows = memory_new_3d(pair->heads, pair->n, d, sizeof *rows, "rows", err);
  for (size_t h = 0; rows && h < pair->heads; h++) {
    for (size_t r = 0; r < pair->n; r++) {
      for (size_t c = 0; c < d; c++) {
        rows[(h * pair->n + r) * d + c] = x[r * pair->d_model + (h * d + c) % pair->d_model];
      }
    }
  }
  return rows;
}

static bool is_rounded(const struct pair *pair, const struct side *side) {
  bool any = false;
  for (size_t stage = 0; stage < STAGE_OUTPUT; stage++) {
    any = any || pair->request->rounding.format[stage] != FORMAT_FLOAT64;
  }
  return any && side == &pair->sides[0];
}

/* Turned rows redone with rounded stages. */
static int turn_rounded(const struct pair *pair, const struct side *side, const float *in, float *out,
                        struct error *err) {
  size_t pairs = side->angles.n_pairs, d = pair->head_dim;
  double *cosine = memory_new(2 * pairs + d, sizeof *cosine, "table", err);
  if (!cosine) {
    return err->code;
  }
  for (size_t r = 0; r < pair->n; r++) {
    angles_table(&side->angles, &pair->request->rounding, side->positions.values + r * side->positions.axes, cosine,
                 cosine + pairs);
    for (size_t h = 0; h < pair->heads; h++) {
      double *turned = cosine + 2 * pairs;
      angles_turn(&side->angles, &pair->request->rounding, cosine, cosine + pairs, d, in + (h * pair->n + r) * d,
                  turned);
      for (size_t c = 0; c < d; c++) {
        out[(h * pair->n + r) * d + c] = (float)turned[c];
      }
    }
  }
  free(cosine);
  return 0;
}

float *side_turn(const struct pair *pair, const struct side *side, int role, const float *in, struct error *err) {
  float *out = memory_new_3d(pair->heads, pair->n, side->width, sizeof *out, "turned rows", err);
  if (!out) {
    return NULL;
  }
  int status = is_rounded(pair, side) && (instance_sites(side->instance) & PE_SITE_QK)
                   ? turn_rounded(pair, side, in, out, err)
                   : instance_rotate(side->instance, role, 0, 0, pair->heads, pair->n, side->positions.values, NULL,
                                     side->seq_len, in, out, err);
  if (status) {
    free(out);
    return NULL;
  }
  side_round(pair, side, out, pair->heads * pair->n * side->width);
  return out;
}

static int make_rows(struct pair *pair, struct side *side, const float *x, struct error *err) {
  float *rows = pair_rows(pair, x, err);
  side->width = instance_qk_width(side->instance);
  side->q = rows ? side_turn(pair, side, PE_ROLE_QUERY, rows, err) : NULL;
  side->k = side->q ? side_turn(pair, side, PE_ROLE_KEY, rows, err) : NULL;
  free(rows);
  return side->k ? 0 : (int)err->code;
}

/* The bias to the first key alone: a position that it is not defined at is told with its row, which blocks of rows
 * would not know. */
static int check_bias(const struct pair *pair, const struct side *side, struct error *err) {
  struct bias_tile tile = {.seq_len = side->seq_len,
                           .nq = pair->n,
                           .nk = pair->n ? 1 : 0,
                           .mapped_q = side->positions.values,
                           .mapped_k = side->positions.values,
                           .q = side->q,
                           .k = side->k,
                           .q_stride = side->width,
                           .k_stride = side->width,
                           .s = memory_new(pair->n, sizeof *tile.s, "biases", err),
                           .s_stride = 1};
  int status = tile.s ? instance_bias(side->instance, &tile, err) : (int)err->code;
  free(tile.s);
  return status;
}

static int fill_side(struct pair *pair, struct side *side, struct error *err) {
  unsigned sites = instance_sites(side->instance);
  float *x = NULL;
  int status = sites & PE_SITE_EMBED ? make_embedding(pair, side, err) : 0;
  if (!status && side->embedding) {
    x = memory_new_3d(pair->n, pair->d_model, 1, sizeof *x, "rows", err);
    status = x ? 0 : (int)err->code;
    for (size_t i = 0; x && i < pair->n * pair->d_model; i++) {
      x[i] = pair->x[i] + side->embedding[i];
    }
  }
  status = status ? status : make_rows(pair, side, x ? x : pair->x, err);
  if (!status && (sites & PE_SITE_BIAS)) {
    status = check_bias(pair, side, err);
  }
  free(x);
  return status;
}

/* --round: stages of angles need a scheme that is made of them. */
static int check_rounding(const struct pair *pair, struct error *err) {
  const struct side *side = &pair->sides[0];
  bool turns = side->has_angles && angles_are_all(side->instance, side->seq_len) &&
               instance_qk_width(side->instance) == pair->head_dim && angles_fit(&side->angles, pair->head_dim);
  if (is_rounded(pair, side) && !turns) {
    return error_set(err, ERROR_USAGE,
                     "--round: %s is not made of angles alone: of its stages only output can be rounded here",
                     side->choice.scheme->info.id);
  }
  return 0;
}

int pair_fill(struct pair *pair, struct error *err) {
  pair->n = pair->sides[0].positions.count;
  int status = check_rounding(pair, err);
  pair->x = status ? NULL : make_content(pair, err);
  status = status ? status : pair->x ? 0 : (int)err->code;
  status = status ? status : fill_side(pair, &pair->sides[0], err);
  status = status ? status : fill_side(pair, &pair->sides[1], err);
  return status ? status : pair_fill_scores(pair, err);
}
