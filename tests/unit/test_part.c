/* A job's record through its part file and back: the same bits, and the same file when it is written again. Damaged
 * parts and those of other jobs are refused. */
#include "jobs/part.h"
#include "jobs/record_digest.h"
#include "real_plan.h"
#include "results/results.h"

#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ENVIRONMENT "{\"cpu\": \"\\u00fc\"}"

/* Every experiment; records that are measured, undefined (learned beyond its table) and failed (an odd head_dim for
 * rope's pairs is refused). */
static const char config[] = "model: {random: {heads: 2, kv_heads: 1, head_dim: 8, d_model: 12, length: 6}}\n"
                             "seed: 3\nseeds: 1\n"
                             "schemes: [none, sinusoidal, rope, alibi, learned: {max_positions: 40},\n"
                             "  {learned: {max_positions: 3}, label: short}]\n"
                             "experiments:\n"
                             "  - equivariance: {mask: [none, causal], save: [attention_weights, logits, q, k, v]}\n"
                             "  - relative_position: {length: 6, shifts: [1, 7, 1000]}\n"
                             "  - extrapolation: {train_length: 16, lengths: [8, 16, 32], window: 4, queries: 4,\n"
                             "      offsets: [1, 2, 3, 9, 20], save: [logits]}\n"
                             "  - attention: {save: [attention_weights, q, embeddings]}\n";

static void folder_make(char folder[64]) {
  snprintf(folder, 64, "/tmp/pe-run-part-XXXXXX");
  assert_non_null(mkdtemp(folder));
}

static void folder_remove(const char *folder) {
  struct error err;
  char *path = part_path(folder, KEY, &err);
  unlink(path);
  free(path);
  assert_int_equal(rmdir(folder), 0);
}

static void image_of(const struct record *record, void **bytes, size_t *count) {
  struct error err;
  struct results_experiment experiment = {.label = record->experiment, .records = &record, .count = 1};
  struct results_file file = {.title = "", .status = "complete", .experiments = &experiment, .n_experiments = 1};
  assert_int_equal(results_image(&file, bytes, count, &err), 0);
}

static void assert_same_tensor(const struct tensor *a, const struct tensor *b) {
  assert_string_equal(a->name, b->name);
  assert_string_equal(a->long_name, b->long_name);
  assert_string_equal(a->units, b->units);
  assert_int_equal(a->element, b->element);
  assert_int_equal(a->rank, b->rank);
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->image, b->image);
  assert_int_equal(a->log_values, b->log_values);
  assert_memory_equal(a->data, b->data, a->count * record_element_size(a->element));
  for (unsigned i = 0; i < a->rank; i++) {
    assert_string_equal(a->axis[i].name, b->axis[i].name);
    assert_string_equal(a->axis[i].long_name, b->axis[i].long_name);
    assert_string_equal(a->axis[i].units, b->axis[i].units);
    assert_int_equal(a->axis[i].length, b->axis[i].length);
    for (size_t k = 0; k < a->axis[i].length; k++) {
      double x = a->axis[i].values ? a->axis[i].values[k] : (double)k;
      double y = b->axis[i].values ? b->axis[i].values[k] : (double)k;
      assert_memory_equal(&x, &y, sizeof x);
    }
  }
}

static void assert_same_attributes(const struct attributes *a, const struct attributes *b) {
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; i++) {
    const struct attribute *x = &a->items[i], *y = &b->items[i];
    assert_string_equal(x->name, y->name);
    assert_int_equal(x->kind, y->kind);
    if (x->kind == ATTRIBUTE_TEXT) {
      assert_string_equal(x->text, y->text);
    } else if (x->kind == ATTRIBUTE_REAL) {
      assert_memory_equal(&x->real, &y->real, sizeof x->real);
    } else if (x->kind == ATTRIBUTE_INT) {
      assert_int_equal(x->integer, y->integer);
    }
  }
}

