/* The same window of tokens at positions 0 .. W - 1 and further on. */
#include "experiments/divergence.h"
#include "experiments/extrapolation.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* One window and what it is compared with; weights [heads][W][W]. */
struct window {
  size_t text, first;
  float *own;     /* the scheme at 0 .. W - 1 */
  float *none;    /* the same content without positions; may be `own` */
  float *trained; /* the model as trained at 0 .. W - 1; NULL: not known; may be `own` */
};

/* Windows that fit into a text without overlap; an endless model gives EXTRAPOLATION_MIN_WINDOWS. */
static size_t windows_in(const struct extrapolation *e, size_t text) {
  const struct model *model = e->context->model;
  return model->endless ? EXTRAPOLATION_MIN_WINDOWS : model->texts[text].count / e->window;
}

/* Those of them that are taken: EXTRAPOLATION_MAX_WINDOWS of all texts at most, evenly spread. */
static size_t windows_taken(const struct extrapolation *e, size_t text) {
  size_t n_texts = e->context->model->n_texts;
  size_t there = windows_in(e, text);
  size_t most = (EXTRAPOLATION_MAX_WINDOWS + n_texts - 1) / n_texts;
  return there < most ? there : most;
}

static float *window_weights(const struct extrapolation *e, const struct instance *scheme, const struct window *window,
                             double offset, size_t *index, struct error *err) {
  for (size_t i = 0; i < e->window; i++) {
    index[i] = window->first + i;
  }
  struct sequence sequence = {.text = window->text, .n = e->window, .index = index, .offset = offset};
  return attention_weights(e->context, scheme, &sequence, 0, e->causal, err);
}

static void window_free(struct window *window) {
  if (window->none != window->own) {
    free(window->none);
  }
  if (window->trained != window->own) {
    free(window->trained);
  }
  free(window->own);
}

/* What the window is at positions 0 .. W - 1. The scheme's own may be undefined: then `own` is NULL. */
static int window_start(const struct extrapolation *e, struct window *window, size_t *index, struct error *err) {
  window->own = window_weights(e, e->context->scheme, window, 0, index, err);
  if (!window->own && err->code != ERROR_UNDEFINED) {
    return err->code;
  }
  const struct experiment_context *context = e->context;
  bool is_none = context->none == context->scheme, is_trained = context->trained == context->scheme;
  window->none = is_none ? window->own : window_weights(e, context->none, window, 0, index, err);
  if (!window->none) {
    return err->code;
  }
  if (context->trained) {
    window->trained = is_trained ? window->own : window_weights(e, context->trained, window, 0, index, err);
    if (!window->trained && !is_trained && err->code != ERROR_UNDEFINED) {
      return err->code;
    }
  }
  return 0;
}

/* out [heads] = divergence of two windows' weights, mean over rows; NaN where one is missing. */
static void compare(const struct extrapolation *e, const float *a, const float *b, double *out) {
  size_t square = e->window * e->window;
  for (size_t head = 0; head < e->context->model->n_heads; head++) {
    out[head] = a && b ? divergence_rows(a + head * square, e->window, b + head * square, e->window, e->window) : NAN;
  }
}

/* Where the windows of all texts put their measures. */
struct by_window {
  struct extrapolation e; /* its context without a pool: windows are the units of work */
  size_t n_windows;
  size_t first;                     /* window of unit 0 */
  struct window *windows;           /* [n_windows] */
  double *moved, *signal, *swapped; /* [offset][window][head], [window][head], [window][head] */
};

static int measure_window(void *opaque, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  const struct by_window *all = opaque;
  size_t w = all->first + unit;
  const struct extrapolation *e = &all->e;
  struct window *window = &all->windows[w];
  size_t heads = e->context->model->n_heads;
  size_t *index = memory_new(e->window, sizeof *index, "token index", err);
  int status = index ? window_start(e, window, index, err) : (int)err->code;
  if (!status) {
    compare(e, window->own, window->none, all->signal + w * heads);
    compare(e, window->own, window->trained, all->swapped + w * heads);
  }
  for (size_t o = 0; !status && window->own && o < e->n_offsets; o++) {
    float *weights = window_weights(e, e->context->scheme, window, e->offsets[o], index, err);
    if (!weights && err->code != ERROR_UNDEFINED) {
      status = err->code;
    } else {
      compare(e, window->own, weights, all->moved + (o * all->n_windows + w) * heads);
    }
    free(weights);
  }
  window_free(window);
  free(index);
  return status;
}

/* Windows are independent: each is one unit, its arithmetic in one thread. */
static int measure_windows(const struct extrapolation *e, struct by_window *all, struct error *err) {
  enum { BATCH = 16 };
  struct experiment_context alone = *e->context;
  alone.pool = NULL;
  all->e = *e;
  all->e.context = &alone;
  int status = 0;
  for (all->first = 0; !status && all->first < all->n_windows; all->first += BATCH) {
    size_t left = all->n_windows - all->first;
    size_t count = left < BATCH ? left : BATCH;
    status = pool_run(e->context->pool, count, measure_window, all, err);
    double done = (double)(all->first + count) / (double)all->n_windows;
    extrapolation_progress(e, 0.6 + 0.2 * fmin(done, 1));
  }
  return status;
}

