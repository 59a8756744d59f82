#include "results/read_results.h"

#include "base/memory.h"
#include "results/hdf5_error.h"
#include "results/read_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_PATH = 256 };

/* Attributes of a record's group that are members of struct record, or follow from it. */
static bool is_member(const char *name) {
  static const char *const members[] = {"NX_class",   "title", "status", "label", "error_id",
                                        "error",      "seed",  "signal", "axes",  "auxiliary_signals",
                                        "SILX_style", NULL};
  for (const char *const *member = members; *member; member++) {
    if (!strcmp(name, *member)) {
      return true;
    }
  }
  return false;
}

/* A text attribute into a member of fixed size; a missing one leaves it empty. */
static int read_member(const struct hdf5_file *file, const char *group, const char *name, char *member, size_t size,
                       struct error *err) {
  char *text = NULL;
  if (read_text_attribute(file, group, name, &text, err)) {
    return err->code;
  }
  snprintf(member, size, "%s", text ? text : "");
  free(text);
  return 0;
}

static enum record_status status_named(const char *name) {
  enum record_status status = RECORD_MEASURED;
  while (status < RECORD_NOT_RUN && strcmp(name, record_status_name(status)) != 0) {
    status++;
  }
  return status;
}

static enum error_code error_named(const char *id) {
  enum error_code code = ERROR_NONE;
  for (enum error_code c = ERROR_NONE; c < ERROR_COUNT; c++) {
    code = !strcmp(id, error_id(c)) ? c : code;
  }
  return code;
}

static int read_seed(const struct hdf5_file *file, const char *group, uint64_t *seed, struct error *err) {
  struct attributes one = {0};
  int failed = read_attribute(file, group, "seed", &one, err);
  *seed = !failed && one.items[0].kind == ATTRIBUTE_INT ? (uint64_t)one.items[0].integer : 0;
  attributes_free(&one);
  return failed;
}

static int read_head(const struct hdf5_file *file, const char *group, struct record *record, struct error *err) {
  char status[40], id[40], label[RECORD_NAME];
  if (read_member(file, group, "title", record->title, sizeof record->title, err) ||
      read_member(file, group, "signal", record->signal, sizeof record->signal, err) ||
      read_member(file, group, "error", record->error.text, sizeof record->error.text, err) ||
      read_member(file, group, "error_id", id, sizeof id, err) ||
      read_member(file, group, "status", status, sizeof status, err) ||
      read_member(file, group, "label", label, sizeof label, err) || read_seed(file, group, &record->seed, err)) {
    return err->code;
  }
  record->status = status_named(status);
  record->error.code = error_named(id);
  if (label[0]) {
    snprintf(record->label, sizeof record->label, "%s", label);
  }
  return 0;
}

static int read_attributes(const struct hdf5_file *file, const char *group, struct record *record, struct error *err) {
  struct names names = {0};
  if (read_attribute_names(file, group, &names, err)) {
    return err->code;
  }
  int result = 0;
  for (size_t i = 0; !result && i < names.count; i++) {
    if (!is_member(names.items[i])) {
      result = read_attribute(file, group, names.items[i], &record->attributes, err);
    }
  }
  names_free(&names);
  return result;
}

/* One member of a record's group. It is held open meanwhile: HDF5 looks up what is open much faster. */
static int read_member_tensor(const struct hdf5_file *file, const char *group, const char *name, bool keep_packed,
                              struct record *record, struct error *err) {
  char path[2 * GROUP_PATH];
  snprintf(path, sizeof path, "%s/%.200s", group, name);
  hid_t held = H5Oopen(file->handle, path, H5P_DEFAULT);
  bool is_group = false, is_scale = false;
  int result = read_kind(file, path, &is_group, err);
  if (!result && is_group) {
    result = error_set(err, ERROR_FILE_CONTENT, "%s: %s is a group; a record holds datasets", file->path, path);
  }
  result = result ? result : read_is_scale(file, path, &is_scale, err);
  if (!result && !is_scale) {
    result = read_tensor(file, group, name, keep_packed, record, err);
  }
  if (held >= 0) {
    H5Oclose(held);
  }
  return result;
}

static int read_tensors(const struct hdf5_file *file, const char *group, bool keep_packed, struct record *record,
                        struct error *err) {
  struct names names = {0};
  if (read_members(file, group, &names, err)) {
    return err->code;
  }
  int result = 0;
  for (size_t i = 0; !result && i < names.count; i++) {
    result = read_member_tensor(file, group, names.items[i], keep_packed, record, err);
  }
  names_free(&names);
  return result;
}

