#include "jobs/take.h"

#include "base/memory.h"
#include "jobs/part.h"
#include "jobs/record_digest.h"
#include "jobs/stack.h"
#include "results/read_results.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A job of the plan by its key, for bsearch. */
struct wanted {
  const char *key;
  size_t job;
};

static int by_key(const void *a, const void *b) {
  return strcmp(((const struct wanted *)a)->key, ((const struct wanted *)b)->key);
}

struct taking {
  const struct plan *plan;
  const struct take_setting *setting;
  const struct results_file *file;
  const char *environment;
  struct wanted *wanted;
  bool *held;
};

static bool has_part(const struct take_setting *setting, const char *key) {
  struct error ignored;
  char *path = setting->parts ? part_path(setting->parts, key, &ignored) : NULL;
  bool there = path && access(path, F_OK) == 0;
  free(path);
  return there;
}

/* The job's own record out of the one of all seeds; *fits: it is the very one that was made. */
static int take_record(const struct record *stacked, uint64_t seed, size_t index, bool single, const char *digest,
                       struct record *record, bool *fits, struct error *err) {
  char found[HASH_TEXT];
  int status = record_unstack(stacked, index, seed, single, record, err);
  status = status ? status : record_digest(record, found, err);
  *fits = !status && !strcmp(found, digest);
  return status;
}

/* One entry of /run/jobs. */
static int take_job(struct taking *taking, size_t index, size_t place, const char *digest, struct error *err) {
  const struct job *job = &taking->plan->jobs[index];
  const char *key = taking->setting->keys[index];
  const struct record *stacked = results_find(taking->file, taking->plan->experiments[job->experiment].label,
                                              taking->plan->schemes[job->scheme].label);
  if (!stacked || has_part(taking->setting, key)) {
    return 0;
  }
  struct record record;
  bool fits;
  bool single = taking->plan->experiments[job->experiment].info->trains;
  int status = take_record(stacked, job->seed, place, single, digest, &record, &fits, err);
  if (!status && fits && taking->setting->parts) {
    status = part_write(taking->setting->parts, key, &record, taking->environment, NULL, err);
  }
  taking->held[index] = !status && fits;
  record_free(&record);
  return status;
}

/* Parts get the text of what made the numbers: it has to be the very one, too. */
static int take_jobs(struct taking *taking, const json_t *list, struct error *err) {
  size_t i;
  char made_by[HASH_TEXT];
  if (hash_bytes(taking->environment, strlen(taking->environment), made_by, err)) {
    return err->code;
  }
  const json_t *item;
  json_array_foreach(list, i, item) {
    const char *key = json_string_value(json_object_get(item, "key"));
    const char *digest = json_string_value(json_object_get(item, "digest"));
    const char *environment = json_string_value(json_object_get(item, "environment"));
    bool sound = key && digest && environment && !strcmp(environment, made_by);
    const struct wanted *found = sound ? bsearch(&(struct wanted){.key = key}, taking->wanted, taking->plan->n_jobs,
                                                 sizeof *taking->wanted, by_key)
                                       : NULL;
    size_t place = (size_t)json_integer_value(json_object_get(item, "place"));
    int status = found ? take_job(taking, found->job, place, digest, err) : 0;
    if (status) {
      return status;
    }
  }
  return 0;
}

static int take_from(struct taking *taking, struct error *err) {
  const struct results_text *jobs = results_find_text(taking->file, "jobs");
  const struct results_text *environment = results_find_text(taking->file, "environment");
  json_error_t where;
  json_t *list = jobs ? json_loads(jobs->text, 0, &where) : NULL;
  if (!list || !environment) {
    json_decref(list);
    return 0; /* an older file, or one that another program changed: nothing to be had from it */
  }
  taking->environment = environment->text;
  taking->wanted = memory_new(taking->plan->n_jobs, sizeof *taking->wanted, "keys", err);
  int status = taking->wanted ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < taking->plan->n_jobs; i++) {
    taking->wanted[i] = (struct wanted){taking->setting->keys[i], i};
  }
  if (!status) {
    qsort(taking->wanted, taking->plan->n_jobs, sizeof *taking->wanted, by_key);
    status = take_jobs(taking, list, err);
  }
  free(taking->wanted);
  json_decref(list);
  return status;
}

static bool is_empty(const char *path) {
  struct stat there;
  return stat(path, &there) == 0 && S_ISREG(there.st_mode) && there.st_size == 0;
}

int take_finished(const struct plan *plan, const struct take_setting *setting, struct taken *taken, struct error *err) {
  struct results_read results;
  bool ours;
  memset(taken->held, 0, plan->n_jobs * sizeof *taken->held);
  taken->complete = false;
  taken->damage = (struct error){0};
  if (is_empty(setting->output)) {
    return 0;
  }
  if (results_recognise(setting->output, &ours, err)) {
    return err->code;
  }
  if (!ours) {
    return error_set(err, ERROR_FILE_REFUSED,
                     "'%s' is there, and is not a results file of pe-run's: it is not overwritten; choose another "
                     "output, remove it, or give --fresh",
                     setting->output);
  }
  if (results_read_packed(setting->output, &results, &taken->damage)) {
    *err = taken->damage;
    return taken->damage.code == ERROR_MEMORY ? ERROR_MEMORY : 0;
  }
  struct taking taking = {.plan = plan, .setting = setting, .file = &results.file, .held = taken->held};
  taken->complete = !strcmp(results.file.status, "complete");
  int status = take_from(&taking, err);
  results_read_free(&results);
  return status;
}
