/* NumPy files: every type and order that is read, and what is refused. Files are bytes as numpy.save writes them
 * (NumPy's format specification, numpy/lib/format.py), put together here. */
#include "input/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char path[] = TEST_BUILD_DIR "/test_npy.npy";

static void write_bytes(const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

/* A file of the version with this header text and these values. */
static void write_npy(unsigned version, const char *header, const void *values, size_t bytes) {
  unsigned char whole[4096] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
  size_t field = version == 1 ? 2 : 4, length = strlen(header);
  assert_true(8 + field + length + bytes <= sizeof whole);
  whole[8] = (unsigned char)(length & 255);
  whole[9] = (unsigned char)(length >> 8);
  memcpy(whole + 8 + field, header, length);
  memcpy(whole + 8 + field + length, values, bytes);
  write_bytes(whole, 8 + field + length + bytes);
}

static void expect_values(const float *expected, size_t count) {
  struct npy_array array;
  struct error err;
  if (npy_read(path, &array, &err)) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(array.count, count);
  for (size_t i = 0; i < count; i++) {
    assert_true(array.data[i] == expected[i]);
  }
  free(array.data);
}

static void expect_refused(enum error_code code, const char *expected) {
  struct npy_array array;
  struct error err = {ERROR_NONE, ""};
  char whole[1024];
  snprintf(whole, sizeof whole, "%s: %s", path, expected);
  assert_int_equal(npy_read(path, &array, &err), code);
  assert_string_equal(err.text, whole);
}

static void every_type_is_read(void **state) {
  (void)state;
  const float expected[3] = {1, -2, 100};
  const uint16_t f2[3] = {0x3c00, 0xc000, 0x5640}; /* IEEE half: 1, -2, 100 */
  const float f4[3] = {1, -2, 100};
  const double f8[3] = {1, -2, 100};
  const int8_t i1[3] = {1, -2, 100};
  const int16_t i2[3] = {1, -2, 100};
  const int32_t i4[3] = {1, -2, 100};
  const int64_t i8[3] = {1, -2, 100};
  const struct {
    const char *type;
    const void *values;
    size_t bytes;
  } cases[] = {{"<f2", f2, sizeof f2}, {"<f4", f4, sizeof f4}, {"<f8", f8, sizeof f8}, {"|i1", i1, sizeof i1},
               {"<i2", i2, sizeof i2}, {"<i4", i4, sizeof i4}, {"<i8", i8, sizeof i8}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (unsigned version = 1; version <= 3; version++) {
      char header[128];
      snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }     \n", cases[i].type);
      write_npy(version, header, cases[i].values, cases[i].bytes);
      expect_values(expected, 3);
    }
  }
  const uint64_t u8[2] = {7, UINT64_C(1) << 63};
  const float large[2] = {7, 9223372036854775808.0f};
  write_npy(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }\n", u8, sizeof u8);
  expect_values(large, 2);
  const int64_t least[1] = {INT64_MIN};
  const float least_float[1] = {-9223372036854775808.0f};
  write_npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }\n", least, sizeof least);
  expect_values(least_float, 1);
  /* Smallest half-precision numbers: 2^-24, and the largest subnormal 1023 * 2^-24. */
  const uint16_t small[2] = {0x0001, 0x83ff};
  const float small_floats[2] = {0x1p-24f, -1023 * 0x1p-24f};
  write_npy(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", small, sizeof small);
  expect_values(small_floats, 2);
}

