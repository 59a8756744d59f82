#include "experiments/counterexample.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_VECTOR = 8 };

size_t counterexample_find(const struct permutations *permutations, const double *deviation, double bound) {
  size_t n = permutations->n, best = permutations->count, fewest = n + 1;
  for (size_t p = 0; p < permutations->count; p++) {
    const uint32_t *pi = permutations->items + p * n;
    size_t moved = 0;
    for (size_t i = 0; i < n; i++) {
      moved += pi[i] != i;
    }
    if (deviation[p] > bound && (moved < fewest || (moved == fewest && permutation_is_reversal(pi, n)))) {
      best = p;
      fewest = moved;
    }
  }
  return best;
}

static int add_copy(struct record *record, const char *name, const char *long_name, const struct axis_spec *axes,
                    unsigned rank, const float *data, struct error *err) {
  struct tensor_spec spec = {.name = name, .element = ELEMENT_F32, .rank = rank, .long_name = long_name};
  memcpy(spec.axis, axes, rank * sizeof *axes);
  struct tensor *tensor = record_add(record, &spec, err);
  if (tensor) {
    memcpy(tensor->data, data, tensor->count * sizeof *data);
  }
  return tensor ? 0 : (int)err->code;
}

/* What attention makes of tokens index[0..n): each NULL where it is not wanted. */
static int attend_to(const struct experiment_context *context, const size_t *index, size_t n, bool causal,
                     float *logits, float *weights, float *values, struct error *err) {
  struct sequence sequence = {.n = n, .index = index};
  struct encoded encoded;
  int status = encode_sequence(context, context->scheme, &sequence, &encoded, err);
  if (status) {
    return status;
  }
  struct attention_output output = {.logits = logits, .weights = weights, .context = values};
  status = attend(context, context->scheme, &encoded, 0, causal, &output, err);
  encoded_free(&encoded);
  return status;
}

/* The pieces of the tokens, one a line. */
static int save_pieces(const struct experiment_context *context, size_t n, struct record *record, struct error *err) {
  const struct text_tokens *tokens = &context->model->texts[0];
  struct text text = {0};
  if (!tokens->ids) {
    return 0;
  }
  for (size_t i = 0; i < n; i++) {
    text_printf(&text, "%s%s", i ? "\n" : "", model_piece(context->model, tokens->ids[i]));
  }
  char *pieces = text_take(&text, err);
  int status = pieces ? attributes_set_text(&record->attributes, "tokens", pieces, err) : (int)err->code;
  free(pieces);
  return status;
}

static int save_input(const struct experiment_context *context, const size_t *index, size_t n, struct record *record,
                      struct error *err) {
  size_t width = context->model->d_model;
  if (!width) {
    return 0;
  }
  struct axis_spec axes[] = {{.name = "token", .length = n}, {.name = "model_channel", .length = width}};
  float *x = memory_new(n, width * sizeof *x, "input", err);
  int status = x ? model_content(context->model, 0, index, n, x, err) : (int)err->code;
  status = status ? status : add_copy(record, "counterexample_input", "X, before positions", axes, 2, x, err);
  free(x);
  return status;
}

