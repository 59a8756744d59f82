#include "results/record_group.h"

#include "base/memory.h"
#include "results/hdf5_writer.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCALE_NAME = RECORD_NAME + 8 };

struct scale {
  char name[SCALE_NAME];
  const struct axis *axis;
  hid_t id;
};

struct record_group {
  const struct record *record;
  struct pool *pool;
  hid_t id;
  struct scale *scales;
  size_t n_scales, capacity;
};

const struct tensor *record_shown(const struct record *record) {
  const struct tensor *chosen = record->signal[0] ? record_find(record, record->signal) : NULL;
  for (size_t i = 0; !chosen && i < record->count; i++) {
    chosen = record->tensors[i].rank ? &record->tensors[i] : NULL;
  }
  return chosen || !record->count ? chosen : &record->tensors[0];
}

static double axis_value(const struct axis *axis, size_t index) {
  return axis->values ? axis->values[index] : (double)index;
}

static bool same_axis(const struct axis *a, const struct axis *b) {
  if (a->length != b->length) {
    return false;
  }
  for (size_t i = 0; i < a->length; i++) {
    if (axis_value(a, i) != axis_value(b, i)) {
      return false;
    }
  }
  return true;
}

/* The axis's name; readers need two scales where a tensor has one axis twice. */
static void scale_name(char *name, const struct tensor *tensor, unsigned dimension) {
  unsigned earlier = 0;
  for (unsigned i = 0; i < dimension; i++) {
    earlier += !strcmp(tensor->axis[i].name, tensor->axis[dimension].name);
  }
  if (earlier) {
    snprintf(name, SCALE_NAME, "%s_%u", tensor->axis[dimension].name, earlier + 1);
  } else {
    snprintf(name, SCALE_NAME, "%s", tensor->axis[dimension].name);
  }
}

/* Whole numbers as int32, which every viewer takes; larger ones as int64. */
static enum element scale_element(const struct axis *axis) {
  enum element element = axis->real ? ELEMENT_F64 : ELEMENT_I32;
  for (size_t i = 0; i < axis->length && element != ELEMENT_F64; i++) {
    double value = axis_value(axis, i);
    if (value != floor(value) || fabs(value) > 0x1p53) {
      element = ELEMENT_F64;
    } else if (value < INT32_MIN || value > INT32_MAX) {
      element = ELEMENT_I64;
    }
  }
  return element;
}

static void *scale_values(const struct axis *axis, enum element element, struct error *err) {
  void *values = memory_new(axis->length, sizeof(double), axis->name, err);
  for (size_t i = 0; values && i < axis->length; i++) {
    double value = axis_value(axis, i);
    if (element == ELEMENT_I32) {
      ((int32_t *)values)[i] = (int32_t)value;
    } else if (element == ELEMENT_I64) {
      ((int64_t *)values)[i] = (int64_t)value;
    } else {
      ((double *)values)[i] = value;
    }
  }
  return values;
}

static int write_scale(const struct record_group *group, struct scale *scale, struct error *err) {
  const struct axis *axis = scale->axis;
  enum element element = scale_element(axis);
  void *values = scale_values(axis, element, err);
  if (!values) {
    return err->code;
  }
  struct hdf5_array array = {.name = scale->name, .element = element, .rank = 1, .dim = {axis->length}, .data = values};
  int failed = hdf5_scale_new(group->id, &array, &scale->id, err);
  free(values);
  if (failed || hdf5_attribute_text(scale->id, "long_name", axis->long_name[0] ? axis->long_name : axis->name, err)) {
    return err->code;
  }
  if (hdf5_attribute_text(scale->id, "units", axis->units[0] ? axis->units : "1", err)) {
    return err->code;
  }
  return axis->log_values ? hdf5_attribute_text(scale->id, "scale_type", "log", err) : 0;
}

/* The scale of one dimension, written when it is first needed. */
static int scale_of(struct record_group *group, const struct tensor *tensor, unsigned dimension, hid_t *id,
                    struct error *err) {
  const struct record *record = group->record;
  const struct axis *axis = &tensor->axis[dimension];
  char name[SCALE_NAME];
  scale_name(name, tensor, dimension);
  for (size_t i = 0; i < group->n_scales; i++) {
    if (!strcmp(group->scales[i].name, name)) {
      *id = group->scales[i].id;
      return same_axis(axis, group->scales[i].axis)
                 ? 0
                 : error_set(err, ERROR_INTERNAL, "%s/%s: axis '%s' of '%s' has other values than elsewhere",
                             record->experiment, record->label, axis->name, tensor->name);
    }
  }
  if (record_find(record, name)) {
    return error_set(err, ERROR_INTERNAL, "%s/%s: '%s' is a tensor and an axis", record->experiment, record->label,
                     name);
  }
  struct scale *grown = memory_grow(group->scales, &group->capacity, group->n_scales + 1, sizeof *grown, "scales", err);
  if (!grown) {
    return err->code;
  }
  group->scales = grown;
  struct scale *scale = &grown[group->n_scales++];
  *scale = (struct scale){.axis = axis, .id = -1};
  snprintf(scale->name, sizeof scale->name, "%s", name);
  if (write_scale(group, scale, err)) {
    return err->code;
  }
  *id = scale->id;
  return 0;
}

