/* What is measured of a trained model: losses on the same targets at every context length, the usual windows, tasks. */
#include "experiments/length_generalization.h"

#include "base/memory.h"
#include "train/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens that are evaluated in one call, so that memory stays small. */
enum { CALL_TOKENS = 1 << 18 };

/* Texts are measured three times at a length: on fixed targets, without overlap, sliding. */
static const double OF_TEXTS = 1.0 / 3;

struct batch_of_windows {
  size_t count, length, first; /* targets before `first` are not counted */
  int32_t *ids, *targets;
  double *losses; /* [count][length - first] */
  uint8_t *correct;
};

static int windows_new(size_t count, size_t length, size_t first, struct batch_of_windows *w, struct error *err) {
  *w = (struct batch_of_windows){.count = count, .length = length, .first = first};
  w->ids = memory_new_3d(count, length, 1, sizeof *w->ids, "windows", err);
  w->targets = w->ids ? memory_new_3d(count, length, 1, sizeof *w->targets, "windows", err) : NULL;
  w->losses = w->targets ? memory_new_3d(count, length - first, 1, sizeof *w->losses, "windows", err) : NULL;
  w->correct = w->losses ? memory_new_3d(count, length - first, 1, 1, "windows", err) : NULL;
  return w->correct ? 0 : ERROR_MEMORY;
}

static void windows_free(struct batch_of_windows *w) {
  free(w->ids);
  free(w->targets);
  free(w->losses);
  free(w->correct);
}

/* `share` more of what one model is measured on is done. */
static void tell_measured(const struct generalization *g, size_t length, double share) {
  char words[80];
  g->course->measured += share / (double)(g->seeds * g->n_lengths);
  snprintf(words, sizeof words, "measured at length %zu", length);
  generalization_tell(g, words);
}

/* Losses of all windows; summary [3][layers][heads] means over all, or NULL. share: which part of measuring at this
 * length it is; 0: none. */
static int evaluate_windows(const struct generalization *g, const struct trained *trained, struct batch_of_windows *w,
                            double *const summary[3], double share, struct error *err) {
  size_t cells = g->shape.layers * g->shape.heads, at_once = CALL_TOKENS / w->length;
  at_once = at_once ? at_once : 1;
  double *part = summary ? memory_new(3, cells * sizeof *part, "attention measures", err) : NULL;
  if (summary && !part) {
    return ERROR_MEMORY;
  }
  int status = 0;
  for (size_t first = 0; !status && first < w->count; first += at_once) {
    size_t count = w->count - first < at_once ? w->count - first : at_once;
    struct attention_summary attention = {part, part ? part + cells : NULL, part ? part + 2 * cells : NULL};
    struct evaluation evaluation = {.layout = &trained->layout,
                                    .stack = &trained->stack,
                                    .parameters = trained->parameters,
                                    .sequences = count,
                                    .length = w->length,
                                    .first = w->first,
                                    .ids = w->ids + first * w->length,
                                    .targets = w->targets + first * w->length};
    size_t at = first * (w->length - w->first);
    status = evaluate(&evaluation, g->context->pool, w->losses + at, w->correct + at, summary ? &attention : NULL, err);
    for (size_t i = 0; !status && summary && i < 3 * cells; i++) {
      summary[i / cells][i % cells] += part[i] * (double)count / (double)w->count;
    }
    if (!status && share > 0) {
      tell_measured(g, w->length, share * (double)count / (double)w->count);
    }
  }
  free(part);
  return status;
}

/* Mean over the counted targets. */
static double mean_loss(const struct batch_of_windows *w) {
  double sum = 0;
  size_t counted = 0;
  for (size_t i = 0; i < w->count * (w->length - w->first); i++) {
    if (!isnan(w->losses[i])) {
      sum += w->losses[i];
      counted++;
    }
  }
  return counted ? sum / (double)counted : NAN;
}

/* ---- texts ---- */

/* The same targets at every length: blocks of `tail` tokens, spread evenly over the test split behind the longest
 * context. */
static int fixed_targets(const struct generalization *g, const struct trained *trained, size_t length,
                         double *const summary[3], double *loss, struct error *err) {
  size_t blocks = (g->targets + g->tail - 1) / g->tail, room = data_size(&g->data, SPLIT_TEST) - g->longest - 1;
  struct batch_of_windows w;
  int status = windows_new(blocks, length, length - g->tail, &w, err);
  for (size_t block = 0; !status && block < blocks; block++) {
    size_t end = g->longest + room * block / blocks; /* of the context, in tokens */
    data_window(&g->data, SPLIT_TEST, end - length, length, w.ids + block * length, w.targets + block * length);
  }
  status = status ? status : evaluate_windows(g, trained, &w, summary, OF_TEXTS, err);
  *loss = status ? NAN : mean_loss(&w);
  windows_free(&w);
  return status;
}

/* Windows that begin `step` tokens apart at the split's start; counted from `first` on. by_position [length] or NULL.
 */
