/* One record as one group of the results file: its scales, its tensors, and the attributes by which viewers plot it.
 */
#ifndef PE_RESULTS_RECORD_GROUP_H
#define PE_RESULTS_RECORD_GROUP_H

#include "base/pool.h"
#include "base/record.h"

#include <hdf5.h>

/* The tensor that a viewer shows first: the record's choice, else its first one with axes, else its first one. NULL
 * for a record without tensors. */
const struct tensor *record_shown(const struct record *record);

/* `tensor` is plotted together with `signal`: in a record that compares schemes, the real tensors of the same axes. */
bool record_is_auxiliary(const struct record *record, const struct tensor *signal, const struct tensor *tensor);

/* Write `record` as group `name` of `parent`; `pool` (may be NULL) compresses. 0, ERROR_FILE_WRITE, ERROR_MEMORY, or
 * ERROR_INTERNAL where its axes contradict each other or share a tensor's name. */
int record_group_write(hid_t parent, const char *name, const struct record *record, struct pool *pool,
                       struct error *err);

#endif
