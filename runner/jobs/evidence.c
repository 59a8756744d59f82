#include "jobs/evidence.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/section_text.h"
#include "experiments/length_generalization.h"
#include "jobs/job_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *evidence_name(const struct plan *plan) {
  const char *path = plan->decision->trained, *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool evidence_has_learned(const char *learned, const char *label) {
  size_t length = strlen(label);
  for (const char *word = learned; *word;) {
    size_t end = strcspn(word, " ");
    if (end == length && !strncmp(word, label, length)) {
      return true;
    }
    word += end + strspn(word + end, " ");
  }
  return false;
}

/* ---- what is in the file ---- */

/* loss [seed, length] of a record of trained models; NULL: it is none. */
static const struct tensor *loss_of(const struct record *record) {
  const struct attribute *L = attributes_find(&record->attributes, "train_length");
  const struct tensor *loss = record->status == RECORD_MEASURED ? record_find(record, "loss") : NULL;
  bool fits = loss && L && L->kind == ATTRIBUTE_INT && attributes_find(&record->attributes, "learning_rate") &&
              loss->element == ELEMENT_F64 && loss->rank == 2 && loss->count && !strcmp(loss->axis[0].name, "seed") &&
              !strcmp(loss->axis[1].name, "length") && loss->axis[1].values;
  return fits ? loss : NULL;
}

/* Index of L on the axis of lengths; its length: not there. */
static size_t place_of(const struct tensor *loss, double L) {
  size_t at = 0;
  while (at < loss->axis[1].length && loss->axis[1].values[at] != L) {
    at++;
  }
  return at;
}

static bool holds_trained(const struct results_experiment *experiment) {
  for (size_t i = 0; i < experiment->count; i++) {
    if (loss_of(experiment->records[i])) {
      return true;
    }
  }
  return false;
}

/* The one experiment with trained models. */
static int find_experiment(const struct plan *plan, const struct results_file *file,
                           const struct results_experiment **out, struct error *err) {
  *out = NULL;
  for (size_t e = 0; e < file->n_experiments; e++) {
    if (!holds_trained(&file->experiments[e])) {
      continue;
    }
    if (*out) {
      return error_set(
          err, ERROR_EVIDENCE,
          "decision.trained: '%s' has trained models of several experiments (%s, %s): give a file with one "
          "length_generalization",
          plan->decision->trained, (*out)->label, file->experiments[e].label);
    }
    *out = &file->experiments[e];
  }
  if (!*out) {
    return error_set(err, ERROR_EVIDENCE,
                     "decision.trained: '%s' has no trained models: give the results of a run with the experiment "
                     "length_generalization",
                     plan->decision->trained);
  }
  if (strcmp(file->status, "complete") != 0) {
    return error_set(err, ERROR_EVIDENCE,
                     "decision.trained: '%s' is %s: its run was stopped before the end; run its config again, what is "
                     "finished is kept",
                     plan->decision->trained, file->status);
  }
  return 0;
}

/* Which schemes learned at L: what the file's own conclusion says. */
static int find_learned(const struct plan *plan, const struct results_experiment *experiment, struct evidence *out,
                        struct error *err) {
  for (size_t i = 0; i < experiment->count; i++) {
    const struct record *record = experiment->records[i];
    const struct attribute *learned = attributes_find(&record->attributes, "learned");
    const struct attribute *L = attributes_find(&record->attributes, "train_length");
    if (!strcmp(record->label, "comparison") && learned && learned->kind == ATTRIBUTE_TEXT && L &&
        L->kind == ATTRIBUTE_REAL) {
      out->learned = learned->text;
      out->train_length = L->real;
      return 0;
    }
  }
  return error_set(err, ERROR_EVIDENCE,
                   "decision.trained: '%s' does not say which schemes learned at L: an older pe-run made it; run its "
                   "config again, what is finished is kept",
                   plan->decision->trained);
}

/* ---- the plan's schemes in it ---- */

static const char *text_attribute(const struct record *record, const char *name) {
  const struct attribute *attribute = attributes_find(&record->attributes, name);
  return attribute && attribute->kind == ATTRIBUTE_TEXT ? attribute->text : "";
}

/* What a record's attributes have to be. */
struct wanted {
  const struct plan_scheme *scheme;
  char *params;
  char positions[JOB_VARIANT], layers[JOB_VARIANT];
};

/* The first that differs, in words; NULL: all are the same. */
static const char *differs(const struct wanted *wanted, const struct record *record) {
  const struct attribute *version = attributes_find(&record->attributes, "scheme_version");
  if (strcmp(text_attribute(record, "params"), wanted->params) != 0) {
    return "other parameters";
  }
  if (strcmp(text_attribute(record, "positions"), wanted->positions) != 0) {
    return "other positions";
  }
  if (strcmp(text_attribute(record, "layers"), wanted->layers) != 0) {
    return "other layers";
  }
  bool same = version && version->kind == ATTRIBUTE_INT && version->integer == (int64_t)wanted->scheme->info->version;
  return same ? NULL : "another version of the scheme";
}

