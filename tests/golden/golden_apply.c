/* `pe-run apply`, as a process, on other people's tensors: files in, files out. */
#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "golden_check.h"
#include "input/hdf5_reader.h"

enum { COMMAND = 2048 };

/* A folder of this test's own, and where things are. */
static char folder[256];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "%s/apply_XXXXXX", TEST_BUILD_DIR);
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[COMMAND];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...) {
  char arguments[COMMAND], command[2 * COMMAND];
  va_list list;
  va_start(list, format);
  vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  snprintf(command, sizeof command, "cd '%s' && '%s/pe-run' apply %s", folder, TEST_BUILD_DIR, arguments);
  if (system(command) != 0) {
    fail_msg("%s", command);
  }
}

/* What it wrote, in the shape of `expected`. To be freed. */
static float *result(const char *file, const char *dataset, const golden_array *expected) {
  struct error err = {0};
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  struct hdf5_file *opened = hdf5_file_open(path, &err);
  struct hdf5_shape shape = {.rank = (unsigned)expected->rank};
  memcpy(shape.dim, expected->dim, expected->rank * sizeof *shape.dim);
  float *data = NULL;
  if (!opened || hdf5_floats(opened, dataset, &shape, &data, &err)) {
    fail_msg("%s", err.text);
  }
  hdf5_file_close(opened);
  return data;
}

/* Through .npy files and a list: turned, then turned back at the negative positions, rows are what they were. Two
 * roundings of each, and the same angle both ways. */
static void turn_back(golden_tally *tally, const char *settings, const char *name, const golden_array *input,
                      const golden_array *positions) {
  char list[COMMAND / 2];
  size_t used = 0;
  for (size_t i = 0; i < positions->n; i++) {
    used += (size_t)snprintf(list + used, sizeof list - used, i ? ",%.17g" : "%.17g", -positions->data[i]);
  }
  run("%s --site qk --role key --positions '%s/rope.h5:/%s/in_positions' --in '%s/rope.h5:/%s/in_q' --out turned.npy",
      settings, TEST_GOLDEN_DIR, name, TEST_GOLDEN_DIR, name);
  run("%s --site qk --positions=%s --in turned.npy --out back.h5:/some/where", settings, list);
  float *got = result("back.h5", "/some/where", input);
  golden_check_floats(tally, "in_q, turned and turned back", input, got, (golden_tolerance){.absolute = 2 * 3e-7 * 2});
  free(got);
}

/* rope.h5: q at their own positions, both read from the golden file, which is float64. data/README.md: 3e-7 |x|, |x|
 * <= 2. */
static void test_rope(void **state) {
  (void)state;
  golden_file file;
  golden_tally tally;
  golden_file_open(&file, "rope.h5");
  golden_tally_begin(&tally, "apply rope.h5");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (!golden_has(&file, name, "in_q")) {
      continue;
    }
    golden_tally_case(&tally, name);
    char settings[256];
    snprintf(settings, sizeof settings, "rope base=%.17g rotary_dim=%.0f layout=%s", golden_number(&file, name, "base"),
             golden_number(&file, name, "rotary_dim"),
             golden_text_is(&file, name, "layout", "interleaved") ? "interleaved" : "half");
    run("%s --site qk --positions '%s/rope.h5:/%s/in_positions' --in '%s/rope.h5:/%s/in_q' --out turned.h5", settings,
        TEST_GOLDEN_DIR, name, TEST_GOLDEN_DIR, name);
    golden_array expected = golden_read(&file, name, "out_q"), input = golden_read(&file, name, "in_q");
    golden_array positions = golden_read(&file, name, "in_positions");
    float *got = result("turned.h5", "/result", &expected);
    golden_check_floats(&tally, "out_q", &expected, got, (golden_tolerance){.absolute = 3e-7 * 2});
    free(got);
    turn_back(&tally, settings, name, &input, &positions);
    golden_array_free(&positions);
    golden_array_free(&input);
    golden_array_free(&expected);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

/* A dataset of big-endian 8-bit integers. */
static void write_zeros(size_t rows, size_t width) {
  char path[512];
  snprintf(path, sizeof path, "%s/zeros.h5", folder);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(2, (hsize_t[]){rows, width}, NULL);
  hid_t set = H5Dcreate2(file, "x", H5T_STD_I8BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  signed char *zeros = calloc(rows * width, 1);
  assert_true(set >= 0 && zeros);
  assert_true(H5Dwrite(set, H5T_NATIVE_SCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
  free(zeros);
  assert_true(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

/* sinusoidal.h5: added to zeros, so that the table itself comes out. data/README.md, a float32 program with double
 * angles: 3e-7. */
static void test_sinusoidal(void **state) {
  (void)state;
  golden_file file;
  golden_tally tally;
  golden_file_open(&file, "sinusoidal.h5");
  golden_tally_begin(&tally, "apply sinusoidal.h5");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (golden_case_begins(name, "odd_")) {
      continue; /* refused: golden_sinusoidal.c */
    }
    golden_tally_case(&tally, name);
    golden_array expected = golden_read(&file, name, "out_table");
    write_zeros(expected.dim[0], expected.dim[1]);
    run("sinusoidal base=%.17g layout=%s frequencies=%s --site embed --positions '%s/sinusoidal.h5:/%s/in_positions' "
        "--in zeros.h5:/x --out table.h5",
        golden_number(&file, name, "base"), golden_text_is(&file, name, "layout", "concat") ? "halves" : "interleaved",
        golden_text_is(&file, name, "freq", "t2t") ? "tensor2tensor" : "vaswani", TEST_GOLDEN_DIR, name);
    float *got = result("table.h5", "/result", &expected);
    golden_check_floats(&tally, "out_table", &expected, got, (golden_tolerance){.absolute = 3e-7});
    free(got);
    golden_array_free(&expected);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

/* alibi.h5: matrices, at ranges and lists of positions. data/README.md, bias: 1e-5. */
static void test_alibi(void **state) {
  (void)state;
  golden_file file;
  golden_tally tally;
  golden_file_open(&file, "alibi.h5");
  golden_tally_begin(&tally, "apply alibi.h5");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    bool causal = golden_case_begins(name, "bias_causal");
    if (!causal && !golden_case_begins(name, "bias_symmetric")) {
      continue;
    }
    golden_tally_case(&tally, name);
    golden_array expected = golden_read(&file, name, "out_bias");
    run("alibi distance=%s --site bias --heads %zu --queries 100:%zu --keys 100,101,102,103,104,105,106,107 --out b.h5",
        causal ? "causal" : "symmetric", expected.dim[0], 100 + expected.dim[1]);
    float *got = result("b.h5", "/result", &expected);
    golden_check_floats(&tally, "out_bias", &expected, got, (golden_tolerance){.absolute = 1e-5});
    free(got);
    golden_array_free(&expected);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rope), cmocka_unit_test(test_sinusoidal),
                                     cmocka_unit_test(test_alibi)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
