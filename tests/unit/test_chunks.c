/* Chunks that are packed here and not by HDF5. What is expected comes from HDF5: it reads ours, and it writes the same
 * values through its own filters, whose shuffled bytes and checksum ours are compared with. */
#include "results/chunk_grid.h"
#include "results/chunk_pack.h"
#include "results/hdf5_writer.h"

#include <hdf5_hl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

/* Rows that repeat, zeros, and numbers without order. */
static void fill(unsigned char *bytes, size_t count) {
  uint64_t state = 88172645463325252U;
  for (size_t i = 0; i < count; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    bytes[i] = (unsigned char)(i % 3000 < 1000 ? 0 : i % 3000 < 2000 ? i % 3000 * 7 : state);
  }
}

static void fill_with_noise(unsigned char *bytes, size_t count) {
  uint64_t state = 88172645463325252U;
  for (size_t i = 0; i < count; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    bytes[i] = (unsigned char)(state >> 32);
  }
}

static hid_t new_image(void) {
  hid_t file;
  struct error err;
  assert_int_equal(hdf5_image_new(&file, &err), 0);
  return file;
}

/* The dataset as hdf5_writer makes it, its axes named. */
static hid_t write_ours(hid_t file, struct hdf5_array *array, struct pool *pool) {
  struct error err;
  hid_t scales[RECORD_MAX_RANK], dataset;
  for (unsigned i = 0; i < array->rank; i++) {
    char name[] = {(char)('a' + (int)i), '\0'};
    float *values = calloc(array->dim[i], sizeof *values);
    struct hdf5_array axis = {.name = name, .element = ELEMENT_F32, .rank = 1, .dim = {array->dim[i]}, .data = values};
    assert_int_equal(hdf5_scale_new(file, &axis, &scales[i], &err), 0);
    free(values);
  }
  array->pool = pool;
  assert_int_equal(hdf5_variable_new(file, array, scales, &dataset, &err), 0);
  for (unsigned i = 0; i < array->rank; i++) {
    H5Dclose(scales[i]);
  }
  return dataset;
}

/* The same values by H5Dwrite into a dataset with the same properties. */
static hid_t write_theirs(hid_t file, hid_t like, const void *values) {
  hid_t create = H5Dget_create_plist(like), space = H5Dget_space(like), type = H5Dget_type(like);
  hid_t dataset = H5Dcreate2(file, "theirs", type, space, H5P_DEFAULT, create, H5P_DEFAULT);
  assert_true(dataset >= 0);
  assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Pclose(create);
  H5Sclose(space);
  H5Tclose(type);
  return dataset;
}

static void assert_reads_back(hid_t dataset, const void *values, size_t bytes) {
  void *read = malloc(bytes);
  hid_t type = H5Dget_type(dataset);
  H5Dflush(dataset);
  assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  assert_memory_equal(read, values, bytes);
  H5Tclose(type);
  free(read);
}

/* What zlib gets out of a chunk in the file, [bytes]; the checksum is left aside: HDF5 looks at it when it reads. */
static unsigned char *inflated(hid_t dataset, const hsize_t *start, size_t bytes) {
  hsize_t size = 0;
  uint32_t left_out = 1;
  assert_true(H5Dget_chunk_storage_size(dataset, start, &size) >= 0 && size > 4);
  unsigned char *packed = malloc(size), *out = malloc(bytes);
  assert_true(H5Dread_chunk(dataset, H5P_DEFAULT, start, &left_out, packed) >= 0);
  assert_int_equal(left_out, 0);
  uLongf count = bytes;
  assert_int_equal(uncompress(out, &count, packed, (uLong)size - 4), Z_OK);
  assert_int_equal(count, bytes);
  free(packed);
  return out;
}

static void assert_same_shuffled(hid_t ours, hid_t theirs, const struct chunk_grid *grid) {
  H5Dflush(theirs);
  for (size_t i = 0; i < grid->count; i++) {
    struct chunk_place place = chunk_grid_place(grid, i);
    unsigned char *a = inflated(ours, place.start, grid->bytes), *b = inflated(theirs, place.start, grid->bytes);
    assert_memory_equal(a, b, grid->bytes);
    free(a);
    free(b);
  }
}

