#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* NIST FIPS 180-4 examples: "abc", the empty message, a million times "a". */
static const char ABC[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char EMPTY[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char MILLION[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void test_bytes(void **state) {
  (void)state;
  struct error err;
  char digest[HASH_TEXT];
  assert_int_equal(hash_bytes("abc", 3, digest, &err), 0);
  assert_string_equal(digest, ABC);
  assert_int_equal(hash_bytes("", 0, digest, &err), 0);
  assert_string_equal(digest, EMPTY);
}

static void test_file(void **state) {
  (void)state;
  struct error err;
  char digest[HASH_TEXT];
  char path[] = "/tmp/pe-run-hash-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  char block[1000];
  memset(block, 'a', sizeof block);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(write(descriptor, block, sizeof block), sizeof block);
  }
  close(descriptor);
  assert_int_equal(hash_file(path, digest, &err), 0);
  assert_string_equal(digest, MILLION);
  unlink(path);

  assert_int_equal(hash_file(path, digest, &err), ERROR_FILE_READ);
  assert_non_null(strstr(err.text, path));
  assert_non_null(strstr(err.text, "No such file"));
}

static void test_only_regular_files(void **state) {
  (void)state;
  struct error err;
  char digest[HASH_TEXT];
  assert_int_equal(hash_file("/tmp", digest, &err), ERROR_FILE_READ);
  assert_int_equal(hash_file("/dev/zero", digest, &err), ERROR_FILE_READ);
  assert_non_null(strstr(err.text, "not a regular file"));
  char path[] = "/tmp/pe-run-fifo-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(hash_file(path, digest, &err), ERROR_FILE_READ);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes),
      cmocka_unit_test(test_file),
      cmocka_unit_test(test_only_regular_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
