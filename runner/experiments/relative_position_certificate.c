/* The certificate of one scheme over stages, formats and shifts, and the longest position of each. */
#include "experiments/certificate.h"
#include "experiments/common.h"
#include "experiments/relative_position.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum quantity {
  DRIFT_RMS,
  DRIFT_MAX,
  DRIFT_BOUND_RMS,
  DRIFT_BOUND_MAX,
  FIDELITY_RMS,
  FIDELITY_MAX,
  FIDELITY_BOUND_RMS,
  FIDELITY_BOUND_MAX,
  N_QUANTITIES
};

static const struct {
  const char *name, *long_name;
} quantities[N_QUANTITIES] = {
    [DRIFT_RMS] = {"drift_rms", "score(shift) - score(0) of the same arithmetic, rms"},
    [DRIFT_MAX] = {"drift_max", "score(shift) - score(0) of the same arithmetic, largest"},
    [DRIFT_BOUND_RMS] = {"drift_bound_rms", "predicted bound of drift_rms"},
    [DRIFT_BOUND_MAX] = {"drift_bound_max", "predicted bound of drift_max"},
    [FIDELITY_RMS] = {"fidelity_rms", "score - float64 score, rms"},
    [FIDELITY_MAX] = {"fidelity_max", "score - float64 score, largest"},
    [FIDELITY_BOUND_RMS] = {"fidelity_bound_rms", "predicted bound of fidelity_rms"},
    [FIDELITY_BOUND_MAX] = {"fidelity_bound_max", "predicted bound of fidelity_max"},
};

struct survey {
  struct certificate *certificate;
  const struct key_value *stages, *dtypes, *shifts;
  struct axis_spec axis;        /* of the shifts */
  double tolerance;             /* in logits */
  double last;                  /* distances - 1: from a shift to the last position */
  double *values[N_QUANTITIES]; /* [stage][dtype][shift], in the record */
  double *growing;              /* [stage][dtype][shift] */
  double *first;                /* [stage][dtype] fidelity_rms at shift 0 */
  double *own;                  /* [shift] own_drift_rms, in the record */
};

static enum certificate_stage stage_at(const struct survey *survey, size_t i) {
  return (enum certificate_stage)survey->stages->list[i];
}

static enum number_format dtype_at(const struct survey *survey, size_t i) {
  return (enum number_format)survey->dtypes->list[i];
}

static struct axis_spec axis_of_words(const char *name, const struct key_value *words) {
  return (struct axis_spec){.name = name, .length = words->count, .values = words->list};
}

/* Attribute NAME: the words of a list, separated by spaces. */
static int set_words(struct tensor *tensor, const char *name, const struct key_value *words, const char *const *all,
                     struct error *err) {
  struct text text = {0};
  for (size_t i = 0; i < words->count; i++) {
    text_printf(&text, "%s%s", i ? " " : "", all[(size_t)words->list[i]]);
  }
  char *joined = text_take(&text, err);
  int status = joined ? attributes_set_text(&tensor->attributes, name, joined, err) : (int)err->code;
  free(joined);
  return status;
}

/* A tensor over stage, dtype and, where `over_shifts`, shift. */
static struct tensor *add_tensor(const struct survey *survey, struct record *record, const char *name,
                                 const char *long_name, enum element element, bool over_shifts, struct error *err) {
  struct tensor *tensor =
      record_add(record,
                 &(struct tensor_spec){.name = name,
                                       .element = element,
                                       .rank = over_shifts ? 3 : 2,
                                       .axis = {axis_of_words("stage", survey->stages),
                                                axis_of_words("dtype", survey->dtypes), survey->axis},
                                       .long_name = long_name,
                                       .log_values = over_shifts},
                 err);
  if (!tensor || set_words(tensor, "stage_names", survey->stages, certificate_stage_names, err) ||
      set_words(tensor, "dtype_names", survey->dtypes, number_format_names, err)) {
    return NULL;
  }
  return tensor;
}

static double *add_by_shift(const struct survey *survey, struct record *record, const char *name, const char *long_name,
                            struct error *err) {
  struct tensor *tensor = record_add(record,
                                     &(struct tensor_spec){.name = name,
                                                           .element = ELEMENT_F64,
                                                           .rank = 1,
                                                           .axis = {survey->axis},
                                                           .long_name = long_name,
                                                           .log_values = true},
                                     err);
  return tensor ? tensor->data : NULL;
}

