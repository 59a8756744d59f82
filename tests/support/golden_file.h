/* Reading expected values: one HDF5 file per scheme, one group per case, float64 datasets, parameters as attributes.
 *
 * Everything here is for tests: what cannot be read fails the running cmocka test with a message that names file, case
 * and dataset. Not thread-safe. The files are described in data/README.md.
 */
#ifndef GOLDEN_FILE_H
#define GOLDEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOLDEN_MAX_RANK 5

/* An open file of TEST_GOLDEN_DIR. */
typedef struct golden_file {
  char name[64];  /* file name, for messages */
  int64_t handle; /* HDF5's */
  char **cases;   /* [n_cases] names of the root's groups, sorted; owned by this struct */
  size_t n_cases;
} golden_file;

/* A dataset read as double, row-major. */
typedef struct golden_array {
  size_t rank;
  size_t dim[GOLDEN_MAX_RANK]; /* the first `rank` are used, the others are 1 */
  size_t n;                    /* elements */
  double *data;                /* [n], from malloc; golden_array_free */
} golden_array;

/* Open TEST_GOLDEN_DIR/name, for example "rope.h5", and list its cases. */
void golden_file_open(golden_file *file, const char *name);
void golden_file_close(golden_file *file);

/* True where the case has this dataset or group, for example "out_scores" or "out_gradient/w_q". */
bool golden_has(const golden_file *file, const char *group, const char *name);

/* Read a dataset of a case; fails the test where it is missing. The caller frees the array. */
golden_array golden_read(const golden_file *file, const char *group, const char *name);
void golden_array_free(golden_array *array);

/* A new [n] array with the elements converted to float32, which the inputs are exact in. The caller frees it. */
float *golden_floats(const golden_array *array);

/* Attributes of a case (group "" is the file itself). An absent one was not given to the peer: its default applied. */
bool golden_has_attribute(const golden_file *file, const char *group, const char *name);
/* A number or 0/1 flag; fails the test where it is absent. */
double golden_number(const golden_file *file, const char *group, const char *name);
/* The same, or `absent` where it is absent. */
double golden_number_or(const golden_file *file, const char *group, const char *name, double absent);
/* A list of numbers; fails the test where it is absent. The caller frees the array. */
golden_array golden_attribute_list(const golden_file *file, const char *group, const char *name);
/* Copy a text, NUL-terminated, cut to size; returns false and the empty text where it is absent. */
bool golden_text(const golden_file *file, const char *group, const char *name, char *text, size_t size);
/* True where the attribute is there and is this text. */
bool golden_text_is(const golden_file *file, const char *group, const char *name, const char *text);

/* True where the name of a case begins with this. */
bool golden_case_begins(const char *name, const char *beginning);

#endif
