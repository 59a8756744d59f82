#include "golden_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PRINTED_FAILURES = 20 };

void golden_tally_begin(golden_tally *tally, const char *file) {
  memset(tally, 0, sizeof *tally);
  tally->file = file;
  tally->current = "";
}

void golden_tally_case(golden_tally *tally, const char *name) {
  tally->current = name;
  tally->cases++;
}

void golden_leave_out(golden_tally *tally, const char *name, const char *reason) {
  print_message("%s: %s left out: %s\n", tally->file, name, reason);
  tally->left_out++;
}

void golden_tally_end(golden_tally *tally) {
  print_message("%s: %zu cases compared, %zu left out, %zu values, largest error %.3g of its tolerance%s%s\n",
                tally->file, tally->cases, tally->left_out, tally->values, tally->worst,
                tally->worst_where[0] ? " in " : "", tally->worst_where);
  if (tally->failures) {
    fail_msg("%s: %zu of %zu values are off", tally->file, tally->failures, tally->values);
  }
  if (!tally->values) {
    fail_msg("%s: nothing was compared", tally->file);
  }
}

/* "[1,15,7]": the element's place in the expected array. */
static void print_index(char *text, size_t size, const golden_array *array, size_t element) {
  size_t index[GOLDEN_MAX_RANK];
  for (size_t axis = array->rank; axis-- > 0;) {
    index[axis] = element % array->dim[axis];
    element /= array->dim[axis];
  }
  size_t used = 0;
  for (size_t axis = 0; axis < array->rank && used < size; axis++) {
    used += (size_t)snprintf(text + used, size - used, "%s%zu", axis ? "," : "", index[axis]);
  }
  text[used < size ? used : size - 1] = '\0';
}

static void check_value(golden_tally *tally, const char *what, const golden_array *expected, size_t i, double got,
                        golden_tolerance tolerance) {
  double want = expected->data[i];
  double allowed = tolerance.absolute + tolerance.relative * fabs(want) + (tolerance.each ? tolerance.each[i] : 0);
  if (tolerance.each && isinf(tolerance.each[i])) {
    return;
  }
  tally->values++;
  double difference = fabs(got - want);
  /* Equal values, infinite ones included, are right whatever the tolerance; a NaN is right only where one is expected.
   */
  double error = got == want || (isnan(got) && isnan(want)) ? 0 : difference / allowed;
  if (error > tally->worst) {
    tally->worst = error;
    snprintf(tally->worst_where, sizeof tally->worst_where, "%.60s %.30s", tally->current, what);
  }
  if (error <= 1) {
    return;
  }
  if (tally->failures++ < PRINTED_FAILURES) {
    char index[128];
    print_index(index, sizeof index, expected, i);
    print_error("%s: %s: %s[%s] is %.17g, expected %.17g: off by %.3g, allowed %.3g\n", tally->file, tally->current,
                what, index, got, want, difference, allowed);
  }
}

void golden_check_floats(golden_tally *tally, const char *what, const golden_array *expected, const float *got,
                         golden_tolerance tolerance) {
  for (size_t i = 0; i < expected->n; i++) {
    check_value(tally, what, expected, i, (double)got[i], tolerance);
  }
}

void golden_check_doubles(golden_tally *tally, const char *what, const golden_array *expected, const double *got,
                          golden_tolerance tolerance) {
  for (size_t i = 0; i < expected->n; i++) {
    check_value(tally, what, expected, i, got[i], tolerance);
  }
}
