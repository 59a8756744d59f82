/* What is the encoding itself? No question of attention yet: the rows that are added, the angles that turn, the bias by
 * distance, and what all of them come to: the logit of a token with itself, here and there. */
#include "experiments/encoding.h"

#include "base/memory.h"
#include "experiments/experiments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POSITIONS = 2048, AUTOMATIC_LENGTH = 256 };

static const struct key_spec keys[] = {
    {.key = "train_length",
     .doc = "training length L in tokens, marked in what is drawn; auto: what the weights say",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 2,
     .max = 1 << 24,
     .fallback = "auto"},
    {.key = "length",
     .doc = "positions 0 to length - 1 are looked at; auto: 2 L, at most 2048, or 256 where L is not known",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 2,
     .max = MOST_POSITIONS,
     .fallback = "auto"},
    {.key = "probes",
     .doc = "number of tokens of the first text that are repeated, one at a time, to take the mean over",
     .type = KEY_INT,
     .min = 1,
     .max = 1024,
     .fallback = "16"},
    KEY_SAVE_SPEC,
};
static const struct key_table table = {"encoding", "the scheme itself: rows, angles, biases, logits of equal tokens",
                                       keys, sizeof keys / sizeof *keys};

static bool is_padding(const struct text_tokens *text, size_t token) {
  return text->padding && text->padding[token];
}

/* Tokens to repeat: as many as are asked for, evenly spaced over the first text, without padding. */
static int choose_probes(struct encoding_job *job, size_t wanted, struct error *err) {
  const struct model *model = job->context->model;
  const struct text_tokens *text = &model->texts[0];
  size_t count = model->endless ? wanted : text->count;
  size_t usable = 0;
  for (size_t i = 0; i < count; i++) {
    usable += !is_padding(text, i);
  }
  if (!usable) {
    return error_set(err, ERROR_JOB_SETUP, "encoding needs a token to look at: the first text has none");
  }
  job->n_probes = wanted < usable ? wanted : usable;
  job->probes = memory_new(job->n_probes, sizeof *job->probes, "tokens to repeat", err);
  if (!job->probes) {
    return err->code;
  }
  size_t taken = 0;
  size_t seen = 0;
  for (size_t i = 0; i < count && taken < job->n_probes; i++) {
    if (is_padding(text, i)) {
      continue;
    }
    if (seen == taken * usable / job->n_probes) {
      job->probes[taken++] = i;
    }
    seen++;
  }
  return 0;
}

/* Whether the scheme has a value for positions 0 .. n - 1. *answer; 0 or an error that is not about being undefined. */
static int is_defined(const struct encoding_job *job, size_t n, bool *answer, struct error *err) {
  double bound;
  float *logits = encoding_logits(job, job->probes[0], n, false, &bound, err);
  *answer = logits != NULL;
  free(logits);
  return *answer || err->code == ERROR_UNDEFINED ? 0 : (int)err->code;
}

/* The longest beginning of the positions that the scheme has values for, and `defined` [position]. */
static int find_defined(struct encoding_job *job, struct record *record, struct error *err) {
  size_t least = 0;
  size_t beyond = job->length + 1;
  bool answer = false;
  int status = is_defined(job, job->length, &answer, err);
  least = answer ? job->length : 0;
  beyond = answer ? beyond : job->length;
  while (!status && beyond - least > 1) {
    size_t middle = least + (beyond - least) / 2;
    status = is_defined(job, middle, &answer, err);
    *(answer ? &least : &beyond) = middle;
  }
  if (status) {
    return status;
  }
  job->defined = least;
  struct tensor *defined =
      record_add(record,
                 &(struct tensor_spec){.name = "defined",
                                       .element = ELEMENT_U8,
                                       .rank = 1,
                                       .axis = {{.name = "position", .length = job->length, .units = "tokens"}},
                                       .long_name = "whether the scheme has a value up to this position"},
                 err);
  if (!defined) {
    return err->code;
  }
  memset(defined->data, 1, job->defined);
  return tensor_set_flags(defined, "no yes", err);
}

static int prepare(struct encoding_job *job, struct error *err) {
  const struct experiment_context *context = job->context;
  const struct key_value *train_length = section_get(context->entry->keys, "train_length");
  const struct key_value *length = section_get(context->entry->keys, "length");
  job->train_length = train_length->is_auto ? context->model->trained.max_length : (double)train_length->integer;
  double twice = job->train_length > 0 ? fmin(2 * job->train_length, MOST_POSITIONS) : AUTOMATIC_LENGTH;
  job->length = length->is_auto ? (size_t)twice : (size_t)length->integer;
  job->positions = memory_new(job->length, sizeof *job->positions, "positions", err);
  for (size_t i = 0; job->positions && i < job->length; i++) {
    job->positions[i] = (double)i;
  }
  return job->positions ? choose_probes(job, (size_t)section_get(context->entry->keys, "probes")->integer, err)
                        : (int)err->code;
}

/* Tokens of the first text that `save` is about: as many as have positions here. */
static size_t saved_tokens(const struct encoding_job *job) {
  const struct model *model = job->context->model;
  return model->endless || model->texts[0].count > job->defined ? job->defined : model->texts[0].count;
}

static int fill(struct encoding_job *job, struct record *record, struct error *err) {
  const struct experiment_context *context = job->context;
  int status = prepare(job, err);
  status = status ? status : attributes_set_int(&record->attributes, "length", (int64_t)job->length, err);
  status = status ? status : attributes_set_int(&record->attributes, "probe_tokens", (int64_t)job->n_probes, err);
  if (!status && job->train_length > 0) {
    status = attributes_set_real(&record->attributes, "train_length", job->train_length, err);
  }
  status = status ? status : find_defined(job, record, err);
  if (!status && job->defined < 2) {
    return error_set(err, ERROR_UNDEFINED, "%s has no value for two positions: nothing can be shown",
                     context->scheme_entry->label);
  }
  status = status ? status : encoding_measure_logits(job, record, err);
  status = status ? status : encoding_measure_kernel(job, record, err);
  status = status ? status : encoding_measure_derived(job, record, err);
  return status ? status
                : save_tensors(context, section_get(context->entry->keys, "save"), 0, saved_tokens(job), false, record,
                               err);
}

static int run(const struct experiment_context *context, struct record *record, struct error *err) {
  struct encoding_job job = {.context = context};
  snprintf(record->signal, sizeof record->signal, "expected_logit");
  int status = fill(&job, record, err);
  free(job.positions);
  free(job.probes);
  return status;
}

const struct experiment experiment_encoding = {
    .info = {"encoding", "What is the encoding itself?", &table, true, false},
    .run = run,
    .conclude = encoding_conclude,
};
