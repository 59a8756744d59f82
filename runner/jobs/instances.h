/* The three instances a job works with: the scheme under test, the control, and what the weights were trained with. */
#ifndef PE_JOBS_INSTANCES_H
#define PE_JOBS_INSTANCES_H

#include "config/plan.h"
#include "experiments/experiment.h"
#include "host/instance.h"
#include "input/model.h"

/* Where warnings of plugins go. */
struct job_messages {
  void (*warn)(void *context, const char *text);
  void *context;
};

struct job_instances {
  struct instance *scheme, *none;
  struct instance *shuffled; /* the scheme with its positions in random order; NULL: not asked for, or mapped already */
  struct instance *trained;  /* NULL: not known */
  enum scheme_role role;
};

/* The tensors of a scheme that the config or a weights file gives; data NULL where neither does. */
struct given_tensors {
  struct tensor_source *sources; /* [count] */
  char **from;
  size_t count;
};

/* 0, ERROR_FILE_* or ERROR_MEMORY; given_tensors_free is due in every case. */
int given_tensors_read(const struct plan_scheme *entry, struct given_tensors *given, struct error *err);
void given_tensors_free(struct given_tensors *given);

/* The very scheme that was planned with: found by its plugin's path, and still the same bytes. NULL with
 * ERROR_PLUGIN_*. */
const struct scheme *job_find_scheme(struct host *host, const struct scheme_info *info, struct error *err);

/* Training length of a job: the experiment's train_length where it is given, else what the model says, else 0. */
double job_train_length(const struct plan_experiment *experiment, const struct model *model);

/* Make them for one scheme entry, the shuffled one where it is asked for. ERROR_SCHEME_REFUSED, ERROR_PLUGIN_*,
 * ERROR_FILE_* or ERROR_MEMORY; then all are freed. */
int job_instances_new(struct host *host, const struct plan_scheme *entry, const struct model *model,
                      double train_length, uint64_t seed, bool with_shuffled, const struct job_messages *messages,
                      struct job_instances *out, struct error *err);
void job_instances_free(struct job_instances *instances);

#endif
