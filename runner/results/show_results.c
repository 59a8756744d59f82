#include "results/show_results.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const element_names[] = {[ELEMENT_F32] = "float32",
                                            [ELEMENT_F64] = "float64",
                                            [ELEMENT_I32] = "int32",
                                            [ELEMENT_I64] = "int64",
                                            [ELEMENT_U8] = "uint8"};

static double axis_value(const struct axis *axis, size_t index) {
  return axis->values ? axis->values[index] : (double)index;
}

/* "length 6, head 8"; "a single value" */
static char *axes_in_words(const struct tensor *tensor, struct error *err) {
  struct text words = {0};
  for (unsigned i = 0; i < tensor->rank; i++) {
    text_printf(&words, "%s%s %zu", i ? ", " : "", tensor->axis[i].name, tensor->axis[i].length);
  }
  if (!tensor->rank) {
    text_append(&words, "a single value");
  }
  return text_take(&words, err);
}

struct range {
  double smallest, largest, sum;
  size_t numbers; /* that are not NaN */
};

static struct range range_of(const struct tensor *tensor) {
  struct range range = {NAN, NAN, 0, 0};
  for (size_t i = 0; i < tensor->count; i++) {
    double value = tensor_value(tensor, i);
    if (isnan(value)) {
      continue;
    }
    range.smallest = range.numbers && range.smallest <= value ? range.smallest : value;
    range.largest = range.numbers && range.largest >= value ? range.largest : value;
    range.sum += value;
    range.numbers++;
  }
  return range;
}

struct column {
  const char *name;
  const char *heading;
  enum { LEFT, RIGHT, PROSE } kind;
};

static int add_columns(struct table *table, const struct column *columns, size_t count, struct error *err) {
  for (size_t i = 0; i < count; i++) {
    const struct column *column = &columns[i];
    if (table_column(table, column->name, column->heading, column->kind == RIGHT, column->kind == PROSE, err)) {
      return err->code;
    }
  }
  return 0;
}

/* "sinusoidal: truncation divergence" beside the name sinusoidal: the name once. */
static const char *meaning_of(const struct tensor *tensor) {
  size_t length = strlen(tensor->name);
  bool repeated = !strncmp(tensor->long_name, tensor->name, length) && !strncmp(tensor->long_name + length, ": ", 2);
  return tensor->long_name + (repeated ? length + 2 : 0);
}

/* A brief row: without the type, and where nothing is missing in the whole record, without that. */
static int add_brief_row(const struct tensor *tensor, bool whole, struct table *table, struct error *err) {
  struct range range = range_of(tensor);
  char *axes = axes_in_words(tensor, err);
  int failed = axes ? 0 : (int)err->code;
  failed = failed ? failed : table_text(table, err, "%s", tensor->name);
  failed = failed ? failed : table_text(table, err, "%s", axes);
  failed = failed ? failed : table_number(table, range.smallest, err);
  failed = failed ? failed : table_number(table, range.largest, err);
  failed = failed || whole ? failed : table_number(table, (double)(tensor->count - range.numbers), err);
  failed = failed ? failed : table_text(table, err, "%s", meaning_of(tensor));
  free(axes);
  return failed;
}

static int add_tensor_row(const struct tensor *tensor, struct table *table, struct error *err) {
  struct range range = range_of(tensor);
  char *axes = axes_in_words(tensor, err);
  int failed = axes ? 0 : (int)err->code;
  failed = failed ? failed : table_text(table, err, "%s", tensor->name);
  failed = failed ? failed : table_text(table, err, "%s", axes);
  failed = failed ? failed : table_text(table, err, "%s", element_names[tensor->element]);
  failed = failed ? failed : table_number(table, range.smallest, err);
  failed = failed ? failed : table_number(table, range.largest, err);
  failed = failed ? failed : table_number(table, (double)(tensor->count - range.numbers), err);
  failed = failed ? failed : table_text(table, err, "%s", tensor->long_name);
  free(axes);
  return failed;
}

