/* Chunks of a results file that are written again. HDF5 packs them by zlib, which gives other bytes than packing them
 * here does: so it shows which ones were taken over as they are. */
#include "jobs/stack.h"
#include "results/packed.h"
#include "results/read_results.h"

#include <hdf5.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 200, COLUMNS = 1000 }; /* float32: 781 KiB, 2 chunks of 100 rows */

static char folder[] = "/tmp/pe-test-packed-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[2][PATH_MAX];
  static unsigned turn;
  char *out = path[turn++ % 2];
  snprintf(out, PATH_MAX, "%s/%s", folder, name);
  return out;
}

/* The values of a softmax, roughly: rows that fall off, with some noise. */
static void fill(float *values, unsigned start) {
  unsigned state = start;
  for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
    state = state * 1664525u + 1013904223u;
    values[i] = i % COLUMNS > i / COLUMNS * 5 ? 0 : (float)(state >> 8) / (float)(i % COLUMNS + 1);
  }
}

static struct tensor *make_record(struct record *record, unsigned start) {
  struct error err;
  *record = (struct record){.experiment = "attention", .label = "rope", .seed = start};
  struct tensor_spec spec = {.name = "weights",
                             .element = ELEMENT_F32,
                             .rank = 2,
                             .axis = {{.name = "query", .length = ROWS}, {.name = "key", .length = COLUMNS}}};
  struct tensor *tensor = record_add(record, &spec, &err);
  assert_non_null(tensor);
  fill(tensor->data, start);
  return tensor;
}

static void write_record(const char *path, const struct record *record) {
  struct error err;
  struct results_experiment experiment = {.label = "attention", .records = &record, .count = 1};
  const struct results_file file = {.status = "complete", .experiments = &experiment, .n_experiments = 1};
  assert_int_equal(results_write(path, &file, &err), 0);
}

static hid_t open_weights(const char *path, unsigned access, hid_t *file) {
  *file = H5Fopen(path, access, H5P_DEFAULT);
  assert_true(*file >= 0);
  hid_t dataset = H5Dopen2(*file, "/attention/rope/weights", H5P_DEFAULT);
  assert_true(dataset >= 0);
  return dataset;
}

/* A record's file, its weights written once more by HDF5 itself. */
static void write_by_zlib(const char *path, const struct record *record) {
  write_record(path, record);
  hid_t file, dataset = open_weights(path, H5F_ACC_RDWR, &file);
  assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, record->tensors[0].data) >= 0);
  H5Dclose(dataset);
  H5Fclose(file);
}

static void read_packed(const char *path, struct results_read *results) {
  struct error err;
  assert_int_equal(results_read_packed(path, results, &err), 0);
  assert_non_null(results->records[0]->tensors[0].packed);
}

/* The bytes of the weights' chunk that begins at `start` [rank], to be freed. */
static unsigned char *chunk_of(const char *path, const hsize_t *start, hsize_t *length) {
  hid_t file, dataset = open_weights(path, H5F_ACC_RDONLY, &file);
  uint32_t left_out = 1;
  assert_true(H5Dget_chunk_storage_size(dataset, start, length) >= 0 && *length > 0);
  unsigned char *bytes = malloc(*length);
  assert_true(H5Dread_chunk(dataset, H5P_DEFAULT, start, &left_out, bytes) >= 0);
  assert_int_equal(left_out, 0);
  H5Dclose(dataset);
  H5Fclose(file);
  return bytes;
}

static bool same_chunk(const char *path, const hsize_t *start, const char *other, const hsize_t *other_start) {
  hsize_t length[2];
  unsigned char *a = chunk_of(path, start, &length[0]), *b = chunk_of(other, other_start, &length[1]);
  bool same = length[0] == length[1] && !memcmp(a, b, length[0]);
  free(a);
  free(b);
  return same;
}

