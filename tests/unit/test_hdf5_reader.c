/* HDF5 files that others made: what is read, and what is refused by name. Hostile files point at a secret file beside
 * them, which must never be opened. */
#include "base/error.h"
#include "input/hdf5_reader.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char folder[] = TEST_BUILD_DIR "/hdf5_reader_files";

/* The path of a file in the test's folder; one at a time. */
static const char *in_folder(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static hid_t create(const char *name) {
  hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  return file;
}

/* A dataset [a][b] of the file type, written from doubles; b 0: [a] alone. */
static void put(hid_t file, const char *name, hid_t type, hsize_t a, hsize_t b, const double *values) {
  hsize_t dim[2] = {a, b};
  hid_t space = H5Screate_simple(b ? 2 : 1, dim, NULL);
  hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(dataset >= 0);
  assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

static struct hdf5_file *opened(const char *name) {
  struct error err;
  struct hdf5_file *file = hdf5_file_open(in_folder(name), &err);
  if (!file) {
    fail_msg("%s", err.text);
  }
  return file;
}

/* The sentence must be "<path of the file>: <expected>". */
static void expect_message(const char *name, const struct error *err, enum error_code code, const char *expected) {
  char whole[1024];
  snprintf(whole, sizeof whole, "%s: %s", in_folder(name), expected);
  assert_string_equal(err->text, whole);
  assert_int_equal(err->code, code);
}

static void expect_not_opened(const char *name, enum error_code code, const char *expected) {
  struct error err = {ERROR_NONE, ""};
  assert_null(hdf5_file_open(in_folder(name), &err));
  expect_message(name, &err, code, expected);
}

static void expect_refused(const char *name, const char *dataset, struct hdf5_shape shape, enum error_code code,
                           const char *expected) {
  struct error err = {ERROR_NONE, ""};
  struct hdf5_file *file = opened(name);
  float *data = NULL;
  assert_int_equal(hdf5_floats(file, dataset, &shape, &data, &err), code);
  assert_null(data);
  expect_message(name, &err, code, expected);
  hdf5_file_close(file);
}

static size_t file_size(const char *name) {
  struct stat about;
  assert_int_equal(stat(in_folder(name), &about), 0);
  return (size_t)about.st_size;
}

static const struct hdf5_shape any_vector = {.rank = 1}, any_shape = {.rank = HDF5_ANY_RANK};

static int make_folder(void **state) {
  (void)state;
  mkdir(folder, 0755);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = create("secret.h5");
  const double secret[4] = {1, 2, 3, 4};
  put(file, "w", H5T_IEEE_F32LE, 4, 0, secret);
  H5Fclose(file);
  FILE *raw = fopen(in_folder("secret.bin"), "w");
  assert_non_null(raw);
  fputs("0123456789abcdef", raw);
  fclose(raw);
  return 0;
}

static void any_number_type_is_read(void **state) {
  (void)state;
  const double values[6] = {-2, -1, 0, 1, 2, 100};
  hid_t file = create("types.h5");
  put(file, "f32", H5T_IEEE_F32LE, 2, 3, values);
  put(file, "f64_big_endian", H5T_IEEE_F64BE, 2, 3, values);
  put(file, "i8", H5T_STD_I8LE, 2, 3, values);
  put(file, "i64_big_endian", H5T_STD_I64BE, 2, 3, values);
  hid_t half = H5Tcopy(H5T_IEEE_F32LE); /* IEEE half: 1 sign, 5 exponent, 10 fraction */
  assert_true(H5Tset_fields(half, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(half, 2) >= 0 && H5Tset_ebias(half, 15) >= 0);
  put(file, "f16", half, 2, 3, values);
  H5Tclose(half);
  H5Fclose(file);
  struct hdf5_file *reader = opened("types.h5");
  static const char *const names[] = {"f32", "f64_big_endian", "i8", "i64_big_endian", "f16"};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    struct hdf5_shape shape = {.rank = 2, .dim = {2}};
    struct error err;
    float *floats = NULL;
    double *doubles = NULL;
    assert_int_equal(hdf5_floats(reader, names[n], &shape, &floats, &err), 0);
    assert_int_equal(shape.dim[1], 3);
    assert_int_equal(hdf5_doubles(reader, names[n], &shape, &doubles, &err), 0);
    for (size_t i = 0; i < 6; i++) {
      assert_true((double)floats[i] == values[i] && doubles[i] == values[i]);
    }
    free(floats);
    free(doubles);
  }
  struct hdf5_shape shape = {.rank = 2};
  struct error err;
  int32_t *whole = NULL;
  assert_int_equal(hdf5_integers(reader, "i64_big_endian", &shape, &whole, &err), 0);
  assert_int_equal(whole[0], -2);
  assert_int_equal(whole[5], 100);
  free(whole);
  float *row = NULL;
  assert_int_equal(hdf5_floats_of(reader, "i8", 1, &shape, &row, &err), 0);
  assert_true(row[0] == 1 && row[1] == 2 && row[2] == 100);
  free(row);
  assert_int_equal(hdf5_floats_of(reader, "i8", 2, &shape, &row, &err), ERROR_FILE_CONTENT);
  expect_message("types.h5", &err, ERROR_FILE_CONTENT, "i8 has 2 entries on its first axis; entry 2 is asked for");
  assert_int_equal(hdf5_integers(reader, "f32", &shape, &whole, &err), ERROR_FILE_CONTENT);
  expect_message("types.h5", &err, ERROR_FILE_CONTENT, "f32 holds numbers; needed are whole numbers");
  hdf5_file_close(reader);
}

static void put_texts(hid_t file, const char *name, hid_t type, const void *texts) {
  hsize_t count = 3;
  hid_t space = H5Screate_simple(1, &count, NULL);
  hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

static void texts_of_every_kind_are_read(void **state) {
  (void)state;
  hid_t file = create("texts.h5");
  hid_t fixed = H5Tcopy(H5T_C_S1), variable = H5Tcopy(H5T_C_S1), spaces = H5Tcopy(H5T_FORTRAN_S1);
  H5Tset_size(fixed, 4);
  H5Tset_strpad(fixed, H5T_STR_NULLPAD);
  H5Tset_cset(fixed, H5T_CSET_UTF8);
  H5Tset_size(spaces, 4);
  H5Tset_size(variable, H5T_VARIABLE);
  put_texts(file, "fixed", fixed, "he\0\0full\xe2\x96\x81\0");
  put_texts(file, "spaces", spaces, "he  fulla b ");
  const char *const list[3] = {"he", "", "a longer text"};
  put_texts(file, "variable", variable, list);
  H5Tclose(fixed);
  H5Tclose(spaces);
  H5Tclose(variable);
  H5Fclose(file);
  static const char *const expected[3][3] = {
      {"he", "full", "\xe2\x96\x81"}, {"he", "full", "a b"}, {"he", "", "a longer text"}};
  static const char *const names[3] = {"fixed", "spaces", "variable"};
  struct hdf5_file *reader = opened("texts.h5");
  for (size_t n = 0; n < 3; n++) {
    char **texts = NULL;
    size_t count = 0;
    struct error err;
    assert_int_equal(hdf5_texts(reader, names[n], &texts, &count, &err), 0);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; i++) {
      assert_string_equal(texts[i], expected[n][i]);
    }
    hdf5_free_texts(texts, count);
  }
  hdf5_file_close(reader);
}

static void put_attribute(hid_t object, const char *name, hid_t type, hid_t memory, const void *value, hsize_t count) {
  hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, NULL);
  hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, memory, value) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
}