static int add_tensor_columns(struct table *table, struct error *err) {
  static const struct column columns[] = {{"tensor", "tensor", LEFT},    {"axes", "axes", PROSE},
                                          {"type", "type", LEFT},        {"smallest", "smallest", RIGHT},
                                          {"largest", "largest", RIGHT}, {"missing", "missing", RIGHT},
                                          {"meaning", "meaning", PROSE}};
  return add_columns(table, columns, sizeof columns / sizeof *columns, err);
}

static int note_reason(const struct record *record, struct table *table, struct error *err) {
  return record->count
             ? 0
             : table_note(table, err, "%s/%s: %s%s%s", record->experiment, record->label,
                          record_status_name(record->status), record->error.text[0] ? ": " : "", record->error.text);
}

/* <scheme>_status of a comparison, where all was measured. */
static bool is_plain_status(const struct record *record, const struct tensor *tensor) {
  size_t length = strlen(tensor->name), end = strlen("_status");
  bool comparison = !strncmp(record->label, "comparison", strlen("comparison"));
  return comparison && length > end && !strcmp(tensor->name + length - end, "_status") &&
         range_of(tensor).largest == RECORD_MEASURED;
}

static int add_brief_columns(struct table *table, bool whole, struct error *err) {
  static const struct column columns[] = {{"tensor", "tensor", LEFT},
                                          {"axes", "axes", PROSE},
                                          {"smallest", "smallest", RIGHT},
                                          {"largest", "largest", RIGHT}};
  static const struct column last[] = {{"missing", "missing", RIGHT}, {"meaning", "meaning", PROSE}};
  int failed = add_columns(table, columns, sizeof columns / sizeof *columns, err);
  return failed ? failed : add_columns(table, last + whole, (size_t)(whole ? 1 : 2), err);
}

static bool is_whole(const struct record *record) {
  bool whole = true;
  for (size_t i = 0; i < record->count && whole; i++) {
    whole = range_of(&record->tensors[i]).numbers == record->tensors[i].count;
  }
  return whole;
}

int show_record(const struct record *record, bool brief, struct table *table, struct error *err) {
  bool whole = is_whole(record);
  char named[3 * RECORD_NAME];
  snprintf(named, sizeof named, "%s: %s", record->experiment, record->label);
  bool own_title = record->title[0] && strcmp(record->title, named) != 0;
  int failed = table_title(table, err, "%s/%s%s%s", record->experiment, record->label, own_title ? ": " : "",
                           own_title ? record->title : "");
  failed = failed ? failed : brief ? add_brief_columns(table, whole, err) : add_tensor_columns(table, err);
  for (size_t i = 0; !failed && i < record->count; i++) {
    const struct tensor *tensor = &record->tensors[i];
    if (!brief) {
      failed = add_tensor_row(tensor, table, err);
    } else if (!is_plain_status(record, tensor)) {
      failed = add_brief_row(tensor, whole, table, err);
    }
  }
  return failed ? failed : note_reason(record, table, err);
}

int show_experiment(const struct results_experiment *experiment, struct table *table, struct error *err) {
  int failed = table_title(table, err, "%s: %s", experiment->label, experiment->title ? experiment->title : "");
  failed = failed ? failed : table_column(table, "record", "record", false, false, err);
  failed = failed ? failed : add_tensor_columns(table, err);
  for (size_t r = 0; !failed && r < experiment->count; r++) {
    const struct record *record = experiment->records[r];
    for (size_t i = 0; !failed && i < record->count; i++) {
      failed = table_text(table, err, "%s", record->label);
      failed = failed ? failed : add_tensor_row(&record->tensors[i], table, err);
    }
    failed = failed ? failed : note_reason(record, table, err);
  }
  return failed;
}

static int add_file_row(struct table *table, const char *path, const char *status, double tensors, const char *holds,
                        struct error *err) {
  int failed = table_text(table, err, "%s", path);
  failed = failed ? failed : table_text(table, err, "%s", status);
  char count[32] = "";
  if (!isnan(tensors)) {
    snprintf(count, sizeof count, "%.0f", tensors);
  }
  failed = failed ? failed : table_number_as(table, tensors, err, "%s", count);
  return failed ? failed : table_text(table, err, "%s", holds);
}

