#include "jobs/part.h"

#include "base/memory.h"
#include "base/text.h"
#include "jobs/record_digest.h"
#include "results/read_results.h"

#include <stdlib.h>
#include <string.h>

char *part_path(const char *folder, const char *key, struct error *err) {
  struct text path = {0};
  text_printf(&path, "%s/%s.h5", folder, key);
  return text_take(&path, err);
}

int part_write(const char *folder, const char *key, const struct record *record, const char *environment,
               struct pool *pool, struct error *err) {
  char digest[HASH_TEXT];
  char *path = part_path(folder, key, err);
  if (!path || record_digest(record, digest, err)) {
    free(path);
    return err->code;
  }
  const struct results_experiment experiment = {
      .label = record->experiment, .records = &record, .count = 1, .shown = record->label};
  const struct results_text texts[] = {
      {"key", key, false}, {"digest", digest, false}, {"environment", environment, true}};
  const struct results_file file = {.title = record->title,
                                    .status = "complete",
                                    .experiments = &experiment,
                                    .n_experiments = 1,
                                    .shown = record->experiment,
                                    .texts = texts,
                                    .n_texts = sizeof texts / sizeof *texts,
                                    .pool = pool};
  int status = results_write(path, &file, err);
  free(path);
  return status;
}

static int take_record(const char *path, const char *key, struct results_read *results, struct record *record,
                       char **environment, char *digest, struct error *err) {
  const struct results_text *held = results_find_text(&results->file, "key");
  const struct results_text *made = results_find_text(&results->file, "environment");
  if (!held || !made || strcmp(held->text, key) != 0) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is the part of another job, whose key is %.70s", path,
                     held ? held->text : "missing");
  }
  if (results->n_records != 1) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: holds %zu records; a part has one", path, results->n_records);
  }
  const struct results_text *promised = results_find_text(&results->file, "digest");
  char found[HASH_TEXT];
  if (record_digest(results->records[0], found, err)) {
    return err->code;
  }
  if (!promised || strcmp(promised->text, found) != 0) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is damaged: its numbers are not those that were written", path);
  }
  if (environment) {
    *environment = memory_copy_text(made->text, err);
    if (!*environment) {
      return err->code;
    }
  }
  if (digest) {
    memcpy(digest, found, sizeof found);
  }
  *record = *results->records[0];
  *results->records[0] = (struct record){0}; /* now the caller's */
  return 0;
}

int part_read(const char *folder, const char *key, struct record *record, char **environment, char *digest,
              struct error *err) {
  struct results_read results;
  char *path = part_path(folder, key, err);
  if (!path) {
    return err->code;
  }
  int status = results_read_packed(path, &results, err);
  if (!status) {
    status = take_record(path, key, &results, record, environment, digest, err);
    results_read_free(&results);
  }
  free(path);
  return status;
}