static int write_attribute(hid_t object, const struct attribute *attribute, struct error *err) {
  switch (attribute->kind) {
  case ATTRIBUTE_TEXT:
    return hdf5_attribute_text(object, attribute->name, attribute->text, err);
  case ATTRIBUTE_INT:
    return hdf5_attribute_int(object, attribute->name, attribute->integer, err);
  case ATTRIBUTE_REAL:
    return hdf5_attribute_real(object, attribute->name, attribute->real, err);
  case ATTRIBUTE_REAL_LIST:
    break;
  }
  struct hdf5_array array = {
      .name = attribute->name, .element = ELEMENT_F64, .rank = 1, .dim = {attribute->count}, .data = attribute->list};
  return hdf5_attribute_array(object, &array, err);
}

static int write_attributes(hid_t object, const struct attributes *attributes, struct error *err) {
  for (size_t i = 0; i < attributes->count; i++) {
    bool is_flag = !strncmp(attributes->items[i].name, "flag_", 5); /* write_flags */
    if (!is_flag && write_attribute(object, &attributes->items[i], err)) {
      return err->code;
    }
  }
  return 0;
}

/* What the numbers of a uint8 variable mean, as CF has it; without a word from the experiment they are no and yes. */
static int write_flags(hid_t variable, const struct tensor *tensor, struct error *err) {
  const struct attribute *given = attributes_find(&tensor->attributes, "flag_values");
  given = given && given->kind == ATTRIBUTE_REAL_LIST ? given : NULL;
  uint8_t values[256] = {0, 1};
  size_t count = given ? given->count : 2;
  count = count < sizeof values ? count : sizeof values;
  for (size_t i = 0; given && i < count; i++) {
    values[i] = (uint8_t)given->list[i];
  }
  struct hdf5_array array = {.name = "flag_values", .element = ELEMENT_U8, .rank = 1, .dim = {count}, .data = values};
  if (hdf5_attribute_array(variable, &array, err)) {
    return err->code;
  }
  const struct attribute *meanings = attributes_find(&tensor->attributes, "flag_meanings");
  bool is_text = meanings && meanings->kind == ATTRIBUTE_TEXT;
  return hdf5_attribute_text(variable, "flag_meanings", is_text ? meanings->text : "no yes", err);
}

static int describe_variable(hid_t variable, const struct tensor *tensor, struct error *err) {
  const float nan_f32 = NAN;
  const double nan_f64 = NAN;
  bool real = tensor->element == ELEMENT_F32 || tensor->element == ELEMENT_F64;
  struct hdf5_array fill = {.name = "_FillValue",
                            .element = tensor->element,
                            .data = tensor->element == ELEMENT_F32 ? (const void *)&nan_f32 : (const void *)&nan_f64};
  if (hdf5_attribute_text(variable, "long_name", tensor->long_name[0] ? tensor->long_name : tensor->name, err) ||
      hdf5_attribute_text(variable, "units", tensor->units[0] ? tensor->units : "1", err) ||
      (real && hdf5_attribute_array(variable, &fill, err)) ||
      (tensor->element == ELEMENT_U8 && write_flags(variable, tensor, err)) ||
      (tensor->image && tensor->rank >= 2 && hdf5_attribute_text(variable, "interpretation", "image", err)) ||
      (tensor->log_values && hdf5_attribute_text(variable, "scale_type", "log", err))) {
    return err->code;
  }
  return write_attributes(variable, &tensor->attributes, err);
}

static int write_tensor(struct record_group *group, const struct tensor *tensor, struct error *err) {
  struct hdf5_array array = {.name = tensor->name,
                             .element = tensor->element,
                             .rank = tensor->rank,
                             .data = tensor->data,
                             .packed = tensor->packed,
                             .packed_first = tensor->packed_first,
                             .pool = group->pool};
  hid_t scale[RECORD_MAX_RANK];
  for (unsigned i = 0; i < tensor->rank; i++) {
    array.dim[i] = tensor->axis[i].length;
    if (scale_of(group, tensor, i, &scale[i], err)) {
      return err->code;
    }
  }
  hid_t variable;
  if (hdf5_variable_new(group->id, &array, scale, &variable, err)) {
    return err->code;
  }
  return hdf5_close(describe_variable(variable, tensor, err), variable, tensor->name, err);
}

