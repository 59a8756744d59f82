#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "results/hdf5_error.h"
#include "results/hdf5_writer.h"
#include "results/read_results.h"
#include "results/record_group.h"
#include "results/results.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_NAME = RECORD_NAME + 2 };

/* Link names are [A-Za-z][A-Za-z0-9_]*: Octave mangles and CDL escapes all others. */
static void group_name(char *name, const char *label) {
  snprintf(name, GROUP_NAME, "%s%s", isalpha((unsigned char)label[0]) ? "" : "x_", label);
  for (char *c = name; *c; c++) {
    *c = isalnum((unsigned char)*c) ? *c : '_';
  }
}

static bool can_be_shown(const struct results_experiment *experiment) {
  for (size_t i = 0; i < experiment->count; i++) {
    if (experiment->records[i]->count) {
      return true;
    }
  }
  return false;
}

/* Label of the record to show first: the one asked for if it has tensors, else the first that has. */
static const char *record_to_show(const struct results_experiment *experiment) {
  const char *first = NULL;
  for (size_t i = 0; i < experiment->count; i++) {
    const struct record *record = experiment->records[i];
    if (record->count && experiment->shown && !strcmp(record->label, experiment->shown)) {
      return record->label;
    }
    first = !first && record->count ? record->label : first;
  }
  return first;
}

static const char *experiment_to_show(const struct results_file *file) {
  const char *first = NULL;
  for (size_t i = 0; i < file->n_experiments; i++) {
    const struct results_experiment *experiment = &file->experiments[i];
    if (can_be_shown(experiment) && file->shown && !strcmp(experiment->label, file->shown)) {
      return experiment->label;
    }
    first = !first && can_be_shown(experiment) ? experiment->label : first;
  }
  return first;
}

static int set_default(hid_t object, const char *label, struct error *err) {
  if (!label) {
    return 0;
  }
  char name[GROUP_NAME];
  group_name(name, label);
  return hdf5_attribute_text(object, "default", name, err);
}

static int fill_experiment(hid_t group, const struct results_experiment *experiment, struct pool *pool,
                           struct error *err) {
  if (set_default(group, record_to_show(experiment), err) ||
      hdf5_attribute_text(group, "title", experiment->title ? experiment->title : experiment->label, err)) {
    return err->code;
  }
  for (size_t i = 0; i < experiment->count; i++) {
    char name[GROUP_NAME];
    group_name(name, experiment->records[i]->label);
    if (record_group_write(group, name, experiment->records[i], pool, err)) {
      return err->code;
    }
  }
  return 0;
}

/* JSON is a note, which viewers show as a tree; other text is a plain dataset. */
static int write_text(hid_t run, const struct results_text *text, struct error *err) {
  if (!text->json) {
    return hdf5_text_new(run, text->name, text->text, err);
  }
  hid_t note;
  if (hdf5_group_new(run, text->name, "NXnote", &note, err)) {
    return err->code;
  }
  int failed = hdf5_text_new(note, "data", text->text, err);
  failed = failed ? failed : hdf5_text_new(note, "type", "application/json", err);
  return hdf5_close(failed, note, text->name, err);
}

static int fill_run(hid_t group, const struct results_file *file, struct error *err) {
  for (size_t i = 0; i < file->n_texts; i++) {
    if (write_text(group, &file->texts[i], err)) {
      return err->code;
    }
  }
  return 0;
}

static int write_experiment(hid_t root, const struct results_experiment *experiment, struct pool *pool,
                            struct error *err) {
  char name[GROUP_NAME];
  group_name(name, experiment->label);
  hid_t group;
  if (hdf5_group_new(root, name, "NXentry", &group, err)) {
    return err->code;
  }
  return hdf5_close(fill_experiment(group, experiment, pool, err), group, name, err);
}

static int write_run(hid_t root, const struct results_file *file, struct error *err) {
  hid_t group;
  if (hdf5_group_new(root, "run", "NXcollection", &group, err)) {
    return err->code;
  }
  return hdf5_close(fill_run(group, file, err), group, "run", err);
}

