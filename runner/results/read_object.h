/* Groups, attributes and datasets of a results file, one by one: private to the reader.
 */
#ifndef PE_RESULTS_READ_OBJECT_H
#define PE_RESULTS_READ_OBJECT_H

#include "base/record.h"
#include "input/hdf5_dataset.h"

#include <hdf5.h>

struct names {
  char **items;
  size_t count, capacity;
};

void names_free(struct names *names);

/* Names of a group's members and of an object's attributes, in the order in which they were made. `object` is an
 * absolute path. */
int read_members(const struct hdf5_file *file, const char *group, struct names *names, struct error *err);
int read_attribute_names(const struct hdf5_file *file, const char *object, struct names *names, struct error *err);

/* *is_group: `object` is a group, else a dataset. */
int read_kind(const struct hdf5_file *file, const char *object, bool *is_group, struct error *err);

/* Append attribute `name` of `object`: text, whole number, real, or list of numbers. */
int read_attribute(const struct hdf5_file *file, const char *object, const char *name, struct attributes *out,
                   struct error *err);

/* A text attribute, to be freed; *text = NULL where there is none. */
int read_text_attribute(const struct hdf5_file *file, const char *object, const char *name, char **text,
                        struct error *err);

/* A scalar dataset of text, to be freed. */
int read_text(const struct hdf5_file *file, const char *path, char **text, struct error *err);

/* *is_scale: the dataset is the values of an axis. */
int read_is_scale(const struct hdf5_file *file, const char *path, bool *is_scale, struct error *err);

/* Append dataset /.../<name> of `group` with its axes and attributes to `record`; keep_packed: with its chunks as they
 * are in the file. */
int read_tensor(const struct hdf5_file *file, const char *group, const char *name, bool keep_packed,
                struct record *record, struct error *err);

#endif