static void attributes_are_read_and_checked(void **state) {
  (void)state;
  hid_t file = create("attributes.h5"), group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const double pair[2] = {0.5, 1}, not_finite = NAN;
  hid_t variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  const char *text = "sinusoidal";
  put_attribute(group, "half", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, pair, 1);
  put_attribute(group, "pair", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, pair, 2);
  put_attribute(group, "nan", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &not_finite, 1);
  put_attribute(group, "text", variable, variable, &text, 1);
  H5Tclose(variable);
  H5Gclose(group);
  H5Fclose(file);
  struct hdf5_file *reader = opened("attributes.h5");
  struct error err;
  bool found = false;
  double number = 7;
  char *read = NULL;
  assert_int_equal(hdf5_number(reader, "g", "half", &found, &number, &err), 0);
  assert_true(found && number == 0.5);
  assert_int_equal(hdf5_text(reader, "/g", "text", &found, &read, &err), 0);
  assert_string_equal(read, "sinusoidal");
  free(read);
  assert_int_equal(hdf5_number(reader, "g", "missing", &found, &number, &err), 0);
  assert_true(!found && number == 0.5);
  assert_int_equal(hdf5_number(reader, "nowhere", "half", &found, &number, &err), 0);
  assert_false(found);
  assert_int_equal(hdf5_number(reader, "g", "pair", &found, &number, &err), ERROR_FILE_CONTENT);
  expect_message("attributes.h5", &err, ERROR_FILE_CONTENT, "the attribute pair of g holds 2 values; needed is one");
  assert_int_equal(hdf5_number(reader, "g", "nan", &found, &number, &err), ERROR_FILE_CONTENT);
  expect_message("attributes.h5", &err, ERROR_FILE_CONTENT, "the attribute nan of g is not a finite number");
  assert_int_equal(hdf5_number(reader, "g", "text", &found, &number, &err), ERROR_FILE_CONTENT);
  expect_message("attributes.h5", &err, ERROR_FILE_CONTENT,
                 "the attribute text of g holds texts; needed are floating-point or whole numbers");
  hdf5_file_close(reader);
}