static int add_record_to_tree(const struct record *record, struct table *table, struct error *err) {
  char path[3 * RECORD_NAME];
  snprintf(path, sizeof path, "%s/%s", record->experiment, record->label);
  const char *holds = record->error.text[0] ? record->error.text : record->title;
  return add_file_row(table, path, record_status_name(record->status), (double)record->count, holds, err);
}

int show_file(const struct results_file *file, struct table *table, struct error *err) {
  static const struct column columns[] = {
      {"path", "path", LEFT}, {"status", "status", LEFT}, {"tensors", "tensors", RIGHT}, {"holds", "holds", PROSE}};
  int failed =
      table_title(table, err, "%s (%s)", file->title && file->title[0] ? file->title : "results", file->status);
  failed = failed ? failed : add_columns(table, columns, sizeof columns / sizeof *columns, err);
  for (size_t e = 0; !failed && e < file->n_experiments; e++) {
    const struct results_experiment *experiment = &file->experiments[e];
    failed = add_file_row(table, experiment->label, "", NAN, experiment->title ? experiment->title : "", err);
    for (size_t i = 0; !failed && i < experiment->count; i++) {
      failed = add_record_to_tree(experiment->records[i], table, err);
    }
  }
  for (size_t i = 0; !failed && i < file->n_texts; i++) {
    char path[3 * RECORD_NAME], holds[40];
    snprintf(path, sizeof path, "run/%s", file->texts[i].name);
    snprintf(holds, sizeof holds, "%s, %zu bytes", file->texts[i].json ? "JSON" : "text", strlen(file->texts[i].text));
    failed = add_file_row(table, path, "", NAN, holds, err);
  }
  return failed;
}

static int add_branch(struct table *table, bool last, const char *name, double tensors, const char *holds,
                      struct error *err) {
  char count[32] = "";
  if (!isnan(tensors)) {
    snprintf(count, sizeof count, "%.0f", tensors);
  }
  int failed = table_text(table, err, "%s %s", last ? "\u2514" : "\u251c", name);
  failed = failed ? failed : table_number_as(table, tensors, err, "%s", count);
  return failed ? failed : table_text(table, err, "%s", holds);
}

/* What a record holds: why it is not measured; its title; of a scheme whose title is only its name, the scheme's. */
static int add_record_branch(const struct record *record, bool last, struct table *table, struct error *err) {
  char named[3 * RECORD_NAME];
  snprintf(named, sizeof named, "%s: %s", record->experiment, record->label);
  const struct attribute *title = attributes_find(&record->attributes, "scheme_title");
  bool own = record->title[0] && strcmp(record->title, named) != 0;
  const char *what = own ? record->title : title && title->kind == ATTRIBUTE_TEXT ? title->text : "";
  struct text holds = {0};
  if (record->status != RECORD_MEASURED) {
    text_printf(&holds, "%s%s%s", record_status_name(record->status), record->error.text[0] ? ": " : "",
                record->error.text);
  } else {
    text_append(&holds, what);
  }
  char *words = text_take(&holds, err);
  int failed = words ? add_branch(table, last, record->label, (double)record->count, words, err) : (int)err->code;
  free(words);
  return failed;
}

static int add_trunk(struct table *table, const char *name, const char *holds, struct error *err) {
  int failed = table_text(table, err, "%s", name);
  failed = failed ? failed : table_number_as(table, NAN, err, "%s", "");
  return failed ? failed : table_text(table, err, "%s", holds);
}

int show_tree(const struct results_file *file, struct table *table, struct error *err) {
  static const struct column columns[] = {
      {"path", "path", LEFT}, {"tensors", "tensors", RIGHT}, {"holds", "holds", PROSE}};
  int failed =
      table_title(table, err, "%s (%s)", file->title && file->title[0] ? file->title : "results", file->status);
  failed = failed ? failed : add_columns(table, columns, sizeof columns / sizeof *columns, err);
  for (size_t e = 0; !failed && e < file->n_experiments; e++) {
    const struct results_experiment *experiment = &file->experiments[e];
    failed = add_trunk(table, experiment->label, experiment->title ? experiment->title : "", err);
    for (size_t i = 0; !failed && i < experiment->count; i++) {
      failed = add_record_branch(experiment->records[i], i + 1 == experiment->count, table, err);
    }
  }
  failed = failed ? failed : add_trunk(table, "run", "where it comes from", err);
  for (size_t i = 0; !failed && i < file->n_texts; i++) {
    char holds[40];
    snprintf(holds, sizeof holds, "%s, %zu bytes", file->texts[i].json ? "JSON" : "text", strlen(file->texts[i].text));
    failed = add_branch(table, i + 1 == file->n_texts, file->texts[i].name, NAN, holds, err);
  }
  return failed;
}

