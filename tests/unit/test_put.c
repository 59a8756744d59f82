/* Files put in place whole, and what is refused. */
#include "results/results.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char *in_folder(void **state, const char *name) {
  static char path[4][1024];
  static int next;
  char *place = path[next++ % 4];
  snprintf(place, sizeof path[0], "%s/%s", (const char *)*state, name);
  return place;
}

static int make_folder(void **state) {
  static char folder[] = "/tmp/pe-run-put-XXXXXX";
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  *state = mkdtemp(folder);
  return *state ? 0 : -1;
}

static int remove_folder(void **state) {
  char command[1100];
  snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
  return system(command);
}

static void assert_content(const char *path, const char *content) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char bytes[100];
  size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_int_equal(count, strlen(content));
  assert_memory_equal(bytes, content, count);
}

static int count_entries(const char *folder) {
  DIR *open = opendir(folder);
  assert_non_null(open);
  int count = 0;
  while (readdir(open)) {
    count++;
  }
  closedir(open);
  return count - 2;
}

static void test_makes_folders_and_replaces(void **state) {
  struct error err;
  char *path = in_folder(state, "a/b//c/file");
  assert_int_equal(results_put(path, "old", 3, &err), 0);
  assert_content(path, "old");
  assert_int_equal(results_put(path, "newer", 5, &err), 0);
  assert_content(path, "newer");
  assert_int_equal(count_entries(in_folder(state, "a/b/c")), 1);
}

static void test_follows_a_link(void **state) {
  struct error err;
  assert_int_equal(results_put(in_folder(state, "d/target"), "old", 3, &err), 0);
  assert_int_equal(symlink("d/target", in_folder(state, "link")), 0);
  assert_int_equal(results_put(in_folder(state, "link"), "new", 3, &err), 0);
  assert_content(in_folder(state, "d/target"), "new");
  assert_int_equal(count_entries(in_folder(state, "d")), 1);
}

static void test_open_reader_keeps_the_old_file(void **state) {
  struct error err;
  char *path = in_folder(state, "read");
  assert_int_equal(results_put(path, "old", 3, &err), 0);
  FILE *reader = fopen(path, "rb");
  assert_non_null(reader);
  assert_int_equal(results_put(path, "new", 3, &err), 0);
  char bytes[3];
  assert_int_equal(fread(bytes, 1, 3, reader), 3);
  assert_memory_equal(bytes, "old", 3);
  fclose(reader);
}

static void assert_refused(const char *path, const char *why) {
  char expected[1200];
  snprintf(expected, sizeof expected, "'%s' cannot be written: %s", path, why);
  struct error err = {0};
  assert_int_equal(results_put(path, "x", 1, &err), ERROR_FILE_WRITE);
  assert_string_equal(err.text, expected);
  err = (struct error){0};
  assert_int_equal(results_prepare(path, &err), ERROR_FILE_WRITE);
  assert_string_equal(err.text, expected);
}

static void test_refusals(void **state) {
  struct error err;
  assert_refused((const char *)*state, "it is a folder");
  assert_refused("/dev/null", "it is not a regular file");
  assert_refused("", "it names no file");
  assert_refused("folder/", "it names no file");
  assert_refused("/proc/file", "making a file beside it: No such file or directory");
  assert_int_equal(results_put(in_folder(state, "plain"), "x", 1, &err), 0);
  assert_int_equal(results_put("/proc/nothing/file", "x", 1, &err), ERROR_FILE_WRITE);
  assert_string_equal(err.text, "the folder '/proc/nothing' cannot be made: No such file or directory");
  char expected[1200];
  snprintf(expected, sizeof expected, "the folder '%s' cannot be made: Not a directory", in_folder(state, "plain/sub"));
  assert_int_equal(results_put(in_folder(state, "plain/sub/file"), "x", 1, &err), ERROR_FILE_WRITE);
  assert_string_equal(err.text, expected);
  assert_int_equal(mkfifo(in_folder(state, "fifo"), 0600), 0);
  assert_refused(in_folder(state, "fifo"), "it is not a regular file");
  assert_int_equal(symlink("nothing", in_folder(state, "dangling")), 0);
  assert_refused(in_folder(state, "dangling"), "following the link: No such file or directory");
}

static void test_prepare_leaves_nothing(void **state) {
  struct error err;
  assert_int_equal(results_prepare(in_folder(state, "prepared/file"), &err), 0);
  assert_int_equal(count_entries(in_folder(state, "prepared")), 0);
}

static void test_full_name(void **state) {
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  struct error err;
  assert_int_equal(results_put(in_folder(state, name), "long", 4, &err), 0);
  assert_content(in_folder(state, name), "long");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_makes_folders_and_replaces, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_follows_a_link, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_open_reader_keeps_the_old_file, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_refusals, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_prepare_leaves_nothing, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_full_name, make_folder, remove_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
