/* What libFuzzer calls, and what replay.c calls in its place. */
#ifndef PE_TESTS_FUZZ_H
#define PE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Try one input; whatever must not be aborts. Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
