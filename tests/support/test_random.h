/* Numbers for tests: the same on every machine and in every run. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The minimal standard generator of Park and Miller; the state is the seed, 1 to 2147483646, and is moved on. */
double test_random(uint64_t *state, double low, double high);

/* A whole number of low .. high, both included. */
size_t test_random_count(uint64_t *state, size_t low, size_t high);

/* A new [n] array of multiples of 1/1024 in [-2, 2], exact in float32; the caller frees it. */
float *test_random_floats(uint64_t *state, size_t n);

#endif
