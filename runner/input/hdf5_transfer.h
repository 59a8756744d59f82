/* Reading and writing of small datasets whose elements HDF5 converts, or which are texts. Its two buffers for that are
 * 1 MiB each, taken and cleared anew for every call: with a hundred small datasets that is most of the work. Here they
 * are as large as the dataset needs. */
#ifndef PE_INPUT_HDF5_TRANSFER_H
#define PE_INPUT_HDF5_TRANSFER_H

#include <hdf5.h>
#include <stddef.h>

/* H5Dread and H5Dwrite of all `count` elements of a dataset, none of more than 16 bytes in the file or as `type`. */
herr_t hdf5_read_all(hid_t dataset, hid_t type, size_t count, void *values);
herr_t hdf5_write_all(hid_t dataset, hid_t type, size_t count, const void *values);

#endif
