/* What every scheme with PE_SITE_BIAS keeps, asked of a fixture: the same bits however tiles are cut, sums and nothing
 * but sums, one query against a cache, refusals that touch nothing. What does not hold fails the running cmocka test.
 * Positions are whole numbers from 0 unless a function says otherwise. Not thread-safe.
 */
#ifndef BIAS_CHECK_H
#define BIAS_CHECK_H

#include "golden_check.h"
#include "plugin_fixture.h"

/* A new [n] array first, first + step, ... The caller frees it. */
double *bias_positions(double first, double step, size_t n);

/* A new [n_heads][nq][nk] array with the biases of all heads. seq_len 0: the largest position plus one. The caller
 * frees it. */
float *bias_matrix(plugin_fixture *fixture, double seq_len, size_t nq, const double *pos_q, size_t nk,
                   const double *pos_k);

/* dw[t] += gradients of the tensors for ds [n_heads][nq][nk] = dL/d bias, by the scheme's own pe.vjp/1. dw as there. */
void bias_gradient(plugin_fixture *fixture, size_t nq, const double *pos_q, size_t nk, const double *pos_k,
                   const float *ds, float *const *dw);

/* A vjp_* case of training.h5: compares the forward biases at in_positions_q and in_positions_k with out_bias, then
 * takes the gradients for in_gradient into dw. */
void bias_golden_vjp(golden_tally *tally, const golden_file *file, const char *name, plugin_fixture *fixture,
                     float *const *dw, golden_tolerance bias_tolerance);

/* relative times the largest absolute value of the array. */
golden_tolerance bias_of_largest(const golden_array *array, double relative);

/* Tiles cut at random, with padded strides and scores already there, give the bits of the whole, and nothing beside
 * them is written; empty tiles do nothing. length tokens; the cuts follow from seed. */
void bias_check_tiles(plugin_fixture *fixture, size_t length, uint64_t seed);

/* The last query alone against all keys, at the same seq_len, gives the last row of the full run, bit for bit; for a
 * relative scheme also at any offset. */
void bias_check_cache(plugin_fixture *fixture, size_t length);

/* Moving all positions by a whole number, and a multiple of 1/4 where fractions are defined, leaves every bit. */
void bias_check_relative(plugin_fixture *fixture, size_t length);

/* NaN, infinities and positions outside the domain, fractions where whole numbers are needed: the promised status,
 * index and a message, in forward and gradient calls, with the output untouched. */
void bias_check_refusals(plugin_fixture *fixture);

#endif