static void wrong_shapes_and_types_are_named(void **state) {
  (void)state;
  const double values[6] = {1, 2, 3, 4, 5, 6}, large[1] = {1e300}, wide[1] = {3e9}, nan_second[2] = {0, NAN};
  hid_t file = create("wrong.h5");
  put(file, "w", H5T_IEEE_F32LE, 2, 3, values);
  put(file, "large", H5T_IEEE_F64LE, 1, 0, large);
  put(file, "nan", H5T_IEEE_F32LE, 2, 0, nan_second);
  put(file, "wide", H5T_STD_I64LE, 1, 0, wide);
  hid_t compound = H5Tcreate(H5T_COMPOUND, 4), space = H5Screate(H5S_SCALAR), nothing = H5Screate(H5S_NULL);
  H5Tinsert(compound, "member", 0, H5T_NATIVE_FLOAT);
  H5Dclose(H5Dcreate2(file, "compound", compound, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Dclose(H5Dcreate2(file, "nothing", H5T_IEEE_F32LE, nothing, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  hsize_t empty = 0;
  hid_t empty_space = H5Screate_simple(1, &empty, NULL);
  H5Dclose(H5Dcreate2(file, "empty", H5T_IEEE_F32LE, empty_space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Gclose(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Tclose(compound);
  H5Sclose(space);
  H5Sclose(nothing);
  H5Sclose(empty_space);
  H5Fclose(file);
  expect_refused("wrong.h5", "/w", (struct hdf5_shape){.rank = 2, .dim = {2, 4}}, ERROR_FILE_CONTENT,
                 "/w is [2, 3]; needed is [2, 4]");
  expect_refused("wrong.h5", "/w", (struct hdf5_shape){.rank = 3, .dim = {2, 0, 4}}, ERROR_FILE_CONTENT,
                 "/w is [2, 3]; needed is [2, any, 4]");
  expect_refused("wrong.h5", "/compound", any_shape, ERROR_FILE_CONTENT,
                 "/compound holds compound records; needed are floating-point or whole numbers");
  expect_refused("wrong.h5", "/nothing", any_shape, ERROR_FILE_CONTENT, "/nothing holds nothing");
  expect_refused("wrong.h5", "/empty", any_shape, ERROR_FILE_CONTENT,
                 "/empty is [0]; needed is a shape of at most 8 axes, none of them empty");
  expect_refused("wrong.h5", "/group", any_vector, ERROR_FILE_CONTENT, "/group is a group; needed is a dataset");
  expect_refused("wrong.h5", "/missing", any_vector, ERROR_FILE_CONTENT, "there is no dataset /missing");
  expect_refused("wrong.h5", "/w/below", any_vector, ERROR_FILE_CONTENT, "there is no dataset /w/below");
  expect_refused("wrong.h5", "/large", any_vector, ERROR_FILE_CONTENT,
                 "element 0 of /large is not a finite float32 number");
  expect_refused("wrong.h5", "/nan", any_vector, ERROR_FILE_CONTENT,
                 "element 1 of /nan is not a finite float32 number");
  struct hdf5_file *reader = opened("wrong.h5");
  struct hdf5_shape shape = any_vector;
  struct error err;
  int32_t *whole = NULL;
  assert_int_equal(hdf5_integers(reader, "/wide", &shape, &whole, &err), ERROR_FILE_CONTENT);
  expect_message("wrong.h5", &err, ERROR_FILE_CONTENT,
                 "element 0 of /wide is 3000000000; allowed are -2147483648 to 2147483647");
  hdf5_file_close(reader);
}

/* Watch the secret files; the number of times that either was opened since. */
static int watch_secrets(void) {
  int watch = inotify_init1(IN_NONBLOCK);
  assert_true(watch >= 0);
  assert_true(inotify_add_watch(watch, in_folder("secret.h5"), IN_OPEN | IN_ACCESS) >= 0);
  assert_true(inotify_add_watch(watch, in_folder("secret.bin"), IN_OPEN | IN_ACCESS) >= 0);
  return watch;
}

static void assert_secrets_untouched(int watch) {
  char events[1024];
  assert_true(read(watch, events, sizeof events) < 0);
  close(watch);
}

static void links_out_of_the_file_are_refused(void **state) {
  (void)state;
  hid_t file = create("links.h5");
  assert_true(H5Lcreate_external(in_folder("secret.h5"), "/w", file, "w", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  assert_true(H5Lcreate_external(in_folder("secret.h5"), "/", file, "other", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Lcreate_soft("/other/w", file, "by_soft_link", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/b", file, "a", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("a", file, "b", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/gone", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
  hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const double values[2] = {1, 2};
  put(group, "inside", H5T_IEEE_F32LE, 2, 0, values);
  H5Lcreate_hard(file, "/g", group, "itself", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/g/inside", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("inside", group, "relative", H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(group);
  H5Fclose(file);
  char expected[1024];
  int watch = watch_secrets();
  static const char *const names[3][2] = {{"/w", "/w"}, {"/other/w", "/other"}, {"/by_soft_link", "/other"}};
  for (size_t i = 0; i < 3; i++) {
    char secret[512];
    snprintf(secret, sizeof secret, "%s", in_folder("secret.h5"));
    snprintf(expected, sizeof expected,
             "%s is an external link into another file (%s); only what is in the file itself is read", names[i][1],
             secret);
    expect_refused("links.h5", names[i][0], any_vector, ERROR_FILE_REFUSED, expected);
  }
  struct hdf5_file *reader = opened("links.h5");
  struct error err;
  bool found = false;
  double number;
  assert_int_equal(hdf5_has(reader, "/other/w", &found, &err), ERROR_FILE_REFUSED);
  assert_int_equal(hdf5_number(reader, "/other", "x", &found, &number, &err), ERROR_FILE_REFUSED);
  hdf5_file_close(reader);
  assert_secrets_untouched(watch);
  expect_refused("links.h5", "/a", any_vector, ERROR_FILE_REFUSED, "/a is a soft link that leads in a circle");
  expect_refused("links.h5", "/dangling", any_vector, ERROR_FILE_CONTENT, "there is no dataset /dangling");
  /* Links within the file are followed, also through a group that holds itself. */
  reader = opened("links.h5");
  static const char *const inside[] = {"/soft", "/g/itself/itself/inside", "/g/relative"};
  for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
    struct hdf5_shape shape = {.rank = 1, .dim = {2}};
    float *data = NULL;
    assert_int_equal(hdf5_floats(reader, inside[i], &shape, &data, &err), 0);
    assert_true(data[0] == 1 && data[1] == 2);
    free(data);
  }
  hdf5_file_close(reader);
}

static void storage_out_of_the_file_is_refused(void **state) {
  (void)state;
  hid_t file = create("storage.h5");
  hsize_t count = 4;
  hid_t space = H5Screate_simple(1, &count, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_external(properties, in_folder("secret.bin"), 0, 16) >= 0);
  H5Dclose(H5Dcreate2(file, "raw", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Pclose(properties);
  properties = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_virtual(properties, space, in_folder("secret.h5"), "/w", space) >= 0);
  H5Dclose(H5Dcreate2(file, "virtual", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
  int watch = watch_secrets();
  char expected[1024];
  snprintf(expected, sizeof expected,
           "/raw keeps its values in another file (%s); only what is in the file itself is read",
           in_folder("secret.bin"));
  expect_refused("storage.h5", "/raw", any_vector, ERROR_FILE_REFUSED, expected);
  expect_refused("storage.h5", "/virtual", any_vector, ERROR_FILE_REFUSED,
                 "/virtual is a virtual dataset, put together from other files; only what is in the file itself is "
                 "read");
  assert_secrets_untouched(watch);
}

static size_t pass_through(unsigned flags, size_t n_values, const unsigned *values, size_t count, size_t *size,
                           void **buffer) {
  (void)flags, (void)n_values, (void)values, (void)size, (void)buffer;
  return count;
}

static hid_t chunked(hsize_t chunk) {
  hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_chunk(properties, 1, &chunk) >= 0);
  return properties;
}

static void unknown_filters_are_refused(void **state) {
  (void)state;
  /* A stand-in under LZ4's number writes the file and is gone when it is read. */
  const H5Z_class2_t lz4 = {H5Z_CLASS_T_VERS, 32004, 1, 1, "lz4", NULL, NULL, pass_through};
  assert_true(H5Zregister(&lz4) >= 0);
  hid_t file = create("filter.h5");
  hsize_t count = 4;
  const double values[4] = {1, 2, 3, 4};
  hid_t space = H5Screate_simple(1, &count, NULL), properties = chunked(4);
  assert_true(H5Pset_filter(properties, 32004, H5Z_FLAG_MANDATORY, 0, NULL) >= 0);
  hid_t dataset = H5Dcreate2(file, "w", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
  assert_true(H5Zunregister(32004) >= 0);
  expect_refused("filter.h5", "/w", any_vector, ERROR_FILE_REFUSED,
                 "/w went through filter 32004 (lz4); allowed are deflate (gzip), shuffle and fletcher32");
  unsigned plugins = 1;
  assert_true(H5PLget_loading_state(&plugins) >= 0);
  assert_int_equal(plugins, 0);
}

static void the_allowed_filters_are_read(void **state) {
  (void)state;
  hid_t file = create("gzip.h5");
  hsize_t count = 100000;
  double *zeros = calloc(count, sizeof *zeros);
  hid_t space = H5Screate_simple(1, &count, NULL), properties = chunked(count);
  H5Pset_shuffle(properties);
  H5Pset_deflate(properties, 9);
  H5Pset_fletcher32(properties);
  hid_t dataset = H5Dcreate2(file, "w", H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
  struct hdf5_file *reader = opened("gzip.h5");
  struct hdf5_shape shape = any_vector;
  struct error err;
  float *data = NULL;
  if (hdf5_floats(reader, "w", &shape, &data, &err)) {
    fail_msg("%s", err.text); /* zeros are what gzip makes smallest */
  }
  assert_true(shape.dim[0] == count && data[count - 1] == 0);
  free(data);
  free(zeros);
  hdf5_file_close(reader);
}

/* A file of a few kilobytes that declares 2^40 numbers. */
static void more_elements_than_bytes_are_refused(void **state) {
  (void)state;
  hid_t file = create("huge.h5");
  hsize_t count = (hsize_t)1 << 40;
  hid_t space = H5Screate_simple(1, &count, NULL), properties = chunked(1024);
  H5Pset_deflate(properties, 9);
  H5Dclose(H5Dcreate2(file, "never_written", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  hid_t dataset = H5Dcreate2(file, "one_chunk", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Pclose(properties);
  hsize_t start = 0, length = 1024;
  float ones[1024];
  for (size_t i = 0; i < 1024; i++) {
    ones[i] = (float)i;
  }
  hid_t memory = H5Screate_simple(1, &length, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &length, NULL);
  assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, ones) >= 0);
  hsize_t stored = H5Dget_storage_size(dataset);
  H5Dclose(dataset);
  H5Dclose(H5Dcreate2(file, "contiguous", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(memory);
  H5Sclose(space);
  H5Fclose(file);
  char expected[256];
  size_t bytes = file_size("huge.h5");
  static const char *const names[] = {"/never_written", "/one_chunk", "/contiguous"};
  for (size_t i = 0; i < 3; i++) {
    snprintf(expected, sizeof expected,
             "%s declares 1099511627776 elements (4398046511104 bytes), but %llu bytes are stored for it in a file of "
             "%zu",
             names[i], i == 1 ? (unsigned long long)stored : 0ull, bytes);
    expect_refused("huge.h5", names[i], any_vector, ERROR_FILE_REFUSED, expected);
  }
}

static void only_whole_regular_hdf5_files_are_opened(void **state) {
  (void)state;
  unlink(in_folder("fifo"));
  assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
  expect_not_opened("fifo", ERROR_FILE_REFUSED, "is a FIFO; needed is an HDF5 file");
  mkdir(in_folder("folder"), 0755);
  expect_not_opened("folder", ERROR_FILE_REFUSED, "is a directory; needed is an HDF5 file");
  expect_not_opened("no_such_file", ERROR_FILE_READ, "cannot be opened: No such file or directory");
  expect_not_opened("secret.bin", ERROR_FILE_CONTENT, "is not an HDF5 file");
  fclose(fopen(in_folder("empty"), "w"));
  expect_not_opened("empty", ERROR_FILE_CONTENT, "is not an HDF5 file");
  struct error err;
  assert_null(hdf5_file_open("/dev/zero", &err));
  assert_string_equal(err.text, "/dev/zero: is a character device; needed is an HDF5 file");
  /* A file cut off in the middle. */
  hid_t file = create("cut.h5");
  const double values[4] = {1, 2, 3, 4};
  put(file, "w", H5T_IEEE_F32LE, 4, 0, values);
  H5Fclose(file);
  size_t bytes = file_size("cut.h5");
  assert_int_equal(truncate(in_folder("cut.h5"), (off_t)(bytes / 2)), 0);
  char expected[256];
  snprintf(expected, sizeof expected,
           "cannot be read as HDF5: truncated file: eof = %zu, sblock->base_addr = 0, stored_eof = %zu", bytes / 2,
           bytes);
  expect_not_opened("cut.h5", ERROR_FILE_READ, expected);
}

/* One byte of a good file's superblock changed. */
static void expect_byte_refused(off_t at, unsigned char byte, enum error_code code, const char *expected) {
  H5Fclose(create("superblock.h5"));
  FILE *file = fopen(in_folder("superblock.h5"), "r+b");
  assert_true(file && !fseeko(file, at, SEEK_SET) && fputc(byte, file) == byte);
  fclose(file);
  expect_not_opened("superblock.h5", code, expected);
}

static void strange_superblocks_are_refused(void **state) {
  (void)state;
  expect_byte_refused(8, 9, ERROR_FILE_CONTENT, "is an HDF5 file of version 9; versions 0 to 3 are read");
  expect_byte_refused(14, 4, ERROR_FILE_REFUSED, "has addresses of 8 and lengths of 4 bytes; 8 are read");
  expect_byte_refused(48, 0, ERROR_FILE_REFUSED,
                      "asks for a file driver of its own; only files that hold everything themselves are read");
}

/* MATLAB puts 512 bytes of its own first. */
static void a_block_ahead_of_the_signature_is_skipped(void **state) {
  (void)state;
  hid_t properties = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(properties, 1024);
  hid_t file = H5Fcreate(in_folder("user_block.h5"), H5F_ACC_TRUNC, properties, H5P_DEFAULT);
  H5Pclose(properties);
  H5Fclose(file);
  hdf5_file_close(opened("user_block.h5"));
}

int main(void) {
  H5dont_atexit();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_type_is_read),
      cmocka_unit_test(texts_of_every_kind_are_read),
      cmocka_unit_test(attributes_are_read_and_checked),
      cmocka_unit_test(wrong_shapes_and_types_are_named),
      cmocka_unit_test(links_out_of_the_file_are_refused),
      cmocka_unit_test(storage_out_of_the_file_is_refused),
      cmocka_unit_test(unknown_filters_are_refused),
      cmocka_unit_test(the_allowed_filters_are_read),
      cmocka_unit_test(more_elements_than_bytes_are_refused),
      cmocka_unit_test(only_whole_regular_hdf5_files_are_opened),
      cmocka_unit_test(strange_superblocks_are_refused),
      cmocka_unit_test(a_block_ahead_of_the_signature_is_skipped),
  };
  return cmocka_run_group_tests(tests, make_folder, NULL);
}