static const struct {
  enum element element;
  size_t size;
  unsigned rank;
  hsize_t dim[3];
  size_t chunks; /* rows as halved by hand from at most 524288 bytes */
} cases[] = {
    {ELEMENT_F32, 4, 1, {7}, 1},
    {ELEMENT_F32, 4, 1, {300001}, 4},      /* 300001 values -> 150001 -> 75001: 300 kB */
    {ELEMENT_F32, 4, 2, {301, 1000}, 4},   /* 301 rows of 4 kB -> 151 -> 76: edge of 73 */
    {ELEMENT_F64, 8, 3, {3, 257, 300}, 6}, /* 3 -> 1 slices of 617 kB, 257 rows -> 129 ... */
    {ELEMENT_I32, 4, 2, {3, 200000}, 6},   /* 3 -> 1 rows of 800 kB, 200000 values -> 100000 */
    {ELEMENT_I64, 8, 2, {5, 5}, 1},
    {ELEMENT_U8, 1, 2, {1023, 1024}, 2}, /* 1023 -> 512 rows: edge of 511 */
};

static void test_hdf5_reads_ours_and_packs_alike(void **state) {
  (void)state;
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    struct hdf5_array array = {.name = "ours", .element = cases[c].element, .rank = cases[c].rank};
    size_t bytes = cases[c].size;
    for (unsigned i = 0; i < array.rank; i++) {
      array.dim[i] = cases[c].dim[i];
      bytes *= array.dim[i];
    }
    unsigned char *values = malloc(bytes);
    fill(values, bytes);
    array.data = values;
    hid_t file = new_image();
    hid_t ours = write_ours(file, &array, NULL), theirs = write_theirs(file, ours, values);
    struct chunk_grid grid;
    chunk_grid_choose(array.dim, array.rank, cases[c].size, &grid);
    print_message("%zu: %zu chunks of %zu bytes\n", c, grid.count, grid.bytes);
    assert_int_equal(grid.count, cases[c].chunks);
    assert_reads_back(ours, values, bytes);
    assert_reads_back(theirs, values, bytes);
    assert_same_shuffled(ours, theirs, &grid);
    H5Dclose(ours);
    H5Dclose(theirs);
    hdf5_image_drop(file);
    free(values);
  }
}

static void test_any_number_of_threads_gives_the_same_file(void **state) {
  (void)state;
  struct hdf5_array array = {.name = "ours", .element = ELEMENT_F32, .rank = 2, .dim = {700, 1111}};
  size_t bytes = 700 * 1111 * sizeof(float);
  unsigned char *values = malloc(bytes);
  fill(values, bytes);
  array.data = values;
  void *image[3];
  size_t count[3];
  for (unsigned threads = 0; threads < 3; threads++) {
    struct error err;
    struct pool *pool = threads ? pool_new(2 * threads - 1, &err) : NULL;
    hid_t file = new_image();
    H5Dclose(write_ours(file, &array, pool));
    assert_int_equal(hdf5_image_take(file, &image[threads], &count[threads], &err), 0);
    pool_free(pool);
  }
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(count[i], count[0]);
    assert_memory_equal(image[i], image[0], count[0]);
    if (i) {
      free(image[i]);
    }
  }
  free(image[0]);
  free(values);
}

static hsize_t stored_bytes(struct hdf5_array *array, const void *values, size_t bytes) {
  array->data = values;
  hid_t file = new_image();
  hid_t ours = write_ours(file, array, NULL), theirs = write_theirs(file, ours, values);
  struct chunk_grid grid;
  hid_t type = H5Dget_type(ours);
  chunk_grid_choose(array->dim, array->rank, H5Tget_size(type), &grid);
  H5Tclose(type);
  assert_reads_back(ours, values, bytes);
  assert_same_shuffled(ours, theirs, &grid);
  hsize_t stored = H5Dget_storage_size(ours);
  H5Dclose(ours);
  H5Dclose(theirs);
  hdf5_image_drop(file);
  return stored;
}

/* Random bytes are stored as they are: 5 bytes for each 65535 of them (RFC 1951), 2 + 4 of zlib's format, 4 of the
 * checksum, 5 for an empty last block. */