static void assert_same_record(const struct record *a, const struct record *b) {
  assert_string_equal(a->experiment, b->experiment);
  assert_string_equal(a->label, b->label);
  assert_string_equal(a->title, b->title);
  assert_int_equal(a->seed, b->seed);
  assert_int_equal(a->status, b->status);
  assert_int_equal(a->error.code, b->error.code);
  assert_string_equal(a->error.text, b->error.text);
  assert_same_attributes(&a->attributes, &b->attributes);
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; i++) {
    assert_same_tensor(&a->tensors[i], &b->tensors[i]);
  }
  void *bytes[2];
  size_t count[2];
  image_of(a, &bytes[0], &count[0]);
  image_of(b, &bytes[1], &count[1]);
  assert_int_equal(count[0], count[1]);
  assert_memory_equal(bytes[0], bytes[1], count[0]);
  free(bytes[0]);
  free(bytes[1]);
}

static void every_record_comes_back_bit_for_bit(void **state) {
  (void)state;
  char folder[64];
  struct real_plan real;
  size_t met[RECORD_NOT_RUN + 1] = {0};
  folder_make(folder);
  real_plan_open(&real, config, NULL, 0);
  for (size_t i = 0; i < real.plan->n_jobs; i++) {
    struct error err;
    struct record record, back;
    char *environment = NULL;
    real_plan_run(&real, i, &record);
    if (part_write(folder, KEY, &record, ENVIRONMENT, NULL, &err)) {
      fail_msg("%s", err.text);
    }
    if (part_read(folder, KEY, &back, &environment, NULL, &err)) {
      fail_msg("%s", err.text);
    }
    assert_string_equal(environment, ENVIRONMENT);
    assert_same_record(&record, &back);
    met[record.status]++;
    free(environment);
    record_free(&record);
    record_free(&back);
  }
  printf("%zu measured, %zu undefined, %zu failed\n", met[RECORD_MEASURED], met[RECORD_UNDEFINED], met[RECORD_FAILED]);
  assert_true(met[RECORD_MEASURED] >= 16 && met[RECORD_UNDEFINED] >= 1);
  real_plan_close(&real);
  folder_remove(folder);
}

static void a_failure_comes_back(void **state) {
  (void)state;
  char folder[64];
  struct error err;
  struct record record = {.experiment = "e", .label = "x", .title = "e: x", .seed = UINT64_MAX}, back;
  record.status = RECORD_FAILED;
  error_set(&record.error, ERROR_SCHEME_VALUE, "x: not a number at \"%d\"\n\ttab \303\274", 7);
  folder_make(folder);
  assert_int_equal(attributes_set_text(&record.attributes, "params", "{}", &err), 0);
  assert_int_equal(attributes_set_real(&record.attributes, "tiny", 4.9406564584124654e-324, &err), 0);
  assert_int_equal(attributes_set_int(&record.attributes, "least", INT64_MIN, &err), 0);
  assert_int_equal(part_write(folder, KEY, &record, ENVIRONMENT, NULL, &err), 0);
  assert_int_equal(part_read(folder, KEY, &back, NULL, NULL, &err), 0);
  assert_same_record(&record, &back);
  record_free(&record);
  record_free(&back);
  folder_remove(folder);
}

