#include "sample_results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { QUERIES = 6, HEADS = 2, LENGTHS = 4 };

static const double lengths[LENGTHS] = {128, 256, 512, 1024};

static struct axis_spec length_axis(void) {
  return (struct axis_spec){
      .name = "length", .length = LENGTHS, .values = lengths, .log_values = true, .long_name = "sequence length"};
}

static struct axis_spec counted_axis(const char *name, size_t length) {
  return (struct axis_spec){.name = name, .length = length};
}

static struct tensor *add(struct record *record, struct tensor_spec spec) {
  struct error err;
  struct tensor *tensor = record_add(record, &spec, &err);
  assert_non_null(tensor);
  return tensor;
}

static void name_record(struct record *record, const char *experiment, const char *label, const char *title) {
  snprintf(record->experiment, sizeof record->experiment, "%s", experiment);
  snprintf(record->label, sizeof record->label, "%s", label);
  snprintf(record->title, sizeof record->title, "%s", title);
  record->seed = 17;
}

static void fill_measures(struct record *record) {
  struct error err;
  struct tensor *defined =
      add(record, (struct tensor_spec){.name = "defined", .element = ELEMENT_U8, .rank = 1, .axis = {length_axis()}});
  ((uint8_t *)defined->data)[0] = 1;
  struct tensor *mass = add(record, (struct tensor_spec){.name = "mass_beyond",
                                                         .element = ELEMENT_F64,
                                                         .rank = 2,
                                                         .axis = {length_axis(), counted_axis("head", HEADS)},
                                                         .long_name = "attention mass beyond L",
                                                         .units = "1"});
  for (size_t i = 0; i + 1 < mass->count; i++) { /* the last one stays NaN */
    ((double *)mass->data)[i] = (double)i / 8;
  }
  struct tensor *samples =
      add(record, (struct tensor_spec){.name = "samples", .element = ELEMENT_I64, .rank = 1, .axis = {length_axis()}});
  ((int64_t *)samples->data)[3] = INT64_C(1) << 40;
  struct tensor *noise = add(record, (struct tensor_spec){.name = "noise_floor", .element = ELEMENT_F64});
  ((double *)noise->data)[0] = 1e-7;
  snprintf(record->signal, sizeof record->signal, "mass_beyond");
  assert_int_equal(attributes_set_text(&record->attributes, "scheme", "rope", &err), 0);
  assert_int_equal(attributes_set_int(&record->attributes, "train_length", 128, &err), 0);
  assert_int_equal(attributes_set_real(&record->attributes, "base", 10000.5, &err), 0);
  assert_int_equal(attributes_set_reals(&record->attributes, "inv_freq", (double[]){1, 0.1}, 2, &err), 0);
  assert_int_equal(attributes_set_text(&samples->attributes, "doc", "texts that reach the length", &err), 0);
}

static void fill_comparison(struct record *record) {
  struct error err;
  for (int scheme = 0; scheme < 2; scheme++) {
    const char *label = scheme ? "broken" : "rope";
    char name[RECORD_NAME];
    snprintf(name, sizeof name, "%s: truncation divergence", label);
    struct tensor *curve = add(record, (struct tensor_spec){.name = label,
                                                            .element = ELEMENT_F64,
                                                            .rank = 1,
                                                            .axis = {length_axis()},
                                                            .long_name = name,
                                                            .units = "nat",
                                                            .log_values = true});
    for (size_t i = 0; i < curve->count && !scheme; i++) {
      ((double *)curve->data)[i] = exp(-(double)i);
    }
    snprintf(name, sizeof name, "%s_status", label);
    struct tensor *status =
        add(record, (struct tensor_spec){.name = name, .element = ELEMENT_U8, .rank = 1, .axis = {length_axis()}});
    assert_int_equal(tensor_set_flags(status, "measured undefined failed not_run", &err), 0);
    memset(status->data, scheme ? RECORD_FAILED : RECORD_MEASURED, status->count);
  }
}

static void fill_tensors(struct record *record) {
  struct tensor *logits =
      add(record, (struct tensor_spec){.name = "logits",
                                       .element = ELEMENT_F32,
                                       .rank = 3,
                                       .axis = {counted_axis("head", HEADS), counted_axis("query", QUERIES),
                                                counted_axis("key", QUERIES)},
                                       .image = true});
  for (size_t i = 0; i < logits->count; i++) {
    ((float *)logits->data)[i] = (float)i;
  }
  const double shifts[] = {0.5, 1e6};
  struct axis_spec shift = {.name = "shift", .length = 2, .values = shifts, .real = true, .units = "token"};
  struct tensor *error =
      add(record, (struct tensor_spec){.name = "shift_error",
                                       .element = ELEMENT_F32,
                                       .rank = 3,
                                       .axis = {shift, counted_axis("position", 3), counted_axis("position", 3)}});
  memset(error->data, 0, error->count * sizeof(float));
}

void sample_results_make(struct sample_results *sample, const char *title) {
  *sample = (struct sample_results){0};
  name_record(&sample->records[0], "extrapolation", "rope", title);
  name_record(&sample->records[1], "extrapolation", "broken", title);
  name_record(&sample->records[2], "extrapolation", "comparison", title);
  name_record(&sample->records[3], "relative_position", "rope", title);
  fill_measures(&sample->records[0]);
  sample->records[1].status = RECORD_FAILED;
  error_set(&sample->records[1].error, ERROR_JOB_CRASHED, "broken: signal 11 while it was computing");
  fill_comparison(&sample->records[2]);
  fill_tensors(&sample->records[3]);
  for (size_t i = 0; i < 3; i++) {
    sample->extrapolation[i] = &sample->records[i];
  }
  sample->relative_position[0] = &sample->records[3];
  sample->experiments[0] = (struct results_experiment){.label = "extrapolation",
                                                       .title = "What happens past the training length?",
                                                       .records = sample->extrapolation,
                                                       .count = 3,
                                                       .shown = "comparison"};
  sample->experiments[1] = (struct results_experiment){.label = "relative_position",
                                                       .title = "Does the score depend on m - n only?",
                                                       .records = sample->relative_position,
                                                       .count = 1,
                                                       .shown = "rope"};
  sample->texts[0] = (struct results_text){.name = "config", .text = "title: größer\nseed: 17\n"};
  sample->texts[1] = (struct results_text){.name = "versions", .text = "{\"pe-run\": \"0.1.0\"}", .json = true};
  sample->file = (struct results_file){.title = title,
                                       .status = "complete",
                                       .experiments = sample->experiments,
                                       .n_experiments = 2,
                                       .shown = "extrapolation",
                                       .texts = sample->texts,
                                       .n_texts = 2};
}

void sample_results_free(struct sample_results *sample) {
  for (size_t i = 0; i < sizeof sample->records / sizeof *sample->records; i++) {
    record_free(&sample->records[i]);
  }
}
