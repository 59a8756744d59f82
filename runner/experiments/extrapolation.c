/* What happens past the training length? Four questions, never merged into one number: is the scheme defined, is a
 * window's attention the same further on, does more context change what the last tokens look at, is it still the
 * trained model. */
#include "experiments/extrapolation.h"

#include "base/memory.h"
#include "experiments/embedded.h"
#include "experiments/experiments.h"
#include "experiments/projections.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct key_spec keys[] = {
    {.key = "train_length",
     .doc = "training length L in tokens; auto: what the weights say",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 2,
     .max = 1 << 24,
     .fallback = "auto"},
    {.key = "lengths",
     .doc = "sequence lengths T in tokens; auto: L times 1/2, 1, 5/4, 2, 4, 8, 16",
     .type = KEY_INT_LIST,
     .flags = KEY_AUTO,
     .min = 1,
     .max = 1 << 24,
     .fallback = "auto",
     .list_min = 1,
     .list_max = 1000},
    {.key = "window",
     .doc = "tokens per window W; windows are cut without overlap, 48 at most, evenly spread over the tokens",
     .type = KEY_INT,
     .min = 2,
     .max = 4096,
     .fallback = "40"},
    {.key = "offsets",
     .doc = "positions at which a window is set down; auto: dense around L - W, then doubling to 512 L",
     .type = KEY_REAL_LIST,
     .flags = KEY_AUTO,
     .min = 0,
     .max = 1e12,
     .fallback = "auto",
     .list_min = 1,
     .list_max = 1000},
    {.key = "spans",
     .doc =
         "stretches of tokens cut from the texts at each length, at least, and twice as many of L tokens; 1: each text "
         "from its start, no verdict",
     .type = KEY_INT,
     .min = 1,
     .max = 4096,
     .fallback = "20"},
    {.key = "queries",
     .doc = "number of last queries that are looked at",
     .type = KEY_INT,
     .min = 1,
     .max = 4096,
     .fallback = "32"},
    {.key = "mask",
     .doc = "attention mask; auto: what the weights were trained with",
     .type = KEY_CHOICE,
     .flags = KEY_AUTO,
     .fallback = "auto",
     .choices = mask_names},
    KEY_SAVE_SPEC,
};
static const struct key_table table = {"extrapolation", "attention past the training length", keys,
                                       sizeof keys / sizeof *keys};

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A list key, or the automatic one: multiples of L (and L - W plus steps, for offsets); ascending, without repeats, so
 * that curves over it are curves. */
static double *resolve_list(const struct key_value *value, const double *automatic, size_t n_automatic, size_t *count,
                            struct error *err) {
  const double *from = value->is_auto ? automatic : value->list;
  size_t n = value->is_auto ? n_automatic : value->count;
  double *list = memory_new(n, sizeof *list, "list", err);
  if (!list) {
    return NULL;
  }
  memcpy(list, from, n * sizeof *list);
  qsort(list, n, sizeof *list, compare_doubles);
  *count = 0;
  for (size_t i = 0; i < n; i++) {
    if (list[i] >= 0 && (*count == 0 || list[i] != list[*count - 1])) {
      list[(*count)++] = list[i];
    }
  }
  return list;
}

static int resolve(const struct experiment_context *context, struct extrapolation *e, struct error *err) {
  const struct section *section = context->entry->keys;
  const struct key_value *train_length = section_get(section, "train_length");
  const struct key_value *mask = section_get(section, "mask");
  double known = context->model->trained.max_length;
  *e = (struct extrapolation){.context = context,
                              .window = (size_t)section_get(section, "window")->integer,
                              .queries = (size_t)section_get(section, "queries")->integer,
                              .spans = (size_t)section_get(section, "spans")->integer};
  if (train_length->is_auto && known <= 0) {
    return error_set(err, ERROR_JOB_SETUP, "the model does not say its training length: set train_length");
  }
  e->train_length = train_length->is_auto ? (size_t)known : (size_t)train_length->integer;
  e->causal = mask->is_auto ? context->model->trained.mask && !strcmp(context->model->trained.mask, "causal")
                            : mask->integer == 1;
  double L = (double)e->train_length;
  double W = (double)e->window;
  const double lengths[] = {floor(L / 2), L, floor(L * 5 / 4), 2 * L, 4 * L, 8 * L, 16 * L};
  const double offsets[] = {8,          W, L / 2,     L - W - 16, L - W - 8, L - W, L - W + 4, L - W + 8, L - W + 16,
                            L - W + 32, L, L * 3 / 2, 2 * L,      4 * L,     8 * L, 32 * L,    128 * L,   512 * L};
  e->lengths =
      resolve_list(section_get(section, "lengths"), lengths, sizeof lengths / sizeof *lengths, &e->n_lengths, err);
  e->offsets = e->lengths ? resolve_list(section_get(section, "offsets"), offsets, sizeof offsets / sizeof *offsets,
                                         &e->n_offsets, err)
                          : NULL;
  return e->offsets ? 0 : (int)err->code;
}