int counterexample_save(const struct experiment_context *context, const uint32_t *permutation, size_t n, int mask,
                        struct record *record, struct error *err) {
  const struct model *model = context->model;
  size_t heads = model->n_heads, width = model->value_dim;
  size_t *index = memory_new(2 * n, sizeof *index, "token index", err);
  float *logits = index ? memory_new_3d(heads, n, n, sizeof *logits, "logits", err) : NULL;
  float *weights = logits ? memory_new_3d(heads, n, n, sizeof *weights, "weights", err) : NULL;
  float *values = weights ? memory_new_3d(heads, n, width, sizeof *values, "context", err) : NULL;
  float *moved = values ? memory_new_3d(heads, n, width, sizeof *moved, "context", err) : NULL;
  int status = moved ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < n; i++) {
    index[i] = i;
    index[n + i] = permutation[i];
  }
  struct axis_spec head = axis_head(model);
  struct axis_spec square[] = {head, {.name = "query", .length = n}, {.name = "key", .length = n}};
  struct axis_spec rows[] = {head, {.name = "token", .length = n}, {.name = "value_channel", .length = width}};
  struct tensor_spec order = {.name = "counterexample_permutation",
                              .element = ELEMENT_I32,
                              .rank = 1,
                              .axis = {{.name = "position", .length = n}},
                              .long_name = "(X_pi)[i] = X[pi[i]]"};
  status = status ? status : attend_to(context, index, n, mask == 1, logits, weights, values, err);
  status = status ? status : attend_to(context, index + n, n, mask == 1, NULL, NULL, moved, err);
  struct tensor *pi = status ? NULL : record_add(record, &order, err);
  if (pi) {
    memcpy(pi->data, permutation, n * sizeof(int32_t));
  }
  status = status ? status : pi ? save_input(context, index, n, record, err) : (int)err->code;
  status = status ? status : add_copy(record, "counterexample_logits", "S of X", square, 3, logits, err);
  status = status ? status : add_copy(record, "counterexample_weights", "A of X", square, 3, weights, err);
  status = status ? status : add_copy(record, "counterexample_context", "Y = A V of X", rows, 3, values, err);
  status = status ? status : add_copy(record, "counterexample_reordered", "Y' of X_pi", rows, 3, moved, err);
  status = status ? status : attributes_set_text(&record->attributes, "counterexample_mask", mask_names[mask], err);
  status = status ? status : save_pieces(context, n, record, err);
  free(index);
  free(logits);
  free(weights);
  free(values);
  free(moved);
  return status;
}

/* ---- in words -----------------------------------------------------------------------------------------------------
 */

/* Piece `which` of the lines of `pieces`; a vocabulary marks the start of a word, which is no part of it. */
static void append_piece(struct text *out, const char *pieces, size_t which) {
  static const char word_start[] = "\xe2\x96\x81";
  for (; which && pieces; which--) {
    pieces = strchr(pieces, '\n');
    pieces = pieces ? pieces + 1 : NULL;
  }
  if (pieces) {
    size_t length = strcspn(pieces, "\n");
    size_t mark = length > 3 && !strncmp(pieces, word_start, 3) ? 3 : 0;
    text_append_bytes(out, pieces + mark, length - mark);
  }
}

void counterexample_sentence(const struct record *record, const int32_t *pi, size_t n, struct text *out) {
  const struct attribute *pieces = attributes_find(&record->attributes, "tokens");
  text_append(out, pieces ? "" : n == 1 ? "token " : "tokens ");
  for (size_t i = 0; i < n; i++) {
    size_t token = pi ? (size_t)pi[i] : i;
    text_append(out, i ? " " : "");
    if (pieces) {
      append_piece(out, pieces->text, token);
    } else {
      text_printf(out, "%zu", token);
    }
  }
}

/* The head in which Y' and the reordered Y are furthest apart. */
static size_t furthest_head(const struct tensor *y, const struct tensor *moved, const int32_t *pi) {
  unsigned first = y->rank - 3;
  size_t heads = y->axis[first].length, n = y->axis[first + 1].length, width = y->axis[first + 2].length, best = 0;
  double largest = -1;
  for (size_t head = 0; head < heads; head++) {
    for (size_t i = 0; i < n; i++) {
      for (size_t c = 0; c < width; c++) {
        double off = fabs(tensor_value(moved, (head * n + i) * width + c) -
                          tensor_value(y, (head * n + (size_t)pi[i]) * width + c));
        best = off > largest ? head : best;
        largest = fmax(largest, off);
      }
    }
  }
  return best;
}

