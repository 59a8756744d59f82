/* Tensors that a config gives as FILE:/dataset (HDF5), FILE.npy or nested lists: the value of a KEY_TENSOR. */
#ifndef PE_INPUT_TENSOR_FILE_H
#define PE_INPUT_TENSOR_FILE_H

#include "base/error.h"
#include "base/keys.h"

#include <stddef.h>

enum { TENSOR_MAX_RANK = 8 };

struct tensor_shape {
  unsigned rank;
  size_t dim[TENSOR_MAX_RANK];
};

/* "[3, 4]", cut where the buffer ends. */
void tensor_shape_text(const struct tensor_shape *shape, char *text, size_t size);

/* The shape without reading the numbers; *from is a description for messages, to be freed (NULL on error). All
 * functions return 0, ERROR_FILE_* or ERROR_MEMORY. */
int tensor_shape_of(const struct key_value *value, struct tensor_shape *shape, char **from, struct error *err);

/* The numbers, row-major, each finite; `shape` is what tensor_shape_of said and must still hold. To be freed. */
int tensor_floats(const struct key_value *value, const struct tensor_shape *shape, float **data, struct error *err);
int tensor_doubles(const struct key_value *value, const struct tensor_shape *shape, double **data, struct error *err);

/* Entry `index` of the first axis alone. */
int tensor_floats_of(const struct key_value *value, const struct tensor_shape *shape, size_t index, float **data,
                     struct error *err);

/* Cut "FILE:/dataset" into two texts, each to be freed; *dataset NULL where the text names a file alone. 0 or
 * ERROR_MEMORY. */
int tensor_split_name(const char *name, char **file, char **dataset, struct error *err);

/* *same: a text as tensor_split_name takes it names `file`, whole or a dataset in it. 0 or ERROR_MEMORY. */
int tensor_is_in(const char *name, const char *file, bool *same, struct error *err);

#endif
