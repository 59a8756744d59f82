#include "run_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

static char *read_all(FILE *file, size_t *count) {
  size_t capacity = 4096;
  char *bytes = malloc(capacity);
  *count = 0;
  for (;;) {
    assert_non_null(bytes);
    size_t got = fread(bytes + *count, 1, capacity - *count - 1, file);
    *count += got;
    if (got == 0) {
      break;
    }
    if (*count + 1 == capacity) {
      capacity *= 2;
      bytes = realloc(bytes, capacity);
    }
  }
  bytes[*count] = '\0';
  return bytes;
}

void config_run_start(config_run *run, const char *text, const char *arguments) {
  *run = (config_run){.handle = -1};
  snprintf(run->folder, sizeof run->folder, "/tmp/pe-run-test-XXXXXX");
  assert_non_null(mkdtemp(run->folder));
  snprintf(run->results, sizeof run->results, "%s/results.h5", run->folder);
  char path[128];
  snprintf(path, sizeof path, "%s/config.yaml", run->folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
  char command[2048];
  int length = snprintf(command, sizeof command, "'%s/pe-run' '%s' 'output=%s' --quiet %s 2>&1", TEST_BUILD_DIR, path,
                        run->results, arguments);
  assert_true(length > 0 && (size_t)length < sizeof command);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  size_t count;
  run->output = read_all(pipe, &count);
  int status = pclose(pipe);
  run->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  if (access(run->results, F_OK) == 0) {
    run->handle = H5Fopen(run->results, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(run->handle >= 0);
  }
}

void config_run_must_pass(config_run *run, const char *text, const char *arguments) {
  config_run_start(run, text, arguments);
  if (run->exit_code != 0) {
    fail_msg("exit code %d:\n%s", run->exit_code, run->output);
  }
}

bool config_run_has(const config_run *run, const char *path) {
  char part[256];
  for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
    size_t length = slash == path ? 0 : (size_t)(slash - path);
    memcpy(part, path, length);
    part[length] = '\0';
    if (length && H5Lexists(run->handle, part, H5P_DEFAULT) <= 0) {
      return false;
    }
  }
  return H5Lexists(run->handle, path, H5P_DEFAULT) > 0;
}

golden_array config_run_read(const config_run *run, const char *path) {
  golden_array array = {.dim = {1, 1, 1, 1, 1}};
  if (!config_run_has(run, path)) {
    fail_msg("no dataset %s in the results; the program said:\n%s", path, run->output);
  }
  hid_t dataset = H5Dopen2(run->handle, path, H5P_DEFAULT);
  hid_t space = H5Dget_space(dataset);
  hsize_t dims[GOLDEN_MAX_RANK];
  int rank = H5Sget_simple_extent_dims(space, dims, NULL);
  assert_true(rank >= 0 && rank <= GOLDEN_MAX_RANK);
  array.rank = (size_t)rank;
  array.n = (size_t)H5Sget_simple_extent_npoints(space);
  for (int i = 0; i < rank; i++) {
    array.dim[i] = (size_t)dims[i];
  }
  array.data = malloc((array.n ? array.n : 1) * sizeof *array.data);
  assert_non_null(array.data);
  assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data) >= 0);
  H5Sclose(space);
  H5Dclose(dataset);
  return array;
}

void *config_run_bytes(const config_run *run, size_t *count) {
  FILE *file = fopen(run->results, "rb");
  assert_non_null(file);
  char *bytes = read_all(file, count);
  fclose(file);
  return bytes;
}

void config_run_free(config_run *run) {
  char path[128];
  if (run->handle >= 0) {
    H5Fclose(run->handle);
    unlink(run->results);
  }
  snprintf(path, sizeof path, "%s/config.yaml", run->folder);
  unlink(path);
  rmdir(run->folder);
  free(run->output);
}

char *config_text(char *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int more = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  assert_true(more >= 0);
  size_t length = text ? strlen(text) : 0;
  text = realloc(text, length + (size_t)more + 1);
  assert_non_null(text);
  va_start(arguments, format);
  vsnprintf(text + length, (size_t)more + 1, format, arguments);
  va_end(arguments);
  return text;
}

char *config_numbers(const double *numbers, size_t count) {
  char *text = config_text(NULL, "%s", "");
  for (size_t i = 0; i < count; i++) {
    text = config_text(text, i ? ", %.17g" : "%.17g", numbers[i]);
  }
  return text;
}