/* Rows [n][width] from element `first` on, one line each: what it is, of which token, the numbers. */
static int show_rows(struct table *rows, const char *what, const struct record *record, const struct tensor *tensor,
                     size_t first, size_t n, size_t width, const int32_t *pi, bool full, struct error *err) {
  int status = 0;
  size_t shown = full || width <= SHORT_VECTOR ? width : SHORT_VECTOR;
  for (size_t i = 0; !status && i < n; i++) {
    struct text word = {0}, numbers = {0};
    int32_t token = pi ? pi[i] : (int32_t)i;
    counterexample_sentence(record, &token, 1, &word);
    for (size_t c = 0; c < shown; c++) {
      double value = tensor_value(tensor, first + i * width + c);
      text_append(&numbers, c ? " " : "");
      text_printf(&numbers, isnan(value) ? "-" : "%.5g", value);
    }
    text_append(&numbers, shown < width ? " ..." : "");
    char *word_text = text_take(&word, err);
    char *number_text = word_text ? text_take(&numbers, err) : (text_free(&numbers), NULL);
    status = number_text ? table_text(rows, err, "%s", what) : (int)err->code;
    status = status ? status : table_text(rows, err, "%s", word_text);
    status = status ? status : table_text(rows, err, "%s", number_text);
    free(word_text);
    free(number_text);
  }
  return status;
}

static int show_title(const struct plan_scheme *scheme, const struct record *record, const int32_t *pi, size_t n,
                      size_t head, size_t heads, struct table *rows, struct error *err) {
  struct text still = {0}, moved = {0};
  counterexample_sentence(record, NULL, n, &still);
  counterexample_sentence(record, pi, n, &moved);
  char *from = text_take(&still, err);
  char *to = from ? text_take(&moved, err) : (text_free(&moved), NULL);
  const struct attribute *mask = attributes_find(&record->attributes, "counterexample_mask");
  int status = to ? table_title(rows, err, "counterexample: %s, mask %s: %s / %s (head %zu of %zu)", scheme->label,
                                mask ? mask->text : "none", from, to, head, heads)
                  : (int)err->code;
  free(from);
  free(to);
  return status;
}

int counterexample_show(const struct plan_scheme *scheme, const struct record *record, bool full,
                        struct conclusion *conclusion, struct error *err) {
  const struct tensor *order = record_find(record, "counterexample_permutation");
  const struct tensor *x = record_find(record, "counterexample_input");
  const struct tensor *s = record_find(record, "counterexample_logits");
  const struct tensor *a = record_find(record, "counterexample_weights");
  const struct tensor *y = record_find(record, "counterexample_context");
  const struct tensor *moved = record_find(record, "counterexample_reordered");
  if (!order || !s || !a || !y || !moved || order->rank != 1) {
    return 0; /* no counterexample, or one for each of several seeds: they stand in the file */
  }
  const int32_t *pi = order->data;
  size_t n = order->count, heads = y->axis[0].length, width = y->axis[2].length, head = furthest_head(y, moved, pi);
  struct table *rows = conclusion_add_table(conclusion, err);
  if (!rows || show_title(scheme, record, pi, n, head, heads, rows, err) ||
      table_column(rows, "what", "what", false, false, err) ||
      table_column(rows, "token", "row of", false, false, err) ||
      table_column(rows, "numbers", "numbers", false, true, err)) {
    return err->code;
  }
  int status = x ? show_rows(rows, "X", record, x, 0, n, x->axis[1].length, NULL, full, err) : 0;
  status = status ? status : show_rows(rows, "S", record, s, head * n * n, n, n, NULL, true, err);
  status = status ? status : show_rows(rows, "A", record, a, head * n * n, n, n, NULL, true, err);
  status = status ? status : show_rows(rows, "Y", record, y, head * n * width, n, width, NULL, full, err);
  status = status ? status : show_rows(rows, "Y'", record, moved, head * n * width, n, width, pi, full, err);
  return status
             ? status
             : table_note(rows, err,
                          "Were attention equivariant, the row of each token in Y' would be its row in Y. Every head "
                          "and channel: counterexample_* of the record.");
}
