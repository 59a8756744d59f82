/* One dataset of a foreign file, opened and found harmless: private to the reader. */
#ifndef PE_INPUT_HDF5_DATASET_H
#define PE_INPUT_HDF5_DATASET_H

#include "input/hdf5_path.h"
#include "input/hdf5_reader.h"

struct hdf5_file {
  hid_t handle;
  char *path;
  size_t bytes; /* size of the file */
};

enum hdf5_wanted { HDF5_WANT_NUMBERS, HDF5_WANT_WHOLE_NUMBERS, HDF5_WANT_TEXTS };

struct hdf5_dataset {
  const struct hdf5_file *file;
  const char *name; /* as asked for */
  hid_t handle, type, space;
  size_t count; /* elements */
};

/* Open dataset `name`, check storage, layout, filters, class of type, rank and lengths, and fill `shape` in. On error
 * nothing is left open. */
int hdf5_dataset_open(const struct hdf5_file *file, const char *name, enum hdf5_wanted wanted, struct hdf5_shape *shape,
                      struct hdf5_dataset *dataset, struct error *err);
void hdf5_dataset_close(struct hdf5_dataset *dataset);

/* Fails where `type` is not of the wanted class; `what` ("the dataset /a", "the attribute b of /a") is for messages. */
int hdf5_check_class(const struct hdf5_file *file, const char *what, hid_t type, enum hdf5_wanted wanted,
                     struct error *err);

#endif
