#include "base/record.h"

#include "base/memory.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t element_size[] = {
    [ELEMENT_F32] = 4, [ELEMENT_F64] = 8, [ELEMENT_I32] = 4, [ELEMENT_I64] = 8, [ELEMENT_U8] = 1};

size_t record_element_size(enum element element) {
  return element_size[element];
}

const char *record_status_name(enum record_status status) {
  static const char *const names[] = {"measured", "undefined", "failed", "not run"};
  return names[status];
}

bool record_name_is_well_formed(const char *name) {
  if (!isalpha((unsigned char)name[0]) || strlen(name) >= RECORD_NAME) {
    return false;
  }
  for (const char *c = name; *c; c++) {
    if (!isalnum((unsigned char)*c) && *c != '_') {
      return false;
    }
  }
  return true;
}

static void tensor_free(struct tensor *tensor) {
  for (unsigned i = 0; i < tensor->rank; i++) {
    free(tensor->axis[i].values);
  }
  if (!tensor->borrowed) {
    free(tensor->data);
    free(tensor->packed);
  }
  attributes_free(&tensor->attributes);
}

struct axis_spec axis_spec_of(const struct axis *axis) {
  return (struct axis_spec){.name = axis->name,
                            .length = axis->length,
                            .values = axis->values,
                            .real = axis->real,
                            .log_values = axis->log_values,
                            .long_name = axis->long_name,
                            .units = axis->units};
}

/* Only such an axis has a logarithmic scale. */
static bool all_positive(const struct axis_spec *spec) {
  bool positive = spec->length > 0 && spec->values;
  for (size_t i = 0; positive && i < spec->length; i++) {
    positive = spec->values[i] > 0;
  }
  return positive;
}

static int axis_init(struct axis *axis, const struct axis_spec *spec, struct error *err) {
  assert(record_name_is_well_formed(spec->name));
  snprintf(axis->name, sizeof axis->name, "%s", spec->name);
  snprintf(axis->long_name, sizeof axis->long_name, "%s", spec->long_name ? spec->long_name : spec->name);
  snprintf(axis->units, sizeof axis->units, "%s", spec->units ? spec->units : "1");
  axis->length = spec->length;
  axis->real = spec->real;
  axis->log_values = spec->log_values && all_positive(spec);
  if (spec->values) {
    axis->values = memory_new(spec->length, sizeof(double), spec->name, err);
    if (!axis->values) {
      return err->code;
    }
    memcpy(axis->values, spec->values, spec->length * sizeof(double));
  }
  return 0;
}

/* A value that was never written shows: NaN, not 0. */
static void fill_with_nan(struct tensor *tensor) {
  for (size_t i = 0; i < tensor->count; i++) {
    if (tensor->element == ELEMENT_F32) {
      ((float *)tensor->data)[i] = NAN;
    } else if (tensor->element == ELEMENT_F64) {
      ((double *)tensor->data)[i] = NAN;
    }
  }
}

static int find_memory(struct tensor *tensor, const struct tensor_spec *spec, struct error *err) {
  if (spec->lender) {
    tensor->borrowed = true;
    tensor->data = (char *)spec->lender->data + spec->lent_from;
    tensor->packed = spec->lender->packed;
    tensor->packed_first = spec->lender->packed_first + spec->lent_from;
    return 0;
  }
  size_t size = element_size[tensor->element];
  bool real = tensor->element == ELEMENT_F32 || tensor->element == ELEMENT_F64;
  tensor->data = spec->unset || real ? memory_new_unset(tensor->count, 1, 1, size, spec->name, err)
                                     : memory_new(tensor->count, size, spec->name, err);
  if (!tensor->data) {
    return err->code;
  }
  if (!spec->unset) {
    fill_with_nan(tensor);
  }
  return 0;
}

struct tensor *record_add(struct record *record, const struct tensor_spec *spec, struct error *err) {
  assert(record_name_is_well_formed(spec->name) && spec->rank <= RECORD_MAX_RANK && !record_find(record, spec->name));
  struct tensor *grown =
      memory_grow(record->tensors, &record->capacity, record->count + 1, sizeof *grown, "record", err);
  if (!grown) {
    return NULL;
  }
  record->tensors = grown;
  struct tensor tensor = {.element = spec->element, .rank = spec->rank, .count = 1, .image = spec->image};
  tensor.log_values = spec->log_values;
  snprintf(tensor.name, sizeof tensor.name, "%s", spec->name);
  snprintf(tensor.long_name, sizeof tensor.long_name, "%s", spec->long_name ? spec->long_name : spec->name);
  snprintf(tensor.units, sizeof tensor.units, "%s", spec->units ? spec->units : "1");
  for (unsigned i = 0; i < spec->rank; i++) {
    if (axis_init(&tensor.axis[i], &spec->axis[i], err)) {
      tensor_free(&tensor);
      return NULL;
    }
    if (__builtin_mul_overflow(tensor.count, spec->axis[i].length, &tensor.count)) {
      error_set(err, ERROR_MEMORY, "%s: too many elements for memory", spec->name);
      tensor_free(&tensor);
      return NULL;
    }
  }
  if (find_memory(&tensor, spec, err)) {
    tensor_free(&tensor);
    return NULL;
  }
  record->tensors[record->count] = tensor;
  return &record->tensors[record->count++];
}

