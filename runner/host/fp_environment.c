#include "host/fp_environment.h"

#include <fenv.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

/* Bits 6 (denormals are zero), 7 to 12 (exception masks), 13 and 14 (rounding), 15 (flush to zero). The low six are
 * flags that ordinary arithmetic raises. */
enum { CONTROL_BITS = 0xffc0 };

static uint64_t control_get(void) {
  return _mm_getcsr() & CONTROL_BITS;
}

static void control_set(uint64_t control) {
  _mm_setcsr((_mm_getcsr() & ~(unsigned)CONTROL_BITS) | (unsigned)control);
}

static uint32_t x87_get(void) {
  uint16_t word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

static void x87_set(uint32_t control) {
  uint16_t word = (uint16_t)control;
  __asm__ volatile("fldcw %0" : : "m"(word));
}
#elif defined(__aarch64__)
static uint64_t control_get(void) {
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}

static void control_set(uint64_t control) {
  __asm__ volatile("msr fpcr, %0" : : "r"(control));
}

static uint32_t x87_get(void) {
  return 0;
}

static void x87_set(uint32_t control) {
  (void)control;
}
#else
/* Elsewhere only what the C library can tell: enabled traps and, below, the rounding mode. */
static uint64_t control_get(void) {
#if defined(__GLIBC__)
  return (uint64_t)fegetexcept();
#else
  return 0;
#endif
}

static void control_set(uint64_t control) {
#if defined(__GLIBC__)
  fedisableexcept(FE_ALL_EXCEPT);
  feenableexcept((int)control);
#else
  (void)control;
#endif
}

static uint32_t x87_get(void) {
  return 0;
}

static void x87_set(uint32_t control) {
  (void)control;
}
#endif

struct fp_environment fp_environment_get(void) {
  return (struct fp_environment){.control = control_get(), .x87 = x87_get(), .rounding = fegetround()};
}

bool fp_environment_equal(const struct fp_environment *a, const struct fp_environment *b) {
  return a->control == b->control && a->x87 == b->x87 && a->rounding == b->rounding;
}

void fp_environment_set(const struct fp_environment *environment) {
  if (environment->rounding >= 0) {
    fesetround(environment->rounding);
  }
  /* A raised flag would trap as soon as its exception is unmasked. */
  feclearexcept(FE_ALL_EXCEPT);
  control_set(environment->control);
  x87_set(environment->x87);
}

bool fp_environment_restore(const struct fp_environment *before) {
  struct fp_environment now = fp_environment_get();
  if (fp_environment_equal(before, &now)) {
    return false;
  }
  fp_environment_set(before);
  return true;
}