/* What an interval is taken over: independent draws of a random model, or texts. */
static bool is_random(const struct model *model) {
  return model->kind == MODEL_RANDOM || model->kind == MODEL_EMBEDDINGS;
}

static int set_attributes(const struct extrapolation *e, struct record *record, struct error *err) {
  struct attributes *attributes = &record->attributes;
  int status = attributes_set_int(attributes, "train_length", (int64_t)e->train_length, err);
  status = status ? status : attributes_set_int(attributes, "window", (int64_t)e->window, err);
  status = status ? status : attributes_set_int(attributes, "queries", (int64_t)e->queries, err);
  status = status ? status : attributes_set_int(attributes, "spans", (int64_t)e->spans, err);
  status =
      status ? status : attributes_set_text(attributes, "unit", is_random(e->context->model) ? "seed" : "text", err);
  return status ? status : attributes_set_text(attributes, "mask", mask_names[e->causal], err);
}

/* As many tokens of an endless text as any part looks at. */
static size_t tokens_wanted(const struct extrapolation *e) {
  double longest = (double)e->train_length * 2; /* twice as many stretches of those */
  for (size_t i = 0; i < e->n_lengths; i++) {
    longest = fmax(longest, e->lengths[i]);
  }
  double windows = (double)EXTRAPOLATION_MAX_WINDOWS * (double)e->window;
  return (size_t)fmax(longest * (double)e->spans, windows);
}

/* All parts, with what positions do not reach made once, and what is added at the same positions, too. */
static int measure_all(const struct extrapolation *e, struct record *record, struct error *err) {
  struct experiment_context context = *e->context;
  struct extrapolation keeping = *e;
  keeping.context = &context;
  context.embedded = embedded_new(err);
  int status = context.embedded ? 0 : (int)err->code;
  if (!status && context.projections) {
    status = projections_prepare(context.projections, tokens_wanted(e), context.pool, err);
  }
  snprintf(record->signal, sizeof record->signal, "truncation_jsd");
  status = status ? status : extrapolation_lengths(&keeping, record, err);
  status = status ? status : extrapolation_rows(&keeping, record, err);
  status = status ? status : extrapolation_windows(&keeping, record, err);
  status = status ? status : extrapolation_moved(&keeping, record, err);
  status = status ? status : extrapolation_frequencies(&keeping, record, err);
  status = status ? status : extrapolation_controls(&keeping, record, err);
  embedded_free(context.embedded);
  return status;
}

static int save(const struct extrapolation *e, struct record *record, struct error *err) {
  double shortest = e->lengths[0];
  for (size_t i = 1; i < e->n_lengths; i++) {
    shortest = fmin(shortest, e->lengths[i]);
  }
  const struct key_value *wanted = section_get(e->context->entry->keys, "save");
  int status = save_tensors(e->context, wanted, 0, (size_t)shortest, e->causal, record, err);
  return status == ERROR_UNDEFINED ? 0 : status; /* nothing to store: `defined` says so */
}

static int run(const struct experiment_context *context, struct record *record, struct error *err) {
  struct extrapolation e;
  int status = resolve(context, &e, err);
  status = status ? status : set_attributes(&e, record, err);
  status = status ? status : measure_all(&e, record, err);
  status = status ? status : save(&e, record, err);
  free(e.lengths);
  free(e.offsets);
  return status;
}

const struct experiment experiment_extrapolation = {
    .info = {"extrapolation", "What happens past the training length?", &table, true, false},
    .default_seeds = 5,
    .wants_shuffled = true,
    .run = run,
    .conclude = extrapolation_conclude,
};