/* Zero has no logarithm: the wish is not granted, neither in memory nor in the file. */
static void a_logarithmic_axis_that_holds_zero_comes_back(void **state) {
  (void)state;
  char folder[64];
  struct error err;
  const double with_zero[] = {0, 1, 10}, positive[] = {1, 10};
  struct record record = {.experiment = "e", .label = "x", .title = "x", .status = RECORD_MEASURED}, back;
  struct tensor_spec spec = {.name = "a",
                             .element = ELEMENT_F64,
                             .rank = 1,
                             .axis = {{.name = "shift", .length = 3, .values = with_zero, .log_values = true}}};
  folder_make(folder);
  const struct tensor *tensor = record_add(&record, &spec, &err);
  assert_non_null(tensor);
  assert_false(tensor->axis[0].log_values);
  spec.name = "b";
  spec.axis[0] = (struct axis_spec){.name = "length", .length = 2, .values = positive, .log_values = true};
  tensor = record_add(&record, &spec, &err);
  assert_non_null(tensor);
  assert_true(tensor->axis[0].log_values);
  assert_int_equal(part_write(folder, KEY, &record, ENVIRONMENT, NULL, &err), 0);
  if (part_read(folder, KEY, &back, NULL, NULL, &err)) {
    fail_msg("%s", err.text);
  }
  assert_same_record(&record, &back);
  record_free(&record);
  record_free(&back);
  folder_remove(folder);
}

static void write_any(const char *folder, const char *key) {
  struct error err;
  struct record record = {.experiment = "e", .label = "x", .status = RECORD_MEASURED};
  struct tensor *tensor = record_add(
      &record, &(struct tensor_spec){.name = "t", .element = ELEMENT_F64, .rank = 1, .axis = {{"i", .length = 4000}}},
      &err);
  for (size_t i = 0; i < tensor->count; i++) {
    ((double *)tensor->data)[i] = (double)(i * 2654435761u % 4093);
  }
  assert_int_equal(part_write(folder, key, &record, ENVIRONMENT, NULL, &err), 0);
  record_free(&record);
}

/* Flip one byte after the other (in steps) of a part: it is refused, or reads back the same; never other numbers. */
static void a_damaged_part_is_refused(void **state) {
  (void)state;
  char folder[64];
  struct error err;
  folder_make(folder);
  write_any(folder, KEY);
  struct record sound;
  char expected[HASH_TEXT];
  assert_int_equal(part_read(folder, KEY, &sound, NULL, NULL, &err), 0);
  assert_int_equal(record_digest(&sound, expected, &err), 0);
  char *path = part_path(folder, KEY, &err);
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  size_t refused = 0, same = 0, other = 0;
  for (long at = 0; at < size; at += 61) {
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 0x10, file), byte ^ 0x10);
    assert_int_equal(fflush(file), 0);
    struct record record;
    if (part_read(folder, KEY, &record, NULL, NULL, &err)) {
      refused++;
    } else {
      char digest[HASH_TEXT];
      assert_int_equal(record_digest(&record, digest, &err), 0);
      bool equal = !strcmp(digest, expected);
      same += equal;
      other += !equal;
      record_free(&record);
    }
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte, file), byte);
  }
  fclose(file);
  printf("%zu damaged bytes: %zu refused, %zu without effect on the record, %zu with\n", refused + same + other,
         refused, same, other);
  assert_true(refused > 50);
  assert_int_equal(other, 0);
  record_free(&sound);
  free(path);
  folder_remove(folder);
}

static void another_jobs_part_is_refused(void **state) {
  (void)state;
  static const char other[] = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
  char folder[64];
  struct error err;
  struct record record;
  folder_make(folder);
  write_any(folder, other);
  char *from = part_path(folder, other, &err), *to = part_path(folder, KEY, &err);
  assert_int_equal(rename(from, to), 0);
  assert_int_equal(part_read(folder, KEY, &record, NULL, NULL, &err), ERROR_FILE_CONTENT);
  assert_non_null(strstr(err.text, "another job"));
  unlink(to);
  assert_int_equal(part_read(folder, KEY, &record, NULL, NULL, &err), ERROR_FILE_READ);
  free(from);
  free(to);
  folder_remove(folder);
}

int main(void) {
  H5dont_atexit(); /* the library complains at exit of damaged files that it could not open */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_record_comes_back_bit_for_bit),
      cmocka_unit_test(a_failure_comes_back),
      cmocka_unit_test(a_logarithmic_axis_that_holds_zero_comes_back),
      cmocka_unit_test(a_damaged_part_is_refused),
      cmocka_unit_test(another_jobs_part_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
