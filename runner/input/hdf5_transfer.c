#include "input/hdf5_transfer.h"

enum { LARGEST_ELEMENT = 16, LEAST_BYTES = 1 << 10, USUAL_BYTES = 1 << 20 };

/* A list to be closed, or H5P_DEFAULT for what fills the usual buffers; negative after an error. */
static hid_t list_for(size_t count) {
  if (count >= USUAL_BYTES / LARGEST_ELEMENT) {
    return H5P_DEFAULT;
  }
  size_t bytes = count * LARGEST_ELEMENT;
  hid_t list = H5Pcreate(H5P_DATASET_XFER);
  if (list >= 0 && H5Pset_buffer(list, bytes < LEAST_BYTES ? LEAST_BYTES : bytes, NULL, NULL) < 0) {
    H5Pclose(list);
    return -1;
  }
  return list;
}

static herr_t close_after(hid_t list, herr_t done) {
  herr_t closed = list > 0 ? H5Pclose(list) : 0;
  return done < 0 ? done : closed;
}

herr_t hdf5_read_all(hid_t dataset, hid_t type, size_t count, void *values) {
  hid_t list = list_for(count);
  return close_after(list, list < 0 ? -1 : H5Dread(dataset, type, H5S_ALL, H5S_ALL, list, values));
}

herr_t hdf5_write_all(hid_t dataset, hid_t type, size_t count, const void *values) {
  hid_t list = list_for(count);
  return close_after(list, list < 0 ? -1 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, list, values));
}
