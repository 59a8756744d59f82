/* Settings of one job: keys into numbers, data opened, what does not go together refused. */
#include "experiments/length_generalization.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t whole(const struct section *keys, const char *key) {
  return (size_t)section_get(keys, key)->integer;
}

static double real(const struct section *keys, const char *key) {
  return section_get(keys, key)->real;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Lengths ascending without repeats, with L among them. */
static int resolve_lengths(const struct section *keys, struct generalization *g, struct error *err) {
  const struct key_value *value = section_get(keys, "lengths");
  double L = (double)g->train_length;
  const double automatic[] = {L, 2 * L, 4 * L, 8 * L, 16 * L};
  const double *from = value->is_auto ? automatic : value->list;
  size_t n = value->is_auto ? sizeof automatic / sizeof *automatic : value->count;
  g->lengths = memory_new(n + 1, sizeof *g->lengths, "lengths", err);
  if (!g->lengths) {
    return ERROR_MEMORY;
  }
  memcpy(g->lengths, from, n * sizeof *from);
  g->lengths[n] = L;
  qsort(g->lengths, n + 1, sizeof *g->lengths, compare);
  for (size_t i = 0; i < n + 1; i++) {
    if (g->n_lengths == 0 || g->lengths[i] != g->lengths[g->n_lengths - 1]) {
      g->lengths[g->n_lengths++] = g->lengths[i];
    }
  }
  g->longest = (size_t)g->lengths[g->n_lengths - 1];
  while (g->lengths[g->at_train_length] != L) {
    g->at_train_length++;
  }
  return 0;
}

static int open_data(const struct experiment_context *context, struct generalization *g, struct error *err) {
  const struct section *keys = context->entry->keys;
  const struct key_value *text = section_get(keys, "text"), *corpus = section_get(keys, "corpus"),
                         *task = section_get(keys, "task");
  if (task->given) {
    data_open_task(&g->data, (enum task)(TASK_COPY + task->integer));
    return 0;
  }
  int status = text->given ? data_open_text(&g->data, (const char *const *)text->texts, text->count, err)
                           : data_open_corpus(&g->data, (size_t)corpus->integer, context->plan->seed, err);
  if (status) {
    return status;
  }
  size_t blocks = (g->targets + g->tail - 1) / g->tail, needed = g->longest + blocks * g->tail + 1;
  if (data_size(&g->data, SPLIT_TEST) < needed || data_size(&g->data, SPLIT_SELECT) <= g->train_length ||
      data_size(&g->data, SPLIT_TRAIN) <= g->train_length) {
    return error_set(
        err, ERROR_JOB_SETUP,
        "%s: the text has %zu bytes, %zu of them for testing; contexts of up to %zu tokens for %zu targets "
        "need %zu there (ten times that in all)",
        context->entry->label, g->data.count, data_size(&g->data, SPLIT_TEST), g->longest, g->targets, needed);
  }
  return 0;
}

static void resolve_shape(const struct section *keys, struct generalization *g) {
  const struct key_value *scale = section_get(keys, "score_scale");
  g->shape = (struct decoder_shape){.layers = whole(keys, "layers"),
                                    .d_model = whole(keys, "d_model"),
                                    .heads = whole(keys, "heads"),
                                    .d_ff = whole(keys, "d_ff"),
                                    .vocab = g->data.vocab,
                                    .tied = section_get(keys, "tied")->integer,
                                    .gelu = (enum gelu)section_get(keys, "gelu")->integer,
                                    .embed_scale = real(keys, "embed_scale"),
                                    .pe_scale = real(keys, "pe_scale"),
                                    .norm_epsilon = 1e-5};
  g->shape.score_scale = scale->is_auto ? 1 / sqrt((double)(g->shape.d_model / g->shape.heads)) : scale->real;
  g->follows_scheme_scale = section_get(keys, "scheme_score_scale")->integer;
}

/* T5's buckets end at L/2, so that training meets all of them (later where the buckets of one distance each reach
 * further: half of num_buckets); of several L the smallest counts. */
void generalization_scheme_defaults(const struct section *keys, const struct scheme_info *scheme,
                                    struct section *params) {
  for (size_t i = 0; !strcmp(scheme->id, "t5") && i < params->table->count; i++) {
    const struct key_spec *spec = &params->table->keys[i];
    struct key_value *value = &params->values[i];
    if (!strcmp(spec->key, "max_distance") && !value->by_user) {
      bool untouched = spec->fallback && value->integer == strtoll(spec->fallback, NULL, 10);
      int64_t half = section_get(keys, "train_length")->integer / 2;
      int64_t single = section_get(params, "num_buckets")->integer / 2;
      half = half > single ? half : single + 1;
      value->integer = untouched || half < value->integer ? half : value->integer;
      value->real = (double)value->integer;
    }
  }
}

/* ---- what does not go together ---- */

static const struct plan_scheme *scheme_named(const struct plan *plan, const char *label, size_t length) {
  for (size_t i = 0; i < plan->n_schemes; i++) {
    if (strlen(plan->schemes[i].label) == length && !strncmp(plan->schemes[i].label, label, length)) {
      return &plan->schemes[i];
    }
  }
  return NULL;
}

bool generalization_pair(const struct plan *plan, const char *text, const struct plan_scheme **a,
                         const struct plan_scheme **b) {
  const char *slash = strchr(text, '/');
  *a = slash ? scheme_named(plan, text, (size_t)(slash - text)) : NULL;
  *b = slash ? scheme_named(plan, slash + 1, strlen(slash + 1)) : NULL;
  return *a && *b && *a != *b;
}

static int check_lengths(const struct section *keys, struct error *err) {
  const struct key_value *lengths = section_get(keys, "lengths"), *stride = section_get(keys, "stride"),
                         *task = section_get(keys, "task");
  double shortest = (double)whole(keys, "train_length");
  for (size_t i = 0; !lengths->is_auto && i < lengths->count; i++) {
    shortest = fmin(shortest, lengths->list[i]);
  }
  size_t least =
      task->given ? data_shortest(&(struct data){.task = (enum task)(TASK_COPY + task->integer)}) : whole(keys, "tail");
  size_t moved = task->given ? 1 : stride->is_auto ? whole(keys, "train_length") / 2 : (size_t)stride->integer;
  if (shortest >= (double)least && shortest >= (double)moved) {
    return 0;
  }
  return error_set(err, ERROR_CONFIG_CONFLICT, "the shortest length is %.0f tokens; it must hold %s, %zu", shortest,
                   least < moved ? "the stride of sliding windows (half of train_length unless given)"
                   : task->given ? "the smallest example of the task"
                                 : "the tail",
                   least < moved ? moved : least);
}

int generalization_check(const struct plan *plan, const struct plan_experiment *entry, struct error *err) {
  const struct section *keys = entry->keys;
  const struct key_value *pairs = section_get(keys, "pairs");
  const struct plan_scheme *a, *b;
  if (section_get(keys, "text")->given + section_get(keys, "corpus")->given + section_get(keys, "task")->given != 1) {
    return error_set(err, ERROR_CONFIG_CONFLICT, "needs exactly one of text, corpus, task");
  }
  if (whole(keys, "d_model") % whole(keys, "heads")) {
    return error_set(err, ERROR_CONFIG_CONFLICT, "d_model %zu is not a multiple of heads %zu", whole(keys, "d_model"),
                     whole(keys, "heads"));
  }
  for (size_t i = 0; !pairs->is_auto && i < pairs->count; i++) {
    if (!generalization_pair(plan, pairs->texts[i], &a, &b)) {
      return error_set(err, ERROR_CONFIG_CONFLICT, "pairs: '%.200s' is not a/b, two labels of schemes of this config",
                       pairs->texts[i]);
    }
  }
  for (size_t i = 0; section_get(keys, "checkpoints")->given && i < plan->n_schemes; i++) {
    if (plan->schemes[i].other_every) {
      return error_set(err, ERROR_CONFIG_CONFLICT,
                       "checkpoints: model.weights reads models with one scheme in all layers; %s has layers of %s, "
                       "too",
                       plan->schemes[i].label, plan->schemes[i].other_scheme);
    }
  }
  return check_lengths(keys, err);
}

int generalization_open(const struct experiment_context *context, struct generalization *g, struct error *err) {
  const struct section *keys = context->entry->keys;
  const struct key_value *rates = section_get(keys, "learning_rates"), *stride = section_get(keys, "stride");
  *g = (struct generalization){.context = context,
                               .train_length = whole(keys, "train_length"),
                               .seeds = whole(keys, "seeds"),
                               .steps = whole(keys, "steps"),
                               .batch = whole(keys, "batch"),
                               .rates = rates->list,
                               .n_rates = rates->count,
                               .tail = whole(keys, "tail"),
                               .targets = whole(keys, "targets"),
                               .examples = whole(keys, "examples")};
  g->stride = stride->is_auto ? g->train_length / 2 : (size_t)stride->integer;
  g->optimiser = (struct optimiser_setting){.beta1 = 0.9,
                                            .beta2 = 0.95,
                                            .epsilon = 1e-8,
                                            .weight_decay = real(keys, "weight_decay"),
                                            .clip_norm = real(keys, "clip_norm"),
                                            .warmup_steps = whole(keys, "warmup_steps"),
                                            .total_steps = g->steps,
                                            .min_ratio = real(keys, "min_ratio")};
  int status = resolve_lengths(keys, g, err);
  status = status ? status : open_data(context, g, err);
  if (!status) {
    resolve_shape(keys, g);
  }
  return status;
}

void generalization_close(struct generalization *g) {
  free(g->lengths);
  data_close(&g->data);
  *g = (struct generalization){0};
}