static int add_fact(struct table *table, const char *name, const char *text, struct error *err) {
  int failed = table_text(table, err, "%s", name);
  return failed ? failed : table_text(table, err, "%s", text);
}

char *show_attribute(const struct attribute *attribute, struct error *err) {
  struct text text = {0};
  if (!attribute) {
    return text_take(&text, err);
  }
  switch (attribute->kind) {
  case ATTRIBUTE_TEXT:
    text_append(&text, attribute->text);
    break;
  case ATTRIBUTE_INT:
    text_printf(&text, "%lld", (long long)attribute->integer);
    break;
  case ATTRIBUTE_REAL:
    text_append_double(&text, attribute->real);
    break;
  case ATTRIBUTE_REAL_LIST:
    for (size_t i = 0; i < attribute->count; i++) {
      text_append(&text, i ? ", " : "");
      text_append_double(&text, attribute->list[i]);
    }
    break;
  }
  return text_take(&text, err);
}

static int add_attribute(struct table *table, const struct attribute *attribute, struct error *err) {
  char *text = show_attribute(attribute, err);
  int failed = text ? add_fact(table, attribute->name, text, err) : (int)err->code;
  free(text);
  return failed;
}

static int add_attributes(struct table *table, const struct attributes *attributes, struct error *err) {
  int failed = 0;
  for (size_t i = 0; !failed && i < attributes->count; i++) {
    failed = add_attribute(table, &attributes->items[i], err);
  }
  return failed;
}

static int add_fact_columns(struct table *table, struct error *err) {
  static const struct column columns[] = {{"name", "name", LEFT}, {"value", "value", PROSE}};
  return add_columns(table, columns, sizeof columns / sizeof *columns, err);
}

int show_attributes(const struct record *record, struct table *table, struct error *err) {
  int failed = table_title(table, err, "%s/%s", record->experiment, record->label);
  failed = failed ? failed : add_fact_columns(table, err);
  failed = failed ? failed : add_fact(table, "status", record_status_name(record->status), err);
  if (!failed && record->error.code != ERROR_NONE) {
    failed = add_fact(table, "error_id", error_id(record->error.code), err);
    failed = failed ? failed : add_fact(table, "error", record->error.text, err);
  }
  failed = failed ? failed : table_text(table, err, "seed");
  failed = failed ? failed : table_text(table, err, "%llu", (unsigned long long)record->seed);
  return failed ? failed : add_attributes(table, &record->attributes, err);
}

static int add_number_fact(struct table *table, const char *name, double number, struct error *err) {
  int failed = table_text(table, err, "%s", name);
  return failed ? failed : table_number(table, number, err);
}

/* "128 ... 2048 (sequence length, in 1)" */
static int add_axis(struct table *table, const struct axis *axis, struct error *err) {
  int failed = table_text(table, err, "axis %s", axis->name);
  if (failed || !axis->length) {
    return failed ? failed : table_text(table, err, "empty");
  }
  return table_text(table, err, "%zu values from %g to %g: %s", axis->length, axis_value(axis, 0),
                    axis_value(axis, axis->length - 1), axis->long_name[0] ? axis->long_name : axis->name);
}

