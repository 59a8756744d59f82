/* A record: what one job gives back. One scheme's measures and tensors, each with names for its axes, and attributes
 * that say what they are. Records are plain data: experiments fill them, results write them, jobs carry them between
 * processes.
 */
#ifndef PE_BASE_RECORD_H
#define PE_BASE_RECORD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_MAX_RANK = 5, RECORD_NAME = 80 };

enum element { ELEMENT_F32, ELEMENT_F64, ELEMENT_I32, ELEMENT_I64, ELEMENT_U8 };

/* One axis of a tensor. Two axes of one record with the same name are the same axis: same length, same values. */
struct axis {
  char name[RECORD_NAME]; /* [A-Za-z][A-Za-z0-9_]* */
  size_t length;
  double *values;              /* [length], owned by the tensor; NULL: 0, 1, 2, ... */
  bool real;                   /* values are reals; else whole numbers */
  bool log_values;             /* best looked at on a logarithmic scale; false where a value is not above 0 */
  char long_name[RECORD_NAME]; /* for people; "" : the name */
  char units[24];              /* "" : 1 */
};

struct attribute {
  char name[RECORD_NAME];
  enum { ATTRIBUTE_TEXT, ATTRIBUTE_INT, ATTRIBUTE_REAL, ATTRIBUTE_REAL_LIST } kind;
  char *text;
  int64_t integer;
  double real;
  double *list;
  size_t count;
};

struct attributes {
  struct attribute *items;
  size_t count, capacity;
};

struct tensor {
  char name[RECORD_NAME]; /* as in the file: [A-Za-z][A-Za-z0-9_]* */
  enum element element;
  unsigned rank; /* 0: a scalar */
  struct axis axis[RECORD_MAX_RANK];
  size_t count;        /* product of the lengths */
  void *data;          /* [count], row-major; zeroed when added, NaN for reals */
  void *packed;        /* the same compressed, as in the file that it was read from (results/packed.h), or NULL */
  size_t packed_first; /* byte of what `packed` holds at which data begins */
  bool borrowed;       /* data and packed are another record's */
  char long_name[160];
  char units[24];
  bool image;      /* best looked at as a picture of its last two axes */
  bool log_values; /* best looked at on a logarithmic scale */
  struct attributes attributes;
};

enum record_status { RECORD_MEASURED, RECORD_UNDEFINED, RECORD_FAILED, RECORD_NOT_RUN };

struct record {
  char experiment[RECORD_NAME]; /* label of the experiment */
  char label[RECORD_NAME];      /* label of the scheme, or comparison... */
  char title[256];
  uint64_t seed;
  enum record_status status;
  struct error error;       /* why it failed, or where it is undefined */
  char signal[RECORD_NAME]; /* tensor to show first; "" : the first one */
  struct tensor *tensors;
  size_t count, capacity;
  struct attributes attributes;
};

/* Bytes per element. */
size_t record_element_size(enum element element);

/* "measured", "undefined", "failed", "not run". */
const char *record_status_name(enum record_status status);

/* Names of tensors and axes: [A-Za-z][A-Za-z0-9_]*, shorter than RECORD_NAME. */
bool record_name_is_well_formed(const char *name);

/* Axes to pass to record_add. axis_values copies `values`; both assert that the name is well formed. */
struct axis_spec {
  const char *name;
  size_t length;
  const double *values; /* [length] or NULL for 0, 1, 2, ... */
  bool real;
  bool log_values;       /* a wish, granted where all values are given and above 0 */
  const char *long_name; /* may be NULL */
  const char *units;     /* may be NULL: "1" */
};

/* The spec of an axis like `axis`; it points into it. */
struct axis_spec axis_spec_of(const struct axis *axis);

struct tensor_spec {
  const char *name;
  enum element element;
  unsigned rank;
  struct axis_spec axis[RECORD_MAX_RANK];
  const char *long_name;
  const char *units; /* may be NULL: "1" */
  bool image;
  bool log_values;
  bool unset; /* whatever bytes were there: the caller writes all of them */
  const struct tensor
      *lender;      /* NULL: the tensor gets memory of its own; else it has that one's, which lives longer, */
  size_t lent_from; /* from this byte on */
};

/* Add a tensor and return it, its data NaN (reals) or 0 (integers), for the caller to fill, unless the spec says
 * otherwise; the record owns it and may move the struct at the next record_add, but never the data. NULL with
 * ERROR_MEMORY. */
struct tensor *record_add(struct record *record, const struct tensor_spec *spec, struct error *err);

/* Say what the values 0, 1, 2 ... of an ELEMENT_U8 tensor mean: words separated by spaces ("no yes"). 0 or
 * ERROR_MEMORY.
 */
int tensor_set_flags(struct tensor *tensor, const char *meanings, struct error *err);

/* The tensor of that name, or NULL. */
struct tensor *record_find(const struct record *record, const char *name);

/* The tensor's axis of that name, or NULL. */
const struct axis *tensor_axis(const struct tensor *tensor, const char *name);

/* Element `index` (row-major) of a tensor as a double. */
double tensor_value(const struct tensor *tensor, size_t index);

/* Whether anything but 0 stands at place `at` of the first axis. */
bool tensor_says_something(const struct tensor *tensor, size_t at);

/* A measure that belongs to another one, by the ending of its name: ends of intervals, medians and what lies inside.
 * Tables and pictures of many measures leave these out; they stand in the file. */
bool measure_is_beside(const char *name);

/* Set an attribute; text and list are copied; a second one of the same name replaces the first. 0 or ERROR_MEMORY. */
int attributes_set_text(struct attributes *attributes, const char *name, const char *text, struct error *err);
int attributes_set_int(struct attributes *attributes, const char *name, int64_t value, struct error *err);
int attributes_set_real(struct attributes *attributes, const char *name, double value, struct error *err);
int attributes_set_reals(struct attributes *attributes, const char *name, const double *list, size_t count,
                         struct error *err);

/* The attribute of that name, or NULL. */
const struct attribute *attributes_find(const struct attributes *attributes, const char *name);

void attributes_free(struct attributes *attributes);

/* Release what a record owns; the struct itself is the caller's. */
void record_free(struct record *record);

#endif