static int add_scalar(struct record *record, const char *name, const char *long_name, double value, struct error *err) {
  struct tensor *tensor =
      record_add(record, &(struct tensor_spec){.name = name, .element = ELEMENT_F64, .long_name = long_name}, err);
  if (!tensor) {
    return err->code;
  }
  *(double *)tensor->data = value;
  return 0;
}

static size_t place(const struct survey *survey, size_t stage, size_t dtype) {
  return stage * survey->dtypes->count + dtype;
}

/* Undefined is a result: NaN stays. */
static int is_failure(int status, struct error *err) {
  if (status == ERROR_UNDEFINED) {
    *err = (struct error){0};
    return 0;
  }
  return status;
}

static void keep(struct survey *survey, size_t at, const struct certificate_errors *errors) {
  const double of[N_QUANTITIES] = {
      [DRIFT_RMS] = errors->drift_rms,
      [DRIFT_MAX] = errors->drift_max,
      [DRIFT_BOUND_RMS] = errors->drift_bound_rms,
      [DRIFT_BOUND_MAX] = errors->drift_bound_max,
      [FIDELITY_RMS] = errors->fidelity_rms,
      [FIDELITY_MAX] = errors->fidelity_max,
      [FIDELITY_BOUND_RMS] = errors->fidelity_bound_rms,
      [FIDELITY_BOUND_MAX] = errors->fidelity_bound_max,
  };
  for (int q = 0; q < N_QUANTITIES; q++) {
    bool known = !isnan(errors->drift_rms) || q == FIDELITY_RMS || q == FIDELITY_MAX;
    survey->values[q][at] = known ? of[q] : NAN;
  }
  survey->growing[at] = errors->growing;
}