int show_tensor(const struct record *record, const struct tensor *tensor, struct table *table, struct error *err) {
  struct range range = range_of(tensor);
  char *axes = axes_in_words(tensor, err);
  if (!axes) {
    return err->code;
  }
  int failed =
      table_title(table, err, "%s/%s/%s: %s", record->experiment, record->label, tensor->name, tensor->long_name);
  failed = failed ? failed : add_fact_columns(table, err);
  failed = failed ? failed : add_fact(table, "type", element_names[tensor->element], err);
  failed = failed ? failed : add_fact(table, "axes", axes, err);
  free(axes);
  for (unsigned i = 0; !failed && i < tensor->rank; i++) {
    failed = add_axis(table, &tensor->axis[i], err);
  }
  failed = failed ? failed : add_fact(table, "units", tensor->units[0] ? tensor->units : "1", err);
  failed = failed ? failed : add_number_fact(table, "smallest", range.smallest, err);
  failed = failed ? failed : add_number_fact(table, "largest", range.largest, err);
  failed =
      failed ? failed : add_number_fact(table, "mean", range.numbers ? range.sum / (double)range.numbers : NAN, err);
  failed = failed ? failed : add_number_fact(table, "missing", (double)(tensor->count - range.numbers), err);
  return failed ? failed : add_attributes(table, &tensor->attributes, err);
}

/* A heading in a machine format is a name: that of the axis or tensor. */
static int add_values_columns(const struct tensor *tensor, struct table *table, struct error *err) {
  for (unsigned i = 0; i < tensor->rank; i++) {
    const struct axis *axis = &tensor->axis[i];
    if (table_column(table, axis->name, axis->name, true, false, err)) {
      return err->code;
    }
  }
  return table_column(table, tensor->name, tensor->name, true, false, err);
}

/* The word for a value of a tensor of flags, in `word`; false where it has none. */
static bool flag_word(const struct tensor *tensor, double value, char *word, size_t size) {
  const struct attribute *meanings = attributes_find(&tensor->attributes, "flag_meanings");
  if (tensor->element != ELEMENT_U8 || !meanings || meanings->kind != ATTRIBUTE_TEXT) {
    return false;
  }
  const char *start = meanings->text;
  for (double i = 0; i < value && *start; i++) {
    start += strcspn(start, " ");
    start += *start == ' ';
  }
  snprintf(word, size, "%.*s", (int)strcspn(start, " "), start);
  return word[0] != '\0';
}

static int add_value(struct table *table, const struct tensor *tensor, size_t index, struct error *err) {
  double value = tensor_value(tensor, index);
  char word[RECORD_NAME];
  return flag_word(tensor, value, word, sizeof word) ? table_number_as(table, value, err, "%s", word)
                                                     : table_number(table, value, err);
}

int show_values(const struct record *record, const struct tensor *tensor, struct table *table, struct error *err) {
  int failed =
      table_title(table, err, "%s/%s/%s: %s", record->experiment, record->label, tensor->name, tensor->long_name);
  failed = failed ? failed : add_values_columns(tensor, table, err);
  for (size_t i = 0; !failed && i < tensor->count; i++) {
    size_t stride = tensor->count;
    for (unsigned a = 0; !failed && a < tensor->rank; a++) {
      stride /= tensor->axis[a].length;
      failed = table_number(table, axis_value(&tensor->axis[a], i / stride % tensor->axis[a].length), err);
    }
    failed = failed ? failed : add_value(table, tensor, i, err);
  }
  return failed;
}

int show_grid(const struct record *record, const struct tensor *tensor, struct table *table, struct error *err) {
  const struct axis *down = &tensor->axis[0], *right = &tensor->axis[1];
  int failed = table_title(table, err, "%s/%s/%s: %s down, %s to the right", record->experiment, record->label,
                           tensor->name, down->name, right->name);
  failed = failed ? failed : table_column(table, down->name, down->name, true, false, err);
  for (size_t c = 0; !failed && c < right->length; c++) {
    char heading[40];
    snprintf(heading, sizeof heading, "%g", axis_value(right, c));
    failed = table_column(table, heading, heading, true, false, err);
  }
  for (size_t r = 0; !failed && r < down->length; r++) {
    failed = table_number(table, axis_value(down, r), err);
    for (size_t c = 0; !failed && c < right->length; c++) {
      failed = add_value(table, tensor, r * right->length + c, err);
    }
  }
  return failed;
}
