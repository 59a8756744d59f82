/* The controls: the same measure on each text from its start with positions in random order, with random weights of the
 * same moments, and with a tenth of the encoding. */
#include "experiments/divergence.h"
#include "experiments/extrapolation.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOWS = 16 };

static const struct {
  const char *name, *what;
} control_table[] = {
    {"shuffled", "positions in random order"},
    {"random_weights", "random weights of the same moments"},
    {"weakened", "a tenth of the encoding"},
};
enum control { SHUFFLED, RANDOM_WEIGHTS, WEAKENED, N_CONTROLS };

struct control_run {
  const struct extrapolation *e;
  struct experiment_context context; /* the job's, changed by the control */
  const struct instance *scheme;
  double *truncation; /* [length][head] */
  double *signal;     /* [head] */
};

/* out [heads] += divergence / n_texts of one text's last queries from the same given the last L tokens alone. */
static int measure_text(const struct control_run *run, size_t text, size_t n, size_t n_texts, double *out,
                        struct error *err) {
  const struct extrapolation *e = run->e;
  size_t kept = n < e->train_length ? n : e->train_length;
  size_t queries = extrapolation_queries(e, n, kept);
  struct span whole = {.text = text};
  struct span last = {.text = text, .first = n - kept};
  float *full = extrapolation_tail(e, &run->context, run->scheme, &whole, n, queries, err);
  float *cut = full ? extrapolation_tail(e, &run->context, run->scheme, &last, kept, queries, err) : NULL;
  int status = cut ? 0 : (int)err->code;
  for (size_t head = 0; !status && head < e->context->model->n_heads; head++) {
    out[head] +=
        divergence_rows(full + head * queries * n, n, cut + head * queries * kept, kept, queries) / (double)n_texts;
  }
  free(full);
  free(cut);
  return status;
}

static void fill(double *values, size_t count, double value) {
  for (size_t i = 0; i < count; i++) {
    values[i] = value;
  }
}

static int measure_length(const struct control_run *run, size_t t, struct error *err) {
  const struct extrapolation *e = run->e;
  size_t heads = e->context->model->n_heads;
  size_t n = (size_t)e->lengths[t];
  struct spans texts;
  int status = extrapolation_spans(e->context->model, n, 1, &texts, err);
  fill(run->truncation + t * heads, heads, 0);
  for (size_t i = 0; !status && n > e->train_length && i < texts.count; i++) {
    status = measure_text(run, texts.items[i].text, n, texts.count, run->truncation + t * heads, err);
  }
  free(texts.items);
  if (status == ERROR_UNDEFINED) {
    fill(run->truncation + t * heads, heads, NAN);
    return 0;
  }
  return status;
}

/* Divergence between attention with the control's positions and without any, over the first windows. */
static int measure_signal(const struct control_run *run, struct error *err) {
  const struct extrapolation *e = run->e;
  const struct model *model = e->context->model;
  size_t heads = model->n_heads, W = e->window, count = 0;
  for (size_t text = 0; text < model->n_texts; text++) {
    size_t there = model->endless ? WINDOWS : model->texts[text].count / W;
    for (size_t i = 0; i < there && i < WINDOWS; i++) {
      struct span span = {.text = text, .first = i * W};
      float *with = extrapolation_tail(e, &run->context, run->scheme, &span, W, W, err);
      float *without = with ? extrapolation_tail(e, &run->context, run->context.none, &span, W, W, err) : NULL;
      int status = without ? 0 : (int)err->code;
      for (size_t head = 0; !status && head < heads; head++) {
        double jsd = divergence_rows(with + head * W * W, W, without + head * W * W, W, W);
        run->signal[head] = (count ? run->signal[head] : 0) + jsd;
      }
      free(with);
      free(without);
      if (status) {
        fill(run->signal, heads, NAN);
        return status == ERROR_UNDEFINED ? 0 : status;
      }
      count++;
    }
  }
  for (size_t head = 0; head < heads; head++) {
    run->signal[head] /= (double)count; /* NaN where there was none */
  }
  return 0;
}

static int add_tensors(struct control_run *run, enum control control, struct record *record, struct error *err) {
  const struct model *model = run->e->context->model;
  char name[RECORD_NAME], long_name[160];
  snprintf(name, sizeof name, "truncation_jsd_%s", control_table[control].name);
  snprintf(long_name, sizeof long_name, "control: truncation_jsd from each text's start, %s",
           control_table[control].what);
  struct axis_spec length = {.name = "length",
                             .length = run->e->n_lengths,
                             .values = run->e->lengths,
                             .log_values = true,
                             .long_name = "sequence length",
                             .units = "tokens"};
  struct tensor_spec spec = {.name = name,
                             .element = ELEMENT_F64,
                             .rank = 2,
                             .axis = {length, axis_head(model)},
                             .long_name = long_name,
                             .units = "nat"};
  struct tensor *truncation = record_add(record, &spec, err);
  run->truncation = truncation ? truncation->data : NULL;
  snprintf(name, sizeof name, "position_signal_%s", control_table[control].name);
  snprintf(long_name, sizeof long_name, "control: JSD between attention with and without positions, %s",
           control_table[control].what);
  spec.rank = 1;
  spec.axis[0] = axis_head(model);
  struct tensor *signal = truncation ? record_add(record, &spec, err) : NULL;
  run->signal = signal ? signal->data : NULL;
  return signal ? 0 : (int)err->code;
}

static int measure_control(struct control_run *run, enum control control, struct record *record, struct error *err) {
  int status = add_tensors(run, control, record, err);
  for (size_t t = 0; !status && t < run->e->n_lengths; t++) {
    status = measure_length(run, t, err);
  }
  status = status ? status : measure_signal(run, err);
  extrapolation_progress(run->e, 0.85 + 0.05 * (double)(control + 1));
  return status;
}

/* What a scheme cannot have as a control is not in its record: a map in random order, projections of a plain matrix, a
 * tenth of nothing. */
int extrapolation_controls(const struct extrapolation *e, struct record *record, struct error *err) {
  struct control_run run = {.e = e, .context = *e->context, .scheme = e->context->shuffled};
  int status = run.scheme ? measure_control(&run, SHUFFLED, record, err) : 0;
  run.scheme = e->context->scheme;
  if (!status && instance_sites(run.scheme)) {
    run.context.weakened = true;
    status = measure_control(&run, WEAKENED, record, err);
    run.context.weakened = false;
  }
  if (status) {
    return status;
  }
  struct model *twin = model_random_twin(e->context->model, e->context->seed, err);
  if (!twin) {
    return err->code;
  }
  run.context.model = twin;
  status = measure_control(&run, RANDOM_WEIGHTS, record, err);
  model_random_twin_close(twin);
  return status;
}
