/* What progress writes: words of any origin, shares that are none, lines that fit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jobs/progress.h"

static const char *const ID = "length_generalization/rope";

/* What is written when worker 0, at a job of this name, says this; to be freed. */
static char *written(const char *id, double done, const char *words) {
  struct error err = {0};
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  struct progress *progress = progress_new(stream, PROGRESS_BAR, &err);
  assert_non_null(progress);
  progress_total(progress, 3);
  progress_start(progress, 0, id);
  progress_part(progress, 0, done, words);
  progress_end(progress, "other", false, RECORD_MEASURED, NULL);
  progress_free(progress);
  assert_int_equal(fclose(stream), 0);
  return text;
}

static void test_words_are_shown(void **state) {
  (void)state;
  char *text = written(ID, 0.5, "step 50/100, loss 1.250");
  assert_non_null(strstr(text, "rope, step 50/100, loss 1.250, "));
  assert_non_null(strstr(text, " s left"));
  free(text);
}

/* Between two returns to the line's start there are fewer than 80 printable characters of ASCII, whatever came. */
static void test_any_words_fit(void **state) {
  (void)state;
  char many[4096];
  memset(many, 'x', sizeof many - 1);
  many[sizeof many - 1] = '\0';
  const char *const words[] = {many, "\033[2J\033]0;title\a", "line\nfeed\r\t", "\xc3\xa9\xff\xfe", "", NULL};
  const double shares[] = {0.5, NAN, INFINITY, -1, 1e300};
  for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
      char *text = written(w ? ID : many, shares[s], words[w]);
      for (const char *at = text; *at;) {
        if (!strncmp(at, "\r\033[K", 4)) {
          at += 4;
        }
        size_t length = strcspn(at, "\r");
        assert_true(length < 80);
        for (size_t i = 0; i < length; i++) {
          assert_in_range(at[i], ' ', '~');
        }
        at += length;
      }
      assert_null(strstr(text, "nan"));
      assert_null(strstr(text, "inf"));
      free(text);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words_are_shown), cmocka_unit_test(test_any_words_fit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