/* A new record at the end of results->records. */
static struct record *add_record(struct results_read *results, struct error *err) {
  struct record **grown =
      memory_grow(results->records, &results->records_capacity, results->n_records + 1, sizeof *grown, "records", err);
  if (!grown) {
    return NULL;
  }
  results->records = grown;
  struct record *record = memory_new(1, sizeof *record, "record", err);
  if (record) {
    grown[results->n_records++] = record;
  }
  return record;
}

static int read_record(const struct hdf5_file *file, const char *experiment, const char *label,
                       struct results_read *results, struct error *err) {
  char group[GROUP_PATH];
  int length = snprintf(group, sizeof group, "/%s/%s", experiment, label);
  if (length < 0 || (size_t)length >= sizeof group) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: a name in /%.80s is too long", file->path, experiment);
  }
  struct record *record = add_record(results, err);
  if (!record) {
    return err->code;
  }
  snprintf(record->experiment, sizeof record->experiment, "%s", experiment);
  snprintf(record->label, sizeof record->label, "%s", label);
  if (read_head(file, group, record, err) || read_attributes(file, group, record, err)) {
    return err->code;
  }
  int status = read_tensors(file, group, results->keep_packed, record, err);
  if (results->only_check) {
    record_free(record);
    *record = (struct record){0};
  }
  return status;
}

/* Take over `text` (NULL: none, and then 0) for as long as the results live. */
static int own(struct results_read *results, char *text, const char **out, struct error *err) {
  *out = text;
  if (!text) {
    return 0;
  }
  char **grown =
      memory_grow(results->owned, &results->owned_capacity, results->n_owned + 1, sizeof *grown, "strings", err);
  if (!grown) {
    free(text);
    *out = NULL;
    return err->code;
  }
  results->owned = grown;
  grown[results->n_owned++] = text;
  return 0;
}

static int own_copy(struct results_read *results, const char *text, const char **out, struct error *err) {
  char *copy = memory_copy_text(text, err);
  return copy ? own(results, copy, out, err) : (int)err->code;
}

static int own_attribute(const struct hdf5_file *file, struct results_read *results, const char *object,
                         const char *name, const char **out, struct error *err) {
  char *text = NULL;
  int result = read_text_attribute(file, object, name, &text, err);
  return result ? result : own(results, text, out, err);
}

static int read_experiment(const struct hdf5_file *file, const char *label, struct results_read *results,
                           struct error *err) {
  struct results_experiment *experiment = &results->experiments[results->file.n_experiments++];
  char group[GROUP_PATH];
  snprintf(group, sizeof group, "/%.200s", label);
  struct names names = {0};
  int result = own_copy(results, label, &experiment->label, err);
  result = result ? result : own_attribute(file, results, group, "title", &experiment->title, err);
  result = result ? result : own_attribute(file, results, group, "default", &experiment->shown, err);
  result = result ? result : read_members(file, group, &names, err);
  for (size_t i = 0; !result && i < names.count; i++) {
    result = read_record(file, label, names.items[i], results, err);
    experiment->count++;
  }
  names_free(&names);
  return result;
}

static int read_run_text(const struct hdf5_file *file, const char *name, struct results_read *results,
                         struct error *err) {
  struct results_text *grown =
      memory_grow(results->texts, &results->texts_capacity, results->file.n_texts + 1, sizeof *grown, "texts", err);
  if (!grown) {
    return err->code;
  }
  results->texts = grown;
  char path[GROUP_PATH], *text = NULL;
  bool is_note = false;
  snprintf(path, sizeof path, "/run/%.200s", name);
  if (read_kind(file, path, &is_note, err)) {
    return err->code;
  }
  snprintf(path, sizeof path, "/run/%.200s%s", name, is_note ? "/data" : "");
  if (read_text(file, path, &text, err)) {
    return err->code;
  }
  struct results_text *entry = &grown[results->file.n_texts];
  *entry = (struct results_text){.json = is_note};
  if (own(results, text, &entry->text, err) || own_copy(results, name, &entry->name, err)) {
    return err->code;
  }
  results->file.n_texts++;
  return 0;
}

static int read_run(const struct hdf5_file *file, struct results_read *results, struct error *err) {
  struct names names = {0};
  if (read_members(file, "/run", &names, err)) {
    return err->code;
  }
  int result = 0;
  for (size_t i = 0; !result && i < names.count; i++) {
    result = read_run_text(file, names.items[i], results, err);
  }
  names_free(&names);
  return result;
}

static int check_format(const struct hdf5_file *file, struct error *err) {
  char *format = NULL;
  if (read_text_attribute(file, "/", "format", &format, err)) {
    return err->code;
  }
  bool ours = format && !strcmp(format, "pe-run");
  free(format);
  if (!ours) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is an HDF5 file, but not one that pe-run wrote", file->path);
  }
  struct attributes one = {0};
  int failed = read_attribute(file, "/", "format_version", &one, err);
  long long version = !failed && one.items[0].kind == ATTRIBUTE_INT ? (long long)one.items[0].integer : 0;
  attributes_free(&one);
  if (!failed && (version < 1 || version > RESULTS_FORMAT_VERSION)) {
    failed = error_set(err, ERROR_FILE_CONTENT, "%s: is of format version %lld; this pe-run reads up to %d", file->path,
                       version, RESULTS_FORMAT_VERSION);
  }
  return failed;
}

