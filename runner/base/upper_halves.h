/* The kernels that libxsmm makes at run time leave values in the upper halves of the vector registers. Until these are
 * cleared, instructions of the older kind, which compilers use for ordinary code, wait for them: that was a tenth of
 * the time of attention. Compilers clear them at the end of their own vector code. */
#ifndef PE_BASE_UPPER_HALVES_H
#define PE_BASE_UPPER_HALVES_H

#if defined(__x86_64__)
static inline __attribute__((target("avx"))) void clear_upper_halves_now(void) {
  __builtin_ia32_vzeroupper();
}
/* Due after a call of such a kernel. Any thread. */
static inline void clear_upper_halves(void) {
  if (__builtin_cpu_supports("avx")) {
    clear_upper_halves_now();
  }
}
#else
static inline void clear_upper_halves(void) {
}
#endif

#endif
