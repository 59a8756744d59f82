#include "jobs/job_key.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "input/tensor_file.h"
#include "results/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file_digest {
  char *path;
  char digest[HASH_TEXT];
};

/* Digests of the files met so far: several schemes may name the same one. */
struct file_digests {
  struct file_digest *items;
  size_t count, capacity;
};

static const char *digest_of(struct file_digests *digests, const char *path, struct error *err) {
  for (size_t i = 0; i < digests->count; i++) {
    if (!strcmp(digests->items[i].path, path)) {
      return digests->items[i].digest;
    }
  }
  struct file_digest *grown =
      memory_grow(digests->items, &digests->capacity, digests->count + 1, sizeof *grown, "file digests", err);
  if (!grown) {
    return NULL;
  }
  digests->items = grown;
  struct file_digest *item = &grown[digests->count];
  if (hash_file(path, item->digest, err)) {
    return NULL;
  }
  item->path = memory_copy_text(path, err);
  digests->count += item->path != NULL;
  return item->path ? item->digest : NULL;
}

/* "FILE" or "FILE:/dataset" as the digest of the file and what follows its name. */
static char *name_by_content(void *context, const char *path, struct error *err) {
  struct stat there;
  char *file = NULL, *dataset = NULL;
  bool whole = stat(path, &there) == 0;
  int status = whole ? 0 : tensor_split_name(path, &file, &dataset, err);
  const char *digest = status ? NULL : digest_of(context, whole ? path : file, err);
  struct text text = {0};
  if (digest) {
    text_printf(&text, "sha256:%s%s%s", digest, dataset ? ":" : "", dataset ? dataset : "");
  }
  free(file);
  free(dataset);
  return digest ? text_take(&text, err) : NULL;
}

static int digest_piece(const struct plan *plan, enum plan_piece piece, size_t index, const struct path_names *names,
                        char digest[HASH_TEXT], struct error *err) {
  char *text = plan_print_piece(plan, piece, index, names, err);
  if (!text) {
    return err->code;
  }
  int status = hash_bytes(text, strlen(text), digest, err);
  free(text);
  return status;
}

struct digest {
  char text[HASH_TEXT];
};

/* Digests of `count` pieces of a kind, to be freed. */
static struct digest *digest_pieces(const struct plan *plan, enum plan_piece piece, size_t count,
                                    const struct path_names *names, struct error *err) {
  struct digest *digests = memory_new(count, sizeof *digests, "digests of the plan", err);
  for (size_t i = 0; digests && i < count; i++) {
    if (digest_piece(plan, piece, i, names, digests[i].text, err)) {
      free(digests);
      return NULL;
    }
  }
  return digests;
}

static int job_key(const struct plan *plan, const struct job *job, const char *common, const char *trained,
                   const char *other, const char *experiment, const char *scheme, char key[HASH_TEXT],
                   struct error *err) {
  struct text text = {0};
  const struct scheme_info *info = plan->schemes[job->scheme].info;
  text_printf(&text,
              "%strained with %s\nexperiment %s\nscheme %s\nscheme version %" PRIu32
              "\nplugin %s\nother %s\nseed %" PRIu64 "\n",
              common, trained, experiment, scheme, info->version, info->sha256, other, job->seed);
  char *whole = text_take(&text, err);
  int status = whole ? hash_bytes(whole, strlen(whole), key, err) : (int)err->code;
  free(whole);
  return status;
}

/* What all jobs of a run share. */
static char *common_text(const struct job_key_setting *setting, const char *model, struct error *err) {
  struct text text = {0};
  text_printf(&text, "pe-run job\nformat %d\nnumeric version %s\nreference %d\nmodel %s\n", RESULTS_FORMAT_VERSION,
              pe_numeric_version(), setting->reference, model);
  return text_take(&text, err);
}

int job_keys(const struct plan *plan, const struct job_key_setting *setting, char (*keys)[HASH_TEXT],
             struct error *err) {
  struct file_digests files = {0};
  const struct path_names names = {name_by_content, &files};
  struct digest *experiments = NULL, *schemes = NULL;
  char model[HASH_TEXT], *common = NULL;
  int status = digest_piece(plan, PIECE_MODEL, 0, &names, model, err);
  if (!status) {
    common = common_text(setting, model, err);
    experiments = common ? digest_pieces(plan, PIECE_EXPERIMENT, plan->n_experiments, &names, err) : NULL;
    schemes = experiments ? digest_pieces(plan, PIECE_SCHEME, plan->n_schemes, &names, err) : NULL;
    status = schemes ? 0 : (int)err->code;
  }
  for (size_t i = 0; !status && i < plan->n_jobs; i++) {
    const struct job *job = &plan->jobs[i];
    const char *other = setting->others && setting->others[job->scheme] ? setting->others[job->scheme] : "";
    const char *trained = setting->trained ? setting->trained[job->experiment] : "";
    status = job_key(plan, job, common, trained, other, experiments[job->experiment].text, schemes[job->scheme].text,
                     keys[i], err);
  }
  for (size_t i = 0; i < files.count; i++) {
    free(files.items[i].path);
  }
  free(files.items);
  free(experiments);
  free(schemes);
  free(common);
  return status;
}

/* ---- of a decision ---- */

static char *name_evidence(void *context, const char *path, struct error *err) {
  struct text text = {0};
  (void)path; /* decision.trained is the only one there is */
  text_printf(&text, "sha256:%s", (const char *)context);
  return text_take(&text, err);
}

int decision_key(const struct plan *plan, char (*digests)[HASH_TEXT], const char *trained, char key[HASH_TEXT],
                 struct error *err) {
  char evidence[HASH_TEXT];
  snprintf(evidence, sizeof evidence, "%s", trained);
  const struct path_names names = {name_evidence, evidence};
  char *section = plan_print_piece(plan, PIECE_DECISION, 0, &names, err);
  struct text text = {0};
  text_printf(&text, "pe-run decision\nnumeric version %s\n%s", pe_numeric_version(), section ? section : "");
  int status = section ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < plan->n_jobs; i++) {
    const struct job *job = &plan->jobs[i];
    text_printf(&text, "%s/%s %s\n", plan->experiments[job->experiment].label, plan->schemes[job->scheme].label,
                digests[i]);
  }
  free(section);
  char *whole = text_take(&text, err);
  status = status ? status : whole ? hash_bytes(whole, strlen(whole), key, err) : (int)err->code;
  free(whole);
  return status;
}