static int describe_file(hid_t root, const struct results_file *file, struct error *err) {
  char creator[80];
  snprintf(creator, sizeof creator, "pe-run %s", pe_run_version());
  if (hdf5_attribute_text(root, "NX_class", "NXroot", err) || set_default(root, experiment_to_show(file), err) ||
      hdf5_attribute_text(root, "title", file->title ? file->title : "", err) ||
      hdf5_attribute_text(root, "creator", creator, err) || hdf5_attribute_text(root, "format", "pe-run", err) ||
      hdf5_attribute_int(root, "format_version", RESULTS_FORMAT_VERSION, err) ||
      hdf5_attribute_text(root, "Conventions", "CF-1.8", err)) {
    return err->code;
  }
  return hdf5_attribute_text(root, "status", file->status, err);
}

static int fill_file(hid_t root, const struct results_file *file, struct error *err) {
  if (describe_file(root, file, err)) {
    return err->code;
  }
  for (size_t i = 0; i < file->n_experiments; i++) {
    if (write_experiment(root, &file->experiments[i], file->pool, err)) {
      return err->code;
    }
  }
  return write_run(root, file, err);
}

static int make_image(const struct results_file *file, void **bytes, size_t *count, struct error *err) {
  hid_t root;
  if (hdf5_image_new(&root, err)) {
    return err->code;
  }
  if (fill_file(root, file, err)) {
    hdf5_image_drop(root);
    return err->code;
  }
  return hdf5_image_take(root, bytes, count, err);
}

int results_image(const struct results_file *file, void **bytes, size_t *count, struct error *err) {
  struct hdf5_reports before = hdf5_errors_quiet();
  int failed = make_image(file, bytes, count, err);
  hdf5_errors_restore(before);
  return failed;
}

/* The image of the file that is to stand at `path`, so that the reason names it. */
static int image_for(const char *path, const struct results_file *file, void **bytes, size_t *count,
                     struct error *err) {
  int failed = results_image(file, bytes, count, err);
  if (failed == ERROR_FILE_WRITE) {
    struct error reason = *err;
    error_set(err, ERROR_FILE_WRITE, "'%s' cannot be written: %.900s", path, reason.text);
  }
  return failed;
}

int results_write(const char *path, const struct results_file *file, struct error *err) {
  void *bytes = NULL;
  size_t count = 0;
  int failed = image_for(path, file, &bytes, &count, err);
  failed = failed ? failed : results_put(path, bytes, count, err);
  free(bytes);
  return failed;
}

struct image {
  const char *bytes;
  size_t count;
};

static int compare_bytes(FILE *file, const struct image *image, const char *path, struct error *err) {
  char piece[1 << 16];
  size_t at = 0;
  for (size_t got = 1; got; at += got) {
    got = fread(piece, 1, sizeof piece, file);
    if (got > image->count - at || memcmp(piece, image->bytes + at, got) != 0) {
      return error_set(err, ERROR_FILE_CONTENT, "%s: holds other bytes than were written", path);
    }
  }
  return at == image->count && !ferror(file)
             ? 0
             : error_set(err, ERROR_FILE_READ, "%s: only %zu of %zu bytes can be read", path, at, image->count);
}

/* results_check: the file holds the image, and the image is a results file. */
static int check_written(void *context, const char *path, struct error *err) {
  FILE *file = fopen(path, "rbe");
  if (!file) {
    return error_set(err, ERROR_FILE_READ, "%s: %s", path, strerror(errno));
  }
  int failed = compare_bytes(file, context, path, err);
  fclose(file);
  return failed ? failed : results_check_whole(path, err);
}

int results_write_checked(const char *path, const struct results_file *file, struct error *err) {
  void *bytes = NULL;
  size_t count = 0;
  int failed = image_for(path, file, &bytes, &count, err);
  struct image image = {bytes, count};
  failed = failed ? failed : results_put_checked(path, bytes, count, check_written, &image, err);
  free(bytes);
  return failed;
}