/* All stages and formats at one shift; twice [2][dtype][shift]: rms and largest, or NULL. */
static int measure_at(struct survey *survey, size_t shift, double *twice, double *own_max, struct error *err) {
  double by = survey->shifts->list[shift];
  size_t n_shifts = survey->shifts->count, n_dtypes = survey->dtypes->count;
  int status = certificate_own_drift(survey->certificate, by, &survey->own[shift], &own_max[shift], err);
  if (status) {
    return is_failure(status, err);
  }
  for (size_t i = 0; i < survey->stages->count * n_dtypes; i++) {
    enum certificate_stage stage = stage_at(survey, i / n_dtypes);
    struct certificate_errors errors;
    if (!certificate_has(survey->certificate, stage)) {
      continue;
    }
    status = certificate_measure(survey->certificate, stage, dtype_at(survey, i % n_dtypes), by, &errors, err);
    if (!status) {
      keep(survey, i * n_shifts + shift, &errors);
    }
    if (!status && twice && stage == CERTIFICATE_TWO_ROTATIONS) {
      twice[(i % n_dtypes) * n_shifts + shift] = errors.twice_rms;
      twice[(n_dtypes + i % n_dtypes) * n_shifts + shift] = errors.twice_max;
    }
    status = is_failure(status, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

static int measure_first(struct survey *survey, struct error *err) {
  size_t n_dtypes = survey->dtypes->count;
  for (size_t i = 0; i < survey->stages->count * n_dtypes; i++) {
    struct certificate_errors errors = {.fidelity_rms = NAN};
    enum certificate_stage stage = stage_at(survey, i / n_dtypes);
    int status = certificate_has(survey->certificate, stage)
                     ? certificate_off(survey->certificate, stage, dtype_at(survey, i % n_dtypes), 0, &errors, err)
                     : 0;
    survey->first[i] = status ? NAN : errors.fidelity_rms;
    status = is_failure(status, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* ---- the longest position ---- */

/* A search between a shift that holds and one that does not. */
struct search {
  size_t stage, dtype;
  enum quantity quantity; /* DRIFT_RMS or FIDELITY_RMS */
  double holds, fails;
};

static int does_hold(struct survey *survey, const struct search *search, double shift, bool *holds, struct error *err) {
  struct certificate_errors errors;
  int status = certificate_off(survey->certificate, stage_at(survey, search->stage), dtype_at(survey, search->dtype),
                               shift, &errors, err);
  double value = search->quantity == DRIFT_RMS ? errors.drift_rms : errors.fidelity_rms;
  *holds = !status && value <= survey->tolerance; /* NaN does not */
  return is_failure(status, err);
}

/* Halve until neighbours, or a thousandth of the shift, are left: at whole numbers, between ends that need not be.
 * `guess`: where the other quantity ended. */
static int narrow(struct survey *survey, struct search *search, const struct search *guess, struct error *err) {
  bool holds;
  int status = 0;
  double tries[2] = {guess->holds, guess->fails};
  for (int i = 0; !status && i < 2; i++) {
    if (tries[i] > search->holds && tries[i] < search->fails) {
      status = does_hold(survey, search, tries[i], &holds, err);
      *(holds ? &search->holds : &search->fails) = tries[i];
    }
  }
  while (!status && search->fails - search->holds > fmax(1, search->holds / 1024)) {
    double middle = fmax(floor((search->holds + search->fails) / 2), floor(search->holds) + 1);
    status = does_hold(survey, search, middle, &holds, err);
    *(holds ? &search->holds : &search->fails) = middle;
  }
  return status;
}

static int by_value(const void *a, const void *b) {
  double x = **(const double *const *)a, y = **(const double *const *)b;
  return (x > y) - (x < y);
}

/* The shifts of 0 and more from small to large, as pointers into the list; how many. To be freed. */
static const double **ordered_shifts(const struct key_value *shifts, size_t *count, struct error *err) {
  const double **out = memory_new(shifts->count, sizeof *out, "shifts", err);
  *count = 0;
  for (size_t i = 0; out && i < shifts->count; i++) {
    if (shifts->list[i] >= 0) {
      out[(*count)++] = &shifts->list[i];
    }
  }
  if (out) {
    qsort(out, *count, sizeof *out, by_value);
  }
  return out;
}

/* Why it fails first at this shift. */
static enum certificate_outcome outcome_at(const struct survey *survey, const struct search *search, size_t shift) {
  size_t at = place(survey, search->stage, search->dtype) * survey->shifts->count + shift;
  if (isnan(survey->own[shift])) {
    return OUTCOME_UNDEFINED;
  }
  if (search->quantity == DRIFT_RMS && survey->own[shift] > survey->tolerance) {
    return OUTCOME_NOT_INVARIANT;
  }
  bool ends = isnan(survey->values[search->quantity][at]); /* the format does, before the scheme */
  return !ends && survey->growing[at] <= survey->tolerance ? OUTCOME_LIMITED_BY_DTYPE : OUTCOME_LIMITED_BY_POSITION;
}

static int find_longest(struct survey *survey, struct search *search, const struct search *guess,
                        const double *const *ordered, size_t count, double *longest, uint8_t *outcome,
                        struct error *err) {
  size_t at = place(survey, search->stage, search->dtype), first_failing = count;
  const double *values = survey->values[search->quantity] + at * survey->shifts->count;
  bool from_first = search->quantity == FIDELITY_RMS && !(survey->first[at] <= survey->tolerance);
  search->holds = 0;
  search->fails = NAN;
  *longest = NAN;
  for (size_t i = 0; i < count && first_failing == count; i++) {
    bool holds = values[ordered[i] - survey->shifts->list] <= survey->tolerance;
    first_failing = holds ? count : i;
    search->holds = holds ? *ordered[i] : search->holds;
  }
  if (count == 0) { /* the shifts are all below 0 */
    *outcome = OUTCOME_NOT_MEASURED;
    return 0;
  }
  if (first_failing == count && !from_first) {
    *outcome = OUTCOME_WITHIN;
    *longest = search->holds + survey->last;
    return 0;
  }
  size_t failing = first_failing < count ? first_failing : 0;
  size_t shift = (size_t)(ordered[failing] - survey->shifts->list);
  enum certificate_outcome why = outcome_at(survey, search, shift);
  bool grows = why != OUTCOME_LIMITED_BY_DTYPE;
  if (from_first || !grows) {
    *outcome = why == OUTCOME_LIMITED_BY_POSITION ? OUTCOME_LIMITED_BY_BOTH : (uint8_t)why;
    return 0;
  }
  search->fails = *ordered[failing];
  int status = narrow(survey, search, guess, err);
  bool nowhere = search->holds == 0; /* a shift of 0 is no shift */
  *outcome = nowhere && why == OUTCOME_LIMITED_BY_POSITION ? OUTCOME_LIMITED_BY_BOTH : (uint8_t)why;
  *longest = nowhere ? NAN : search->holds + survey->last;
  return status;
}

static const char outcome_words[] = "not_measured within_everywhere limited_by_position limited_by_dtype "
                                    "limited_by_both not_shift_invariant undefined";

static int measure_longest(struct survey *survey, struct record *record, struct error *err) {
  static const char *const names[] = {"drift_longest_position", "fidelity_longest_position", "drift_outcome",
                                      "fidelity_outcome"};
  static const char *const long_names[] = {"last position up to which drift stays within tolerance",
                                           "last position up to which fidelity stays within tolerance", "what ends it",
                                           "what ends it"};
  void *data[4];
  for (size_t i = 0; i < 4; i++) {
    struct tensor *tensor =
        add_tensor(survey, record, names[i], long_names[i], i < 2 ? ELEMENT_F64 : ELEMENT_U8, false, err);
    if (!tensor || (i >= 2 && tensor_set_flags(tensor, outcome_words, err))) {
      return err->code;
    }
    data[i] = tensor->data;
  }
  size_t count;
  const double **ordered = ordered_shifts(survey->shifts, &count, err);
  int status = ordered ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < survey->stages->count * survey->dtypes->count; i++) {
    struct search drift = {.stage = i / survey->dtypes->count,
                           .dtype = i % survey->dtypes->count,
                           .quantity = DRIFT_RMS,
                           .holds = NAN,
                           .fails = NAN};
    struct search fidelity = drift;
    const struct search nothing = drift;
    fidelity.quantity = FIDELITY_RMS;
    if (!certificate_has(survey->certificate, stage_at(survey, drift.stage))) {
      continue;
    }
    status = find_longest(survey, &drift, &nothing, ordered, count, (double *)data[0] + i, (uint8_t *)data[2] + i, err);
    status = status ? status
                    : find_longest(survey, &fidelity, &drift, ordered, count, (double *)data[1] + i,
                                   (uint8_t *)data[3] + i, err);
  }
  free(ordered);
  return status;
}

/* ---- all of it ---- */

static int add_quantities(struct survey *survey, struct record *record, double tolerance, struct error *err) {
  for (int q = 0; q < N_QUANTITIES; q++) {
    struct tensor *tensor =
        add_tensor(survey, record, quantities[q].name, quantities[q].long_name, ELEMENT_F64, true, err);
    if (!tensor || attributes_set_real(&tensor->attributes, "tolerance", tolerance, err)) {
      return err->code;
    }
    survey->values[q] = tensor->data;
  }
  size_t count = survey->stages->count * survey->dtypes->count;
  survey->growing = memory_new(count, survey->shifts->count * sizeof *survey->growing, "certificate", err);
  survey->first = survey->growing ? memory_new(count, sizeof *survey->first, "certificate", err) : NULL;
  for (size_t i = 0; survey->first && i < count * survey->shifts->count; i++) {
    survey->growing[i] = NAN;
  }
  return survey->first ? 0 : (int)err->code;
}

/* twice [2][dtype][shift] into two tensors. */
static int add_twice(const struct survey *survey, struct record *record, const double *twice, struct error *err) {
  static const char *const names[] = {"two_rotations_rms", "two_rotations_max"};
  static const char *const long_names[] = {"two rotations in a row - one, stored in the format, rms",
                                           "two rotations in a row - one, stored in the format, largest"};
  for (size_t i = 0; i < 2; i++) {
    struct tensor *tensor =
        record_add(record,
                   &(struct tensor_spec){.name = names[i],
                                         .element = ELEMENT_F64,
                                         .rank = 2,
                                         .axis = {axis_of_words("dtype", survey->dtypes), survey->axis},
                                         .long_name = long_names[i],
                                         .log_values = true},
                   err);
    if (!tensor || set_words(tensor, "dtype_names", survey->dtypes, number_format_names, err)) {
      return err->code;
    }
    memcpy(tensor->data, twice + i * tensor->count, tensor->count * sizeof *twice);
  }
  return 0;
}

static const char *way_name(const struct certificate *certificate) {
  switch (certificate_way(certificate)) {
  case CERTIFICATE_TURNED:
    return "redone: rows turned by its angles";
  case CERTIFICATE_SINUSOIDS:
    return "redone: rows of sines and cosines, without content";
  case CERTIFICATE_AS_IT_IS:
    break;
  }
  return certificate_acts(certificate) == PE_SITE_EMBED
             ? "as it is, without content: only what enters and leaves the scheme is rounded"
             : "as it is: only what enters and leaves the scheme is rounded";
}

static int add_frame(struct survey *survey, struct record *record, struct error *err) {
  const struct certificate *certificate = survey->certificate;
  int status = add_scalar(record, "certificate_spread", "standard deviation of the float64 logits",
                          certificate_spread(certificate), err);
  status = status ? status
                  : add_scalar(record, "redone_difference",
                               "redone rows - the plugin's, relative to the largest pair of channels",
                               certificate_redone_difference(certificate), err);
  status = status ? status
                  : add_scalar(record, "redone_bound", "what float32 arithmetic may leave of it",
                               certificate_redone_bound(), err);
  return status ? status : attributes_set_text(&record->attributes, "certificate", way_name(certificate), err);
}

static bool asks_for(const struct key_value *stages, enum certificate_stage stage) {
  for (size_t i = 0; i < stages->count; i++) {
    if ((enum certificate_stage)stages->list[i] == stage) {
      return true;
    }
  }
  return false;
}

static int fill(const struct experiment_context *context, struct survey *survey, struct record *record,
                struct error *err) {
  size_t n_shifts = survey->shifts->count, count = 2 * survey->dtypes->count * n_shifts;
  double tolerance = section_get(context->entry->keys, "tolerance")->real;
  bool asks = asks_for(survey->stages, CERTIFICATE_TWO_ROTATIONS) &&
              certificate_has(survey->certificate, CERTIFICATE_TWO_ROTATIONS);
  survey->tolerance = tolerance * certificate_spread(survey->certificate);
  int status = add_frame(survey, record, err);
  status = status ? status : add_quantities(survey, record, tolerance, err);
  survey->own = status ? NULL : add_by_shift(survey, record, "own_drift_rms", "change of the float64 score, rms", err);
  double *own_max =
      survey->own ? add_by_shift(survey, record, "own_drift_max", "change of the float64 score, largest", err) : NULL;
  double *twice = own_max ? memory_new(count, sizeof *twice, "certificate", err) : NULL;
  status = twice ? 0 : (int)err->code;
  for (size_t i = 0; twice && i < count; i++) {
    twice[i] = NAN;
  }
  for (size_t shift = 0; !status && shift < n_shifts; shift++) {
    status = measure_at(survey, shift, asks ? twice : NULL, own_max, err);
    if (context->progress) {
      context->progress(context->progress_context, 0.5 + 0.5 * (double)(shift + 1) / (double)n_shifts, NULL);
    }
  }
  status = status ? status : measure_first(survey, err);
  status = status ? status : measure_longest(survey, record, err);
  if (!status && asks) {
    status = add_twice(survey, record, twice, err);
  }
  free(twice);
  return status;
}

static double farthest(const struct key_value *shifts) {
  double out = 0;
  for (size_t i = 0; i < shifts->count; i++) {
    out = fabs(shifts->list[i]) > fabs(out) ? shifts->list[i] : out;
  }
  return out;
}

int measure_certificate(const struct experiment_context *context, struct record *record, struct error *err) {
  const struct section *keys = context->entry->keys;
  const struct model *model = context->model;
  struct survey survey = {.stages = section_get(keys, "stages"),
                          .dtypes = section_get(keys, "dtypes"),
                          .shifts = section_get(keys, "shifts"),
                          .axis = axis_of_shifts(context)};
  struct certificate_setting setting = {.scheme = context->scheme,
                                        .layer = model->layer,
                                        .n_heads = model->n_heads,
                                        .n_kv_heads = model->n_kv_heads,
                                        .head_dim = model->head_dim,
                                        .d_model = model->d_model,
                                        .samples = (size_t)section_get(keys, "samples")->integer,
                                        .distances = (size_t)section_get(keys, "distances")->integer,
                                        .seed = context->seed};
  if (survey.stages->count == 0 || survey.dtypes->count == 0) {
    return 0;
  }
  survey.last = (double)setting.distances - 1;
  int status = certificate_open(&setting, farthest(survey.shifts), &survey.certificate, err);
  if (status == ERROR_UNDEFINED) {
    status = attributes_set_text(&record->attributes, "certificate", err->text, err);
    *err = status ? *err : (struct error){0};
    return status;
  }
  status = status ? status : fill(context, &survey, record, err);
  certificate_close(survey.certificate);
  free(survey.growing);
  free(survey.first);
  return status;
}