static int read_root(const struct hdf5_file *file, struct results_read *results, struct error *err) {
  int result = own_attribute(file, results, "/", "title", &results->file.title, err);
  result = result ? result : own_attribute(file, results, "/", "status", &results->file.status, err);
  result = result ? result : own_attribute(file, results, "/", "default", &results->file.shown, err);
  if (!result && !results->file.status) {
    result = error_set(err, ERROR_FILE_CONTENT, "%s: does not say whether it is complete", file->path);
  }
  return result;
}

/* Experiments list their records by pointers into one array, which stands when all are read. */
static int list_records(struct results_read *results, struct error *err) {
  results->listed = memory_new(results->n_records, sizeof(struct record *), "records", err);
  if (!results->listed) {
    return err->code;
  }
  const struct record **next = results->listed;
  for (size_t i = 0; i < results->n_records; i++) {
    next[i] = results->records[i];
  }
  for (size_t i = 0; i < results->file.n_experiments; i++) {
    results->experiments[i].records = next;
    next += results->experiments[i].count;
  }
  results->file.experiments = results->experiments;
  results->file.texts = results->texts;
  return 0;
}

static int read_file(const struct hdf5_file *file, struct results_read *results, struct error *err) {
  struct names names = {0};
  if (check_format(file, err) || read_root(file, results, err) || read_members(file, "/", &names, err)) {
    return err->code;
  }
  results->experiments = memory_new(names.count, sizeof *results->experiments, "experiments", err);
  int result = results->experiments ? 0 : (int)err->code;
  for (size_t i = 0; !result && i < names.count; i++) {
    result = strcmp(names.items[i], "run") ? read_experiment(file, names.items[i], results, err)
                                           : read_run(file, results, err);
  }
  names_free(&names);
  return result ? result : list_records(results, err);
}

static int read_path(const char *path, struct results_read *results, struct error *err) {
  struct hdf5_reports before = hdf5_errors_quiet();
  struct hdf5_file *file = hdf5_file_open_unlocked(path, err);
  int result = file ? read_file(file, results, err) : (int)err->code;
  hdf5_file_close(file);
  hdf5_errors_restore(before);
  if (result) {
    struct error reason = *err;
    results_read_free(results);
    *err = reason;
  }
  return result;
}

int results_read(const char *path, struct results_read *results, struct error *err) {
  *results = (struct results_read){0};
  return read_path(path, results, err);
}

int results_read_packed(const char *path, struct results_read *results, struct error *err) {
  *results = (struct results_read){.keep_packed = true};
  return read_path(path, results, err);
}

int results_check_whole(const char *path, struct error *err) {
  struct results_read results = {.only_check = true};
  int status = read_path(path, &results, err);
  if (!status) {
    results_read_free(&results);
  }
  return status;
}

int results_recognise(const char *path, bool *ours, struct error *err) {
  struct hdf5_reports before = hdf5_errors_quiet();
  struct hdf5_file *file = hdf5_file_open_unlocked(path, err);
  char *format = NULL;
  *ours = file && read_text_attribute(file, "/", "format", &format, err) == 0 && format && !strcmp(format, "pe-run");
  free(format);
  hdf5_file_close(file);
  hdf5_errors_restore(before);
  return !*ours && err->code == ERROR_MEMORY ? ERROR_MEMORY : 0;
}

const struct record *results_find(const struct results_file *file, const char *experiment, const char *label) {
  for (size_t e = 0; e < file->n_experiments; e++) {
    const struct results_experiment *in = &file->experiments[e];
    for (size_t i = 0; !strcmp(in->label, experiment) && i < in->count; i++) {
      if (!strcmp(in->records[i]->label, label)) {
        return in->records[i];
      }
    }
  }
  return NULL;
}

const struct results_text *results_find_text(const struct results_file *file, const char *name) {
  for (size_t i = 0; i < file->n_texts; i++) {
    if (!strcmp(file->texts[i].name, name)) {
      return &file->texts[i];
    }
  }
  return NULL;
}

void results_read_free(struct results_read *results) {
  for (size_t i = 0; i < results->n_records; i++) {
    record_free(results->records[i]);
    free(results->records[i]);
  }
  for (size_t i = 0; i < results->n_owned; i++) {
    free(results->owned[i]);
  }
  free(results->owned);
  free(results->listed);
  free(results->records);
  free(results->texts);
  free(results->experiments);
  *results = (struct results_read){0};
}