static int moving_windows(const struct generalization *g, const struct trained *trained, enum split split,
                          size_t length, size_t step, size_t first, size_t tokens, double *by_position, double *loss,
                          struct error *err) {
  size_t room = data_size(&g->data, split) - length - 1, count = (tokens + step - 1) / step;
  count = count > room / step + 1 ? room / step + 1 : count;
  struct batch_of_windows w;
  int status = windows_new(count, length, first, &w, err);
  for (size_t i = 0; !status && i < count; i++) {
    data_window(&g->data, split, i * step, length, w.ids + i * length, w.targets + i * length);
  }
  double share = split == SPLIT_TEST ? OF_TEXTS : 0;
  status = status ? status : evaluate_windows(g, trained, &w, NULL, share, err);
  *loss = status ? NAN : mean_loss(&w);
  for (size_t t = 0; !status && by_position && t < length; t++) {
    by_position[t] = 0;
    for (size_t i = 0; i < count; i++) {
      by_position[t] += w.losses[i * length + t] / (double)count;
    }
  }
  windows_free(&w);
  return status;
}

/* ---- tasks ---- */

static int task_examples(const struct generalization *g, const struct trained *trained, enum split split, size_t length,
                         double *const summary[3], double *loss, double *accuracy, double *token_accuracy,
                         struct error *err) {
  struct batch_of_windows w;
  int status = windows_new(g->examples, length, 0, &w, err);
  for (size_t i = 0; !status && i < g->examples; i++) {
    data_example(&g->data, split, g->context->plan->seed, i, length, w.ids + i * length, w.targets + i * length);
  }
  status = status ? status : evaluate_windows(g, trained, &w, summary, split == SPLIT_TEST ? 1 : 0, err);
  size_t whole = 0, right = 0, counted = 0;
  for (size_t i = 0; !status && i < g->examples; i++) {
    size_t of = 0, good = 0;
    for (size_t t = 0; t < length; t++) {
      of += isnan(w.losses[i * length + t]) ? 0 : 1;
      good += w.correct[i * length + t];
    }
    whole += good == of;
    right += good;
    counted += of;
  }
  *loss = status ? NAN : mean_loss(&w);
  *accuracy = status ? NAN : (double)whole / (double)g->examples;
  *token_accuracy = status ? NAN : (double)right / (double)counted;
  windows_free(&w);
  return status;
}

/* ---- all of it ---- */

int generalization_selection_loss(const struct generalization *g, const struct trained *trained, double *loss,
                                  struct error *err) {
  double ignored[2];
  if (isnan(trained->losses[g->steps - 1])) {
    *loss = INFINITY;
    return 0;
  }
  size_t L = g->train_length;
  int status = g->data.task == TASK_TEXT
                   ? moving_windows(g, trained, SPLIT_SELECT, L, L, 0, g->targets * 4, NULL, loss, err)
                   : task_examples(g, trained, SPLIT_SELECT, L, NULL, loss, &ignored[0], &ignored[1], err);
  *loss = isfinite(*loss) ? *loss : INFINITY;
  return status;
}

static int measure_length(const struct generalization *g, const struct trained *trained, size_t i,
                          const struct measures *out, struct error *err) {
  size_t length = (size_t)g->lengths[i], cells = g->shape.layers * g->shape.heads;
  double *const summary[3] = {out->attention[0] + i * cells, out->attention[1] + i * cells,
                              out->attention[2] + i * cells};
  for (size_t cell = 0; cell < cells; cell++) {
    summary[0][cell] = summary[1][cell] = summary[2][cell] = 0;
  }
  if (g->data.task != TASK_TEXT) {
    return task_examples(g, trained, SPLIT_TEST, length, summary, &out->fixed[i], &out->accuracy[i],
                         &out->token_accuracy[i], err);
  }
  int status = fixed_targets(g, trained, length, summary, &out->fixed[i], err);
  /* At the longest length so many windows that every position has some. */
  size_t tokens = g->targets > 8 * length ? g->targets : 8 * length;
  status = status ? status
                  : moving_windows(g, trained, SPLIT_TEST, length, length, 0, tokens, out->by_position,
                                   &out->windows[i], err);
  status = status ? status
                  : moving_windows(g, trained, SPLIT_TEST, length, g->stride, length - g->stride, g->targets, NULL,
                                   &out->sliding[i], err);
  return status;
}

int generalization_measure(const struct generalization *g, const struct trained *trained, const struct measures *out,
                           uint8_t *defined, struct error *err) {
  size_t cells = g->shape.layers * g->shape.heads;
  for (size_t i = 0; i < g->n_lengths; i++) {
    int status = measure_length(g, trained, i, out, err);
    if (status && status != ERROR_UNDEFINED) {
      return status;
    }
    defined[i] = !status;
    for (size_t cell = 0; status && cell < cells; cell++) {
      for (size_t what = 0; what < 3; what++) {
        out->attention[what][i * cells + cell] = NAN;
      }
    }
  }
  *err = (struct error){0};
  return 0;
}