/* out [inner] = mean over `count` rows of values [count][inner]. */
static void mean_over_rows(const double *values, size_t count, size_t inner, double *out) {
  for (size_t i = 0; i < inner; i++) {
    double sum = 0;
    for (size_t row = 0; row < count; row++) {
      sum += values[row * inner + i];
    }
    out[i] = count ? sum / (double)count : NAN;
  }
}

static double *add_measure(struct record *record, const char *name, const struct axis_spec *axes, unsigned rank,
                           const char *long_name, const char *units, struct error *err) {
  struct tensor_spec spec = {
      .name = name, .element = ELEMENT_F64, .rank = rank, .long_name = long_name, .units = units};
  for (unsigned i = 0; i < rank; i++) {
    spec.axis[i] = axes[i];
  }
  struct tensor *tensor = record_add(record, &spec, err);
  return tensor ? tensor->data : NULL;
}

/* `last` [n_offsets]: the last position that a window contains. */
static int measure_at(const struct extrapolation *e, size_t n_windows, const double *last, struct record *record,
                      struct error *err) {
  const struct model *model = e->context->model;
  size_t heads = model->n_heads;
  struct axis_spec position = {.name = "last_position",
                               .length = e->n_offsets,
                               .values = last,
                               .real = true,
                               .long_name = "last position in the window",
                               .units = "tokens"};
  struct axis_spec window = {.name = "window", .length = n_windows};
  struct axis_spec by_window[] = {position, window, axis_head(model)};
  struct axis_spec by_offset[] = {position, axis_head(model)};
  struct axis_spec signals[] = {window, axis_head(model)};
  double *moved_mean = add_measure(record, "window_jsd", by_offset, 2,
                                   "JSD of a window's attention against the same at positions 0 ...", "nat", err);
  double *moved =
      moved_mean ? add_measure(record, "window_jsd_by_window", by_window, 3, "the same, by window", "nat", err) : NULL;
  double *signal_mean = moved ? add_measure(record, "position_signal", by_offset + 1, 1,
                                            "JSD between attention with and without positions", "nat", err)
                              : NULL;
  double *signal = signal_mean
                       ? add_measure(record, "position_signal_by_window", signals, 2, "the same, by window", "nat", err)
                       : NULL;
  double *swapped_mean = signal ? add_measure(record, "swapped_in", by_offset + 1, 1,
                                              "JSD to the model as trained, both at positions 0 ...", "nat", err)
                                : NULL;
  double *swapped =
      swapped_mean ? add_measure(record, "swapped_in_by_window", signals, 2, "the same, by window", "nat", err) : NULL;
  double *offset =
      swapped ? add_measure(record, "offset", by_offset, 1, "position of the window's first token", "tokens", err)
              : NULL;
  struct tensor *text_of = offset ? record_add(record,
                                               &(struct tensor_spec){.name = "window_text",
                                                                     .element = ELEMENT_I32,
                                                                     .rank = 1,
                                                                     .axis = {window},
                                                                     .long_name = "text the window is cut from"},
                                               err)
                                  : NULL;
  if (!text_of) {
    return err->code;
  }
  struct by_window all = {.n_windows = n_windows, .moved = moved, .signal = signal, .swapped = swapped};
  all.windows = memory_new(n_windows, sizeof *all.windows, "windows", err);
  if (!all.windows) {
    return err->code;
  }
  int32_t *window_text = text_of->data;
  size_t w = 0;
  for (size_t text = 0; text < model->n_texts; text++) {
    size_t taken = windows_taken(e, text);
    for (size_t i = 0; i < taken; i++, w++) {
      all.windows[w] = (struct window){.text = text, .first = i * windows_in(e, text) / taken * e->window};
      window_text[w] = (int32_t)text;
    }
  }
  int status = measure_windows(e, &all, err);
  free(all.windows);
  if (status) {
    return status;
  }
  for (size_t o = 0; o < e->n_offsets; o++) {
    offset[o] = e->offsets[o];
    mean_over_rows(moved + o * n_windows * heads, n_windows, heads, moved_mean + o * heads);
  }
  mean_over_rows(signal, n_windows, heads, signal_mean);
  mean_over_rows(swapped, n_windows, heads, swapped_mean);
  return 0;
}

int extrapolation_windows(const struct extrapolation *e, struct record *record, struct error *err) {
  size_t n_windows = 0;
  for (size_t text = 0; text < e->context->model->n_texts; text++) {
    n_windows += windows_taken(e, text);
  }
  if (n_windows == 0) {
    return 0; /* the tokens are shorter than one window: no such measure */
  }
  double *last = memory_new(e->n_offsets, sizeof *last, "last positions", err);
  if (!last) {
    return err->code;
  }
  for (size_t o = 0; o < e->n_offsets; o++) {
    last[o] = e->offsets[o] + (double)e->window - 1;
  }
  int status = measure_at(e, n_windows, last, record, err);
  free(last);
  return status;
}