int tensor_set_flags(struct tensor *tensor, const char *meanings, struct error *err) {
  assert(tensor->element == ELEMENT_U8);
  double values[256];
  size_t count = 1;
  for (const char *c = meanings; *c; c++) {
    count += *c == ' ';
  }
  assert(count <= 256);
  for (size_t i = 0; i < count; i++) {
    values[i] = (double)i;
  }
  int failed = attributes_set_reals(&tensor->attributes, "flag_values", values, count, err);
  return failed ? failed : attributes_set_text(&tensor->attributes, "flag_meanings", meanings, err);
}

struct tensor *record_find(const struct record *record, const char *name) {
  for (size_t i = 0; i < record->count; i++) {
    if (!strcmp(record->tensors[i].name, name)) {
      return &record->tensors[i];
    }
  }
  return NULL;
}

const struct axis *tensor_axis(const struct tensor *tensor, const char *name) {
  for (unsigned i = 0; i < tensor->rank; i++) {
    if (!strcmp(tensor->axis[i].name, name)) {
      return &tensor->axis[i];
    }
  }
  return NULL;
}

double tensor_value(const struct tensor *tensor, size_t index) {
  assert(index < tensor->count);
  switch (tensor->element) {
  case ELEMENT_F32:
    return (double)((const float *)tensor->data)[index];
  case ELEMENT_F64:
    return ((const double *)tensor->data)[index];
  case ELEMENT_I32:
    return ((const int32_t *)tensor->data)[index];
  case ELEMENT_I64:
    return (double)((const int64_t *)tensor->data)[index];
  case ELEMENT_U8:
    return ((const uint8_t *)tensor->data)[index];
  }
  return NAN;
}

bool tensor_says_something(const struct tensor *tensor, size_t at) {
  size_t each = tensor->count / tensor->axis[0].length;
  for (size_t i = at * each; i < (at + 1) * each; i++) {
    double value = tensor_value(tensor, i);
    if (!isnan(value) && value != 0) {
      return true;
    }
  }
  return false;
}

bool measure_is_beside(const char *name) {
  static const char *const endings[] = {"_low", "_high", "_median", "_inside", NULL};
  for (size_t i = 0; endings[i]; i++) {
    size_t length = strlen(name), end = strlen(endings[i]);
    if (length > end && !strcmp(name + length - end, endings[i])) {
      return true;
    }
  }
  return false;
}

const struct attribute *attributes_find(const struct attributes *attributes, const char *name) {
  for (size_t i = 0; i < attributes->count; i++) {
    if (!strcmp(attributes->items[i].name, name)) {
      return &attributes->items[i];
    }
  }
  return NULL;
}

static void attribute_clear(struct attribute *item) {
  free(item->text);
  free(item->list);
  item->text = NULL;
  item->list = NULL;
  item->count = 0;
}

/* The attribute of that name, emptied, or a new one. */
static struct attribute *attributes_place(struct attributes *attributes, const char *name, struct error *err) {
  assert(strlen(name) < RECORD_NAME);
  for (size_t i = 0; i < attributes->count; i++) {
    if (!strcmp(attributes->items[i].name, name)) {
      attribute_clear(&attributes->items[i]);
      return &attributes->items[i];
    }
  }
  struct attribute *grown =
      memory_grow(attributes->items, &attributes->capacity, attributes->count + 1, sizeof *grown, "attributes", err);
  if (!grown) {
    return NULL;
  }
  attributes->items = grown;
  struct attribute *item = &grown[attributes->count++];
  *item = (struct attribute){0};
  snprintf(item->name, sizeof item->name, "%s", name);
  return item;
}

int attributes_set_text(struct attributes *attributes, const char *name, const char *text, struct error *err) {
  char *copy = memory_copy_text(text, err);
  struct attribute *item = copy ? attributes_place(attributes, name, err) : NULL;
  if (!item) {
    free(copy);
    return err->code;
  }
  item->kind = ATTRIBUTE_TEXT;
  item->text = copy;
  return 0;
}

int attributes_set_int(struct attributes *attributes, const char *name, int64_t value, struct error *err) {
  struct attribute *item = attributes_place(attributes, name, err);
  if (!item) {
    return err->code;
  }
  item->kind = ATTRIBUTE_INT;
  item->integer = value;
  return 0;
}

int attributes_set_real(struct attributes *attributes, const char *name, double value, struct error *err) {
  struct attribute *item = attributes_place(attributes, name, err);
  if (!item) {
    return err->code;
  }
  item->kind = ATTRIBUTE_REAL;
  item->real = value;
  return 0;
}

int attributes_set_reals(struct attributes *attributes, const char *name, const double *list, size_t count,
                         struct error *err) {
  double *copy = memory_new(count, sizeof *copy, name, err);
  struct attribute *item = copy ? attributes_place(attributes, name, err) : NULL;
  if (!item) {
    free(copy);
    return err->code;
  }
  memcpy(copy, list, count * sizeof *copy);
  item->kind = ATTRIBUTE_REAL_LIST;
  item->list = copy;
  item->count = count;
  return 0;
}

void attributes_free(struct attributes *attributes) {
  for (size_t i = 0; i < attributes->count; i++) {
    attribute_clear(&attributes->items[i]);
  }
  free(attributes->items);
  *attributes = (struct attributes){0};
}

void record_free(struct record *record) {
  for (size_t i = 0; i < record->count; i++) {
    tensor_free(&record->tensors[i]);
  }
  free(record->tensors);
  attributes_free(&record->attributes);
  record->tensors = NULL;
  record->count = record->capacity = 0;
}