static void test_noise_is_stored(void **state) {
  (void)state;
  enum { COUNT = 500000 };
  unsigned char *values = malloc(COUNT);
  fill_with_noise(values, COUNT);
  struct hdf5_array array = {.name = "ours", .element = ELEMENT_U8, .rank = 1, .dim = {COUNT}};
  assert_in_range(stored_bytes(&array, values, COUNT), COUNT, COUNT + 8 * 5 + 2 + 4 + 4 + 5);
  /* Reals between 1 and 2: of eight bytes the highest is always 0x3f and the next has 4 bits of noise: 6.5 are left. */
  for (size_t i = 0; i < COUNT; i += 8) {
    values[i + 7] = 0x3f;
    values[i + 6] |= 0xf0;
  }
  array = (struct hdf5_array){.name = "ours", .element = ELEMENT_F64, .rank = 1, .dim = {COUNT / 8}};
  assert_in_range(stored_bytes(&array, values, COUNT), COUNT / 80 * 65, COUNT / 80 * 66);
  free(values);
}

/* Bytes that are equally frequent, but come again row by row. */
static void test_rows_that_repeat_are_no_noise(void **state) {
  (void)state;
  enum { ROWS = 64, COLUMNS = 8192 };
  unsigned char *values = malloc((size_t)ROWS * COLUMNS);
  fill_with_noise(values, COLUMNS);
  for (size_t row = 1; row < ROWS; row++) {
    memcpy(values + row * COLUMNS, values, COLUMNS);
  }
  struct hdf5_array array = {.name = "ours", .element = ELEMENT_U8, .rank = 2, .dim = {ROWS, COLUMNS}};
  assert_in_range(stored_bytes(&array, values, (size_t)ROWS * COLUMNS), COLUMNS, 2 * COLUMNS);
  free(values);
}

/* A file with other bytes in the middle of a chunk is refused by HDF5, which checks the sum that we made. */
static void test_checksum_is_hdf5s(void **state) {
  (void)state;
  unsigned char values[1001];
  fill(values, sizeof values);
  for (size_t bytes = 1; bytes <= sizeof values; bytes += 125) {
    struct hdf5_array array = {.name = "ours", .element = ELEMENT_U8, .rank = 1, .dim = {bytes}, .data = values};
    hid_t file = new_image();
    hid_t ours = write_ours(file, &array, NULL);
    assert_reads_back(ours, values, bytes);
    hsize_t start = 0, size = 0;
    uint32_t left_out = 0;
    assert_true(H5Dget_chunk_storage_size(ours, &start, &size) >= 0);
    unsigned char *packed = malloc(size);
    assert_true(H5Dread_chunk(ours, H5P_DEFAULT, &start, &left_out, packed) >= 0);
    packed[size - 1] ^= 1;
    H5Dclose(ours);
    ours = H5Dopen2(file, "ours", H5P_DEFAULT);
    assert_true(H5Dwrite_chunk(ours, H5P_DEFAULT, 0, &start, size, packed) >= 0);
    unsigned char read[sizeof values];
    H5E_BEGIN_TRY {
      assert_true(H5Dread(ours, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) < 0);
    }
    H5E_END_TRY;
    free(packed);
    H5Dclose(ours);
    hdf5_image_drop(file);
  }
}

static void test_other_grids_are_known_as_such(void **state) {
  (void)state;
  struct chunk_grid grid;
  const hsize_t dim[3] = {4, 6, 5};
  assert_true(chunk_grid_of(dim, (const hsize_t[]){1, 4, 5}, 3, 4, &grid));
  assert_int_equal(grid.count, 8);
  assert_int_equal(grid.bytes, 80);
  struct chunk_place place = chunk_grid_place(&grid, 5); /* the shorter one of slice 2 */
  assert_true(place.start[0] == 2 && place.start[1] == 4 && place.start[2] == 0);
  assert_int_equal(place.first, (2 * 6 + 4) * 5 * 4);
  assert_int_equal(place.bytes, 2 * 5 * 4);
  assert_false(chunk_grid_of(dim, (const hsize_t[]){2, 4, 5}, 3, 4, &grid)); /* two cuts */
  assert_false(chunk_grid_of(dim, (const hsize_t[]){1, 4, 3}, 3, 4, &grid));
  assert_false(chunk_grid_of(dim, (const hsize_t[]){5, 6, 5}, 3, 4, &grid)); /* larger than the dataset */
  assert_false(chunk_grid_of(dim, dim, 0, 4, &grid));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hdf5_reads_ours_and_packs_alike),
      cmocka_unit_test(test_any_number_of_threads_gives_the_same_file),
      cmocka_unit_test(test_noise_is_stored),
      cmocka_unit_test(test_rows_that_repeat_are_no_noise),
      cmocka_unit_test(test_checksum_is_hdf5s),
      cmocka_unit_test(test_other_grids_are_known_as_such),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
