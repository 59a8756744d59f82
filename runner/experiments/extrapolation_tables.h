/* The tables of extrapolation below its headline. */
#ifndef PE_EXPERIMENTS_EXTRAPOLATION_TABLES_H
#define PE_EXPERIMENTS_EXTRAPOLATION_TABLES_H

#include "experiments/extrapolation.h"

/* The length that the tables' columns are at: the first of at least 2 L, else the longest beyond L, else the longest.
 * *index: its place on the axis. NAN where the record has no lengths. */
double extrapolation_table_length(const struct record *record, size_t *index);

/* Mean over seeds and heads of tensor `name` [length, ...] at place `index`; of the whole tensor where it has no axis
 * length. *out is NaN where there is no such tensor. 0 or ERROR_MEMORY. */
int extrapolation_mean_at(const struct record *record, const char *name, size_t index, double *out, struct error *err);

/* What was measured; what the last queries look at; the controls; the frequencies of schemes that have some. 0 or
 * ERROR_MEMORY. */
int extrapolation_tables(const struct plan *plan, const struct plan_experiment *entry,
                         const struct record *const *records, struct conclusion *conclusion, struct error *err);

#endif