bool record_is_auxiliary(const struct record *record, const struct tensor *signal, const struct tensor *tensor) {
  bool comparison = !strcmp(record->label, "comparison") || !strncmp(record->label, "comparison_", 11);
  bool real = tensor->element == ELEMENT_F32 || tensor->element == ELEMENT_F64;
  if (!comparison || !real || tensor == signal || tensor->rank != signal->rank) {
    return false;
  }
  for (unsigned i = 0; i < tensor->rank; i++) {
    if (strcmp(tensor->axis[i].name, signal->axis[i].name)) {
      return false;
    }
  }
  return true;
}

static int write_auxiliary(const struct record_group *group, const struct tensor *signal, struct error *err) {
  const struct record *record = group->record;
  const char **names = memory_new(record->count, sizeof *names, "auxiliary_signals", err);
  if (!names) {
    return err->code;
  }
  size_t count = 0;
  for (size_t i = 0; i < record->count; i++) {
    if (record_is_auxiliary(record, signal, &record->tensors[i])) {
      names[count++] = record->tensors[i].name;
    }
  }
  int failed = count ? hdf5_attribute_texts(group->id, "auxiliary_signals", names, count, err) : 0;
  free(names);
  return failed;
}

/* Viewers differ in the spelling of one key, so both are written. Pictures have linear axes. */
static int write_style(const struct record_group *group, const struct tensor *signal, struct error *err) {
  bool curve = signal->rank == 1;
  bool log_axis = curve && signal->axis[0].log_values;
  if (!log_axis && !signal->log_values) {
    return 0;
  }
  char axes[16 * RECORD_MAX_RANK] = "";
  for (unsigned i = 0; i < signal->rank; i++) {
    size_t used = strlen(axes);
    snprintf(axes + used, sizeof axes - used, "%s\"%s\"", i ? "," : "", log_axis ? "log" : "linear");
  }
  char style[320];
  snprintf(style, sizeof style, "{\"axes_scale_type\":[%s],\"axes_scale_types\":[%s],\"signal_scale_type\":\"%s\"}",
           axes, axes, signal->log_values ? "log" : "linear");
  return hdf5_attribute_text(group->id, "SILX_style", style, err);
}

static int write_signal(const struct record_group *group, const struct tensor *signal, struct error *err) {
  if (hdf5_attribute_text(group->id, "signal", signal->name, err)) {
    return err->code;
  }
  char names[RECORD_MAX_RANK][SCALE_NAME];
  const char *axes[RECORD_MAX_RANK];
  for (unsigned i = 0; i < signal->rank; i++) {
    scale_name(names[i], signal, i);
    axes[i] = names[i];
  }
  if ((signal->rank && hdf5_attribute_texts(group->id, "axes", axes, signal->rank, err)) ||
      write_auxiliary(group, signal, err)) {
    return err->code;
  }
  return write_style(group, signal, err);
}

static int describe_record(const struct record_group *group, const char *name, struct error *err) {
  const struct record *record = group->record;
  bool has_error = record->error.code != ERROR_NONE;
  if (hdf5_attribute_text(group->id, "title", record->title[0] ? record->title : record->label, err) ||
      hdf5_attribute_text(group->id, "status", record_status_name(record->status), err) ||
      (strcmp(name, record->label) && hdf5_attribute_text(group->id, "label", record->label, err)) ||
      (has_error && hdf5_attribute_text(group->id, "error_id", error_id(record->error.code), err)) ||
      (has_error && hdf5_attribute_text(group->id, "error", record->error.text, err))) {
    return err->code;
  }
  /* Seeds beyond int64, which no viewer's slider would ever show, keep their bits. */
  return hdf5_attribute_int(group->id, "seed", (int64_t)record->seed, err);
}

static int fill_group(struct record_group *group, const char *name, struct error *err) {
  const struct record *record = group->record;
  const struct tensor *signal = record_shown(record);
  if (describe_record(group, name, err) || (signal && write_signal(group, signal, err)) ||
      write_attributes(group->id, &record->attributes, err)) {
    return err->code;
  }
  for (size_t i = 0; i < record->count; i++) {
    if (write_tensor(group, &record->tensors[i], err)) {
      return err->code;
    }
  }
  return 0;
}

int record_group_write(hid_t parent, const char *name, const struct record *record, struct pool *pool,
                       struct error *err) {
  struct record_group group = {.record = record, .pool = pool};
  /* A record without tensors is no NXdata: nothing could be plotted, and viewers would say so. */
  if (hdf5_group_new(parent, name, record->count ? "NXdata" : "NXcollection", &group.id, err)) {
    return err->code;
  }
  int failed = fill_group(&group, name, err);
  for (size_t i = 0; i < group.n_scales; i++) {
    failed = hdf5_close(failed, group.scales[i].id, group.scales[i].name, err);
  }
  failed = hdf5_close(failed, group.id, name, err);
  free(group.scales);
  return failed;
}
