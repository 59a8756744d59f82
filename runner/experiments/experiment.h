/* Experiments: one file each, one table that lists them. An experiment runs a job (one scheme, one seed) into a record,
 * and concludes from all records what compares the schemes. Both are pure: same context, same numbers.
 */
#ifndef PE_EXPERIMENTS_EXPERIMENT_H
#define PE_EXPERIMENTS_EXPERIMENT_H

#include "base/experiment_info.h"
#include "base/record.h"
#include "base/table.h"
#include "config/plan.h"
#include "host/instance.h"
#include "input/model.h"

struct embedded;
struct projections;
struct host;

/* What the scheme of a job is to the model. */
enum scheme_role {
  ROLE_CONTROL,    /* `none` */
  ROLE_MODEL,      /* the scheme the weights were trained with */
  ROLE_MAPPED,     /* the same behind a position map */
  ROLE_SWAPPED_IN, /* another one, without retraining */
  ROLE_UNTRAINED   /* the model was not trained with any scheme, or does not say so */
};

struct experiment_context {
  const struct plan *plan;
  const struct plan_experiment *entry;
  const struct plan_scheme *scheme_entry;
  enum scheme_role role;
  uint64_t seed;
  /* Of experiments that train their own models there are, instead of a model and instances, what these are made of. */
  struct host *host;
  const struct scheme *plugin;         /* the scheme under test */
  const struct tensor_source *tensors; /* those of the scheme that the config gives */
  const char *state_path;              /* beginning of names of files where progress is kept; NULL: it is not */
  const struct model *model;
  const struct instance *scheme;   /* under test */
  const struct instance *none;     /* the control */
  const struct instance *shuffled; /* the scheme with positions in random order; NULL: not made */
  const struct instance *trained;  /* what the weights were trained with; NULL: not known */
  struct pool *pool;               /* may be NULL */
  struct embedded *embedded;       /* what is kept of positions added to the input; NULL: nothing is */
  struct projections *projections; /* what is kept of the model's tokens; NULL: nothing is */
  bool reference;                  /* float64 attention */
  bool weakened;                   /* a control: a tenth of what the scheme adds is added */
  /* done: 0 .. 1 of the job; words: where it stands, in ASCII, or NULL. May be NULL. */
  void (*progress)(void *context, double done, const char *words);
  void *progress_context;
};

/* What compares schemes. */
struct conclusion {
  struct record *comparisons; /* labels `comparison`, `comparison_<measure>` */
  size_t n_comparisons, comparisons_capacity;
  struct table *tables;
  size_t n_tables, tables_capacity;
};

struct experiment {
  struct experiment_info info;
  unsigned default_seeds; /* asked for where the model is random and the config does not say; 0: one */
  /* What it wants of a scheme's parameters where the user does not say; NULL: nothing. See plan_request. */
  void (*scheme_defaults)(const struct section *keys, const struct scheme_info *scheme, struct section *params);
  /* What of its keys does not go together or with the plan's schemes; NULL: nothing. See plan_request. */
  int (*check)(const struct plan *plan, const struct plan_experiment *entry, struct error *err);
  bool wants_shuffled; /* as a control each scheme is also made with its positions in random order */
  /* Fill `record`, whose names, seed and common attributes are set. 0; or an error code, and the record counts as
   * failed (ERROR_UNDEFINED: as undefined). */
  int (*run)(const struct experiment_context *context, struct record *record, struct error *err);
  /* records[i] belongs to plan->schemes[i], all seeds of it stacked on a first axis `seed` where there are several;
   * status RECORD_NOT_RUN where the job was not run. NULL: nothing to compare. */
  int (*conclude)(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                  struct conclusion *conclusion, struct error *err);
};

/* All experiments, ended by NULL; and their infos in the same order, ended by NULL. */
const struct experiment *const *experiment_list(void);
const struct experiment_info *const *experiment_infos(void);
const struct experiment *experiment_find(const char *id);

/* Seeds that the experiment asks for where the model is random: 1 or more; for plan_request. */
uint64_t experiment_default_seeds(const char *id);

/* What the experiment wants as defaults of a scheme's parameters, and finds wrong with its keys; for plan_request. */
void experiment_scheme_defaults(const struct plan_experiment *entry, const struct scheme_info *scheme,
                                struct section *params);
int experiment_check(const struct plan *plan, const struct plan_experiment *entry, struct error *err);

/* "control", "the model", "the model, positions mapped", "swapped in", "untrained". */
const char *scheme_role_name(enum scheme_role role);
/* The role a record carries in its attribute `role`. */
enum scheme_role record_role(const struct record *record);

void conclusion_free(struct conclusion *conclusion);

#endif
