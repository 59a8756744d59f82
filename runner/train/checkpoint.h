/* A trained decoder as an HDF5 file that model.weights reads: names and shapes of parameters.h at the root, what it was
 * trained with as attributes.
 */
#ifndef PE_TRAIN_CHECKPOINT_H
#define PE_TRAIN_CHECKPOINT_H

#include "base/keys.h"
#include "train/parameters.h"

/* Write `path` whole (a missing folder is made), or leave what stood there. params: the scheme's; train_length in
 * tokens; is_bytes: ids are bytes of a text. 0, ERROR_FILE_WRITE or ERROR_MEMORY. */
int checkpoint_write(const char *path, const struct parameters *layout, const float *block, const struct scheme *scheme,
                     const struct section *params, double train_length, bool is_bytes, struct error *err);

#endif
