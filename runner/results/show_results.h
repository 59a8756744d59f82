/* What stands in a results file, as tables and as curves in characters.
 */
#ifndef PE_RESULTS_SHOW_RESULTS_H
#define PE_RESULTS_SHOW_RESULTS_H

#include "base/table.h"
#include "results/results.h"

/* All fill an empty table and return 0 or ERROR_MEMORY. */

/* The experiments, their records and the texts of a file: path, status, what it holds. */
int show_file(const struct results_file *file, struct table *table, struct error *err);

/* The same as a tree for people: names under those of their experiments, a status only where it is not `measured`. */
int show_tree(const struct results_file *file, struct table *table, struct error *err);

/* The tensors of all records of one experiment: record, name, axes, type, smallest and largest value, how many are not
 * numbers. */
int show_experiment(const struct results_experiment *experiment, struct table *table, struct error *err);

/* The same of one record; `brief`: without types, without those that only say that all was
 * measured, or that nothing is missing. */
int show_record(const struct record *record, bool brief, struct table *table, struct error *err);

/* A record's attributes and, where it failed, the reason. */
int show_attributes(const struct record *record, struct table *table, struct error *err);

/* An attribute's value as text, "" for NULL; to be freed. NULL with ERROR_MEMORY. */
char *show_attribute(const struct attribute *attribute, struct error *err);

/* One tensor: its summary, attributes and axes. */
int show_tensor(const struct record *record, const struct tensor *tensor, struct table *table, struct error *err);

/* Its values, one row each: the place on every axis, then the value. */
int show_values(const struct record *record, const struct tensor *tensor, struct table *table, struct error *err);

/* A tensor of two axes as a grid, the second axis to the right. */
int show_grid(const struct record *record, const struct tensor *tensor, struct table *table, struct error *err);

/* The curves of a record that belong together (rank 1, real, along the axis of `tensor`; only `tensor` itself unless
 * the record compares schemes) in characters, `width` columns wide, by gnuplot; to be freed. NULL with ERROR_FILE_READ
 * where gnuplot is not installed or fails, or ERROR_MEMORY. */
char *show_curves(const struct record *record, const struct tensor *tensor, int width, struct error *err);

#endif
