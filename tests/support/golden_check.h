/* Comparing with expected values, and counting what was compared.
 *
 *     golden_tally tally;
 *     golden_tally_begin(&tally, "rope.h5");
 *     for each case:
 *       golden_tally_case(&tally, name);            or golden_leave_out(&tally, name, "why");
 *       golden_check_floats(&tally, "out_q", &expected, got, (golden_tolerance){.absolute = 2e-6});
 *     golden_tally_end(&tally);                     prints one line, fails the test where anything was off
 *
 * A difference is printed with case, index, both values and the tolerance; the comparison goes on, so that one run
 * shows all of them (at most 20 lines).
 */
#ifndef GOLDEN_CHECK_H
#define GOLDEN_CHECK_H

#include "golden_file.h"

/* Allowed difference of element i: absolute + relative * |expected[i]| + each[i]. All zero: equal. */
typedef struct golden_tolerance {
  double absolute;
  double relative;
  const double *each; /* [n] or NULL. INFINITY: the element is not compared and not counted */
} golden_tolerance;

/* What was compared so far in one file. */
typedef struct golden_tally {
  const char *file; /* name, for messages; the caller's */
  const char *current;
  size_t cases, left_out, values, failures;
  double worst;         /* largest |difference| / allowed; equal values count as 0 */
  char worst_where[96]; /* case and quantity of it */
} golden_tally;

void golden_tally_begin(golden_tally *tally, const char *file);
void golden_tally_case(golden_tally *tally, const char *name);
/* Print that a case is left out and why, and count it. */
void golden_leave_out(golden_tally *tally, const char *name, const char *reason);
/* Print the file's line; fails the running test where a value was off or nothing was compared. */
void golden_tally_end(golden_tally *tally);

/* Compare got [expected->n] with the expected values, row-major in the same shape. */
void golden_check_floats(golden_tally *tally, const char *what, const golden_array *expected, const float *got,
                         golden_tolerance tolerance);
void golden_check_doubles(golden_tally *tally, const char *what, const golden_array *expected, const double *got,
                          golden_tolerance tolerance);

#endif