static void orders_and_spellings(void **state) {
  (void)state;
  const float values[6] = {0, 10, 1, 11, 2, 12}, c_order[6] = {0, 1, 2, 10, 11, 12};
  write_npy(1, "{\"shape\": (2L, 3L), 'fortran_order': True,'descr': '<f4'}\n", values, sizeof values);
  expect_values(c_order, 6);
  struct npy_array array;
  struct error err;
  assert_int_equal(npy_read_entry(path, 1, &array, &err), 0);
  assert_true(array.rank == 2 && array.dim[0] == 2 && array.dim[1] == 3);
  assert_memory_equal(array.data, c_order + 3, 3 * sizeof(float));
  free(array.data);
  write_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}\n", c_order, sizeof c_order);
  assert_int_equal(npy_read_entry(path, 1, &array, &err), 0);
  assert_memory_equal(array.data, c_order + 3, 3 * sizeof(float));
  free(array.data);
  assert_int_equal(npy_read_entry(path, 2, &array, &err), ERROR_FILE_CONTENT);
  assert_int_equal(npy_shape(path, &array, &err), 0);
  assert_true(array.rank == 2 && array.count == 6 && !array.data);
  /* A scalar has no axes. */
  write_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}\n", values + 1, sizeof *values);
  expect_values(values + 1, 1);
  const double precise[1] = {1 / 3.0};
  write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}\n", precise, sizeof precise);
  assert_int_equal(npy_read_doubles(path, &array, &err), 0);
  assert_true(array.doubles[0] == 1 / 3.0);
  free(array.doubles);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  const float values[6] = {0, 1, 2, 3, 4, 5.5f};
  const size_t shapes[3][3] = {{6}, {2, 3}, {1, 3, 2}};
  for (unsigned rank = 1; rank <= 3; rank++) {
    struct error err;
    size_t bytes = 0;
    unsigned char *head = npy_head(rank, shapes[rank - 1], &bytes, &err);
    assert_non_null(head);
    assert_int_equal(bytes % 64, 0);
    char file[512];
    assert_true(bytes + sizeof values <= sizeof file);
    memcpy(file, head, bytes);
    memcpy(file + bytes, values, sizeof values);
    write_bytes(file, bytes + sizeof values);
    free(head);
    expect_values(values, 6);
  }
}

static void what_is_refused(void **state) {
  (void)state;
  const float values[2] = {1, 2};
  const char not_npy[] = "is not a .npy file", bad[] = "the header is not that of a .npy file";
  write_bytes("a text file", 11);
  expect_refused(ERROR_FILE_CONTENT, not_npy);
  write_bytes("\x93NUMPY", 6);
  expect_refused(ERROR_FILE_CONTENT, not_npy);
  write_npy(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", values, sizeof values);
  expect_refused(ERROR_FILE_CONTENT, "is a .npy file of version 4.0; versions 1 to 3 are read");
  write_bytes("\x93NUMPY\x02\x00\xff\xff\xff\x7f      ", 18);
  expect_refused(ERROR_FILE_CONTENT, "declares a header of 2147483647 bytes in a file of 18");
  write_npy(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", values, sizeof values);
  expect_refused(ERROR_FILE_REFUSED, "holds Python objects (|O), which are never loaded");
  write_npy(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", values, sizeof values);
  expect_refused(ERROR_FILE_CONTENT, "holds big-endian values (>f4); needed are little-endian ones");
  write_npy(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", values, sizeof values);
  expect_refused(ERROR_FILE_CONTENT, "holds values of type <c8; needed are float16, float32, float64 or integers");
  write_npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", values, sizeof values);
  expect_refused(ERROR_FILE_CONTENT, "holds structured records; needed are float16, float32, float64 or integers");
  write_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", values, sizeof values);
  expect_refused(ERROR_FILE_CONTENT, "declares the shape [3] with values of 4 bytes, but 8 bytes of values follow");
  write_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}", values, sizeof values);
  expect_refused(ERROR_FILE_CONTENT,
                 "declares the shape [1099511627776] with values of 4 bytes, but 8 bytes of values follow");
  /* 2^62 * 16 wraps around to 0. */
  write_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 16)}", values, 0);
  expect_refused(ERROR_FILE_CONTENT,
                 "declares the shape [4611686018427387904, 16] with values of 4 bytes, but 0 bytes of values follow");
  write_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5)}", values, 0);
  expect_refused(ERROR_FILE_CONTENT, "declares the shape [0, 5], which is empty");
  write_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}", values, sizeof values);
  expect_refused(ERROR_FILE_CONTENT, "has more than 8 axes");
  static const char *const headers[] = {
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} print(1)",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
      "{'descr': '<f4",
      "",
  };
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    write_npy(1, headers[i], values, sizeof values);
    expect_refused(ERROR_FILE_CONTENT, bad);
  }
  const double large[1] = {1e300};
  write_npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", large, sizeof large);
  expect_refused(ERROR_FILE_CONTENT, "value 0 is not a finite float32 number");
  const uint16_t infinite[2] = {0x3c00, 0x7c00};
  write_npy(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,)}", infinite, sizeof infinite);
  expect_refused(ERROR_FILE_CONTENT, "value 1 is not a finite float32 number");
  unlink(path);
  expect_refused(ERROR_FILE_READ, "cannot be opened: No such file or directory");
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_refused(ERROR_FILE_REFUSED, "is a FIFO; needed is a .npy file");
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_is_read),
      cmocka_unit_test(orders_and_spellings),
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
