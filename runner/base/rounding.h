/* Numbers as a narrower format would hold them: what a program that computes in that format stores. */
#ifndef PE_BASE_ROUNDING_H
#define PE_BASE_ROUNDING_H

#include <stddef.h>

enum number_format { FORMAT_FLOAT64, FORMAT_FLOAT32, FORMAT_BFLOAT16, FORMAT_FLOAT16, N_NUMBER_FORMATS };

/* Their names, "float64" first; ended by NULL. */
extern const char *const number_format_names[];

/* The nearest number of the format, ties to even; subnormal numbers are kept, too large ones become infinite. NaN and
 * infinities stay. [any thread, default rounding mode] */
double round_to_format(double value, enum number_format format);

/* The same for values [n], in place. [any thread, default rounding mode] */
void round_row(double *values, size_t n, enum number_format format);

/* The distance of 1 to the next number of the format: 2^-52, 2^-23, 2^-7, 2^-10. */
double format_epsilon(enum number_format format);

/* The smallest number above 0, the spacing of subnormal numbers: 2^-1074, 2^-149, 2^-133, 2^-24. */
double format_smallest(enum number_format format);

#endif
