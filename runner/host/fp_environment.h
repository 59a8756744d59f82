/* The floating-point environment of the calling thread: rounding mode, flush-to-zero, denormals-are-zero, precision and
 * exception masks. A shared object can change it while it is loaded (-ffast-math objects of gcc 12 and clang 14 do) and
 * in any call; results would then depend on what ran before.
 */
#ifndef PE_HOST_FP_ENVIRONMENT_H
#define PE_HOST_FP_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

struct fp_environment {
  uint64_t control; /* control bits of the vector unit (x86: MXCSR, aarch64: FPCR), without the sticky flags */
  uint32_t x87;     /* control word of the x87 unit; 0 elsewhere */
  int rounding;     /* fegetround() */
};

/* What is in force now. [any] */
struct fp_environment fp_environment_get(void);

/* Whether two environments are equal. */
bool fp_environment_equal(const struct fp_environment *a, const struct fp_environment *b);

/* Put an environment back into force. [any] */
void fp_environment_set(const struct fp_environment *environment);

/* Compare with what is in force now and, where it differs, restore `before`. Returns true where it differed. [any] */
bool fp_environment_restore(const struct fp_environment *before);

#endif