/* The record of a scheme; NULL, with the reason. */
static struct record *match(const struct wanted *wanted, const struct evidence *evidence, struct error *reason) {
  const struct results_read *results = &evidence->results;
  const char *id = wanted->scheme->info->id;
  struct record *found = NULL;
  error_set(reason, ERROR_UNDEFINED, "the file has no trained models of %s", id);
  for (size_t i = 0; i < results->n_records; i++) {
    struct record *record = results->records[i];
    if (strcmp(record->experiment, evidence->experiment) != 0 || strcmp(text_attribute(record, "scheme"), id) != 0) {
      continue;
    }
    const char *difference = differs(wanted, record);
    bool same_label = !strcmp(record->label, wanted->scheme->label);
    if (!difference && (!found || same_label)) {
      found = record;
    } else if (difference && !found) {
      error_set(reason, ERROR_UNDEFINED, "the file has %s with %s", record->label, difference);
    }
  }
  if (found && !loss_of(found)) {
    error_set(reason, ERROR_UNDEFINED, "its training %s in the file: %.300s", record_status_name(found->status),
              found->error.text);
    return NULL;
  }
  return found;
}

/* change [seed, length] = loss - loss at L; twice where two schemes of the plan have the same record. */
static int add_change(struct record *record, double L, struct error *err) {
  const struct tensor *loss = record_find(record, "loss");
  size_t n = loss->axis[1].length, at = place_of(loss, L);
  if (record_find(record, "change")) {
    return 0;
  }
  struct tensor_spec spec = {.name = "change",
                             .element = ELEMENT_F64,
                             .rank = 2,
                             .axis = {axis_spec_of(&loss->axis[0]), axis_spec_of(&loss->axis[1])},
                             .long_name = "loss less that at L",
                             .units = "nat"};
  const double *values = loss->data; /* stays where it is */
  struct tensor *change = record_add(record, &spec, err);
  if (!change) {
    return err->code;
  }
  for (size_t i = 0; i < change->count; i++) {
    ((double *)change->data)[i] = values[i] - values[i / n * n + at];
  }
  return 0;
}

static int match_one(const struct plan *plan, size_t s, struct evidence *out, struct error *err) {
  struct wanted wanted = {.scheme = &plan->schemes[s]};
  job_positions_text(wanted.scheme, wanted.positions);
  job_layers_text(wanted.scheme, wanted.layers);
  wanted.params = config_section_to_json(wanted.scheme->params, err);
  if (!wanted.params) {
    return err->code;
  }
  struct error reason;
  struct record *found = match(&wanted, out, &reason);
  free(wanted.params);
  if (!found) {
    out->records[s] = (struct record){.status = RECORD_NOT_RUN, .error = reason};
    return 0;
  }
  const struct tensor *loss = loss_of(found);
  if (place_of(loss, out->train_length) == loss->axis[1].length ||
      (out->n_seeds && out->n_seeds != loss->axis[0].length)) {
    return error_set(err, ERROR_FILE_CONTENT, "'%s': /%s/%s has other lengths or seeds than the rest of the experiment",
                     plan->decision->trained, found->experiment, found->label);
  }
  out->n_seeds = loss->axis[0].length;
  int status = add_change(found, out->train_length, err);
  out->records[s] = *found;
  return status;
}

/* Intervals need two seeds; a ranking, as everywhere, as many as pairs are judged from. */
static int check_seeds(const struct plan *plan, const struct evidence *evidence, struct error *err) {
  size_t needed = plan->decision->rank ? GENERALIZATION_RANKED_SEEDS : 2;
  if (evidence->n_seeds >= needed) {
    return 0;
  }
  return error_set(err, ERROR_EVIDENCE, "decision.trained: '%s' has %zu seed%s; %s: train with seeds: %zu%s",
                   plan->decision->trained, evidence->n_seeds, evidence->n_seeds == 1 ? "" : "s",
                   plan->decision->rank ? "schemes are ranked from 5 on" : "an interval needs 2", needed,
                   plan->decision->rank && evidence->n_seeds >= 2 ? ", or take decision.rank out" : "");
}

static int match_all(const struct plan *plan, struct evidence *out, struct error *err) {
  out->records = memory_new(plan->n_schemes, sizeof *out->records, "trained models", err);
  int status = out->records ? 0 : (int)err->code;
  bool any = false;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    status = match_one(plan, s, out, err);
    any = any || out->records[s].status == RECORD_MEASURED;
  }
  if (!status && !any) {
    status = error_set(err, ERROR_EVIDENCE, "decision.trained: '%s' has none of the config's schemes: of %s, %s",
                       plan->decision->trained, plan->schemes[0].label, out->records[0].error.text);
  }
  return status ? status : check_seeds(plan, out, err);
}

int evidence_open(const struct plan *plan, struct evidence *out, struct error *err) {
  const char *path = plan->decision->trained;
  const struct results_experiment *experiment = NULL;
  char after[HASH_TEXT];
  *out = (struct evidence){0};
  int status = hash_file(path, out->digest, err);
  status = status ? status : results_read(path, &out->results, err);
  status = status ? status : hash_file(path, after, err);
  if (!status && strcmp(after, out->digest) != 0) {
    status = error_set(err, ERROR_FILE_READ, "'%s' changed while it was read", path);
  }
  status = status ? status : find_experiment(plan, &out->results.file, &experiment, err);
  if (!status) {
    out->experiment = experiment->label;
    status = find_learned(plan, experiment, out, err);
  }
  status = status ? status : match_all(plan, out, err);
  if (status) {
    evidence_close(out);
  }
  return status;
}

void evidence_close(struct evidence *evidence) {
  free(evidence->records);
  results_read_free(&evidence->results);
  *evidence = (struct evidence){0};
}
