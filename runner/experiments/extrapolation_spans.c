/* Stretches of tokens, and the last rows of attention over them. */
#include "experiments/extrapolation.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Stretches of n tokens to be cut from a text of `count` that holds at least one. */
static size_t spans_in(size_t count, size_t n, size_t wanted) {
  return smaller(wanted, count - n + 1);
}

int extrapolation_spans(const struct model *model, size_t n, size_t wanted, struct spans *out, struct error *err) {
  size_t usable = 0;
  for (size_t text = 0; text < model->n_texts; text++) {
    usable += (size_t)(model->endless || model->texts[text].count >= n);
  }
  *out = (struct spans){.repeated = usable == 0};
  size_t per_text = usable ? (wanted + usable - 1) / usable : 1;
  out->items = memory_new(model->n_texts, per_text * sizeof *out->items, "stretches of tokens", err);
  if (!out->items) {
    return err->code;
  }
  for (size_t text = 0; text < model->n_texts; text++) {
    size_t count = model->texts[text].count;
    if (!out->repeated && !model->endless && count < n) {
      continue;
    }
    size_t here = out->repeated ? 1 : model->endless ? per_text : spans_in(count, n, per_text);
    for (size_t i = 0; i < here; i++) {
      size_t first = here == 1 ? 0 : model->endless ? i * n : i * (count - n) / (here - 1);
      out->items[out->count++] = (struct span){.text = text, .first = first};
    }
  }
  return 0;
}

float *extrapolation_tail(const struct extrapolation *e, const struct experiment_context *context,
                          const struct instance *scheme, const struct span *span, size_t n, size_t queries,
                          struct error *err) {
  size_t *index = memory_new(n, sizeof *index, "token index", err);
  if (!index) {
    return NULL;
  }
  for (size_t i = 0; i < n; i++) {
    index[i] = span->first + i;
  }
  struct sequence sequence = {.text = span->text, .n = n, .index = index};
  float *weights = attention_weights(context, scheme, &sequence, n - queries, e->causal, err);
  free(index);
  return weights;
}

size_t extrapolation_queries(const struct extrapolation *e, size_t n, size_t kept) {
  return smaller(e->queries, smaller(n, kept));
}

size_t extrapolation_kept_inside(const struct extrapolation *e, size_t n) {
  double L = (double)e->train_length;
  double kept = round(L * L / (double)n);
  return kept < 1 ? 1 : smaller((size_t)kept, e->train_length);
}

void extrapolation_progress(const struct extrapolation *e, double done) {
  if (e->context->progress) {
    e->context->progress(e->context->progress_context, done, NULL);
  }
}