static void assert_holds(const char *path, const void *values, size_t count) {
  hid_t file, dataset = open_weights(path, H5F_ACC_RDONLY, &file);
  float *read = malloc(count * sizeof *read);
  assert_true(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  assert_memory_equal(read, values, count * sizeof *read);
  H5Dclose(dataset);
  H5Fclose(file);
  free(read);
}

static void test_chunks_are_taken_over(void **state) {
  (void)state;
  static const hsize_t chunks[2][2] = {{0, 0}, {100, 0}};
  struct record record;
  make_record(&record, 1);
  write_record(in_folder("ours.h5"), &record);
  write_by_zlib(in_folder("zlib.h5"), &record);
  struct results_read results;
  read_packed(in_folder("zlib.h5"), &results);
  write_record(in_folder("again.h5"), results.records[0]);
  for (unsigned i = 0; i < 2; i++) {
    assert_true(same_chunk(in_folder("zlib.h5"), chunks[i], in_folder("again.h5"), chunks[i]));
    assert_false(same_chunk(in_folder("ours.h5"), chunks[i], in_folder("again.h5"), chunks[i]));
  }
  assert_holds(in_folder("again.h5"), record.tensors[0].data, record.tensors[0].count);
  results_read_free(&results);
  record_free(&record);
}

static void test_what_was_changed_is_packed_anew(void **state) {
  (void)state;
  struct record record;
  make_record(&record, 1);
  write_by_zlib(in_folder("zlib.h5"), &record);
  struct results_read results;
  read_packed(in_folder("zlib.h5"), &results);
  float *values = results.records[0]->tensors[0].data;
  values[ROWS * COLUMNS - 1] += 1; /* in the second chunk */
  write_record(in_folder("again.h5"), results.records[0]);
  assert_true(same_chunk(in_folder("zlib.h5"), (hsize_t[]){0, 0}, in_folder("again.h5"), (hsize_t[]){0, 0}));
  assert_false(same_chunk(in_folder("zlib.h5"), (hsize_t[]){100, 0}, in_folder("again.h5"), (hsize_t[]){100, 0}));
  assert_holds(in_folder("again.h5"), values, (size_t)ROWS * COLUMNS);
  results_read_free(&results);
  record_free(&record);
}

/* Two seeds become one tensor [seed, query, key], and one of them is taken out of it again. */
static void test_seeds_keep_their_chunks(void **state) {
  (void)state;
  struct record record[2], stacked, back;
  struct results_read results[2];
  static const char *const names[] = {"seed0.h5", "seed1.h5"};
  for (unsigned i = 0; i < 2; i++) {
    make_record(&record[i], i);
    write_by_zlib(in_folder(names[i]), &record[i]);
    read_packed(in_folder(names[i]), &results[i]);
  }
  struct error err;
  const struct record *const parts[] = {results[0].records[0], results[1].records[0]};
  assert_int_equal(record_stack(parts, 2, &stacked, &err), 0);
  write_record(in_folder("both.h5"), &stacked);
  for (hsize_t seed = 0; seed < 2; seed++) {
    for (hsize_t row = 0; row < ROWS; row += 100) {
      assert_true(
          same_chunk(in_folder(names[seed]), (hsize_t[]){row, 0}, in_folder("both.h5"), (hsize_t[]){seed, row, 0}));
    }
  }
  assert_holds(in_folder("both.h5"), stacked.tensors[0].data, stacked.tensors[0].count);
  assert_int_equal(record_unstack(&stacked, 1, 1, false, &back, &err), 0);
  write_record(in_folder("back.h5"), &back);
  assert_true(same_chunk(in_folder(names[1]), (hsize_t[]){100, 0}, in_folder("back.h5"), (hsize_t[]){100, 0}));
  assert_holds(in_folder("back.h5"), record[1].tensors[0].data, record[1].tensors[0].count);
  record_free(&back);
  record_free(&stacked);
  for (unsigned i = 0; i < 2; i++) {
    results_read_free(&results[i]);
    record_free(&record[i]);
  }
}

/* Any one byte of a chunk: the file is refused, as HDF5 refuses it. */
static void test_damage_is_seen(void **state) {
  (void)state;
  struct record record;
  make_record(&record, 1);
  write_record(in_folder("ours.h5"), &record);
  for (unsigned place = 0; place < 5; place++) {
    hid_t file, dataset = open_weights(in_folder("ours.h5"), H5F_ACC_RDWR, &file);
    hsize_t start[2] = {100, 0}, length;
    unsigned char *chunk = chunk_of(in_folder("ours.h5"), start, &length);
    chunk[(length - 1) * place / 4] ^= 0x10;
    assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, start, length, chunk) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    struct results_read results;
    struct error err;
    assert_int_equal(results_read_packed(in_folder("ours.h5"), &results, &err), ERROR_FILE_READ);
    assert_non_null(strstr(err.text, "/attention/rope/weights cannot be read"));
    chunk[(length - 1) * place / 4] ^= 0x10;
    dataset = open_weights(in_folder("ours.h5"), H5F_ACC_RDWR, &file);
    assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, start, length, chunk) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    free(chunk);
    read_packed(in_folder("ours.h5"), &results);
    results_read_free(&results);
  }
  record_free(&record);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const names[] = {"ours.h5", "zlib.h5", "again.h5", "seed0.h5", "seed1.h5", "both.h5", "back.h5"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    unlink(in_folder(names[i]));
  }
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chunks_are_taken_over),
      cmocka_unit_test(test_what_was_changed_is_packed_anew),
      cmocka_unit_test(test_seeds_keep_their_chunks),
      cmocka_unit_test(test_damage_is_seen),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
