/* A linear layer of the decoder and its gradient, on one thread. */
#ifndef PE_TRAIN_LINEAR_H
#define PE_TRAIN_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

/* y [rows][out] = x w + bias, or += with `accumulate`.  x [rows][in], w [in][out], bias [out]; all contiguous. */
void linear(size_t rows, size_t in, size_t out, const float *x, const float *w, const float *bias, bool accumulate,
            float *y);

/* dx [rows][in] = dy w', or += with `accumulate`.  dy [rows][out], w_turned [out][in] is w'. */
void linear_backward(size_t rows, size_t in, size_t out, const float *dy, const float *w_turned, bool accumulate,
                     float *dx);

#endif
