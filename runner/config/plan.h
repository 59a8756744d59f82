/* From a config to a plan: every default filled in, every value checked, every job named. A plan is plain, constant
 * data; no plugin code runs to make one.
 */
#ifndef PE_CONFIG_PLAN_H
#define PE_CONFIG_PLAN_H

#include "base/experiment_info.h"
#include "base/job.h"
#include "base/keys.h"
#include "base/position_map.h"
#include "base/record.h"
#include "base/scheme_info.h"
#include "config/diagnostics.h"

struct plan_scheme {
  char label[RECORD_NAME];
  const struct scheme_info *info; /* outlives the plan */
  struct section *params;         /* of info->params */
  struct key_value *tensors;      /* [info->n_tensors] KEY_TENSOR values; not given: seeded */
  struct position_map map;
  char *plugin;       /* `plugin:` resolved, or NULL */
  char *weights;      /* `weights:` resolved, or NULL: an HDF5 file with the scheme's tensors by name */
  bool implied;       /* the control, added though the config does not list it */
  size_t other_every; /* `layers:` each so many-th layer of a trained model uses another scheme; 0: none does */
  char *other_scheme; /* its id */
};

struct plan_experiment {
  char label[RECORD_NAME];
  const struct experiment_info *info;
  struct section *keys; /* of info->keys */
  uint64_t n_seeds;     /* jobs are made for seed, seed + 1, ... of the plan */
  char *weights;        /* `weights:` resolved: in the place of model.weights; NULL: not given */
};

/* One of `expect:`, [experiment.]measure[axis=value, ...].label[.reduction] relation number, such as
 * truncation_jsd.alibi.mean < 0.1 or equivariance.deviation[mask=causal].rope.max > 1e-3: the scheme's tensor of that
 * name, at the chosen values of its axes, reduced to one number, stands in the relation to the number. With several
 * seeds it must hold for each. The label and the experiment are in the plan; whether the measure, its axes and the
 * values on them exist, the results show. */
enum expect_reduction {
  EXPECT_VALUE, /* none was written: there must be one number */
  EXPECT_MEAN,
  EXPECT_MEDIAN,
  EXPECT_MIN,
  EXPECT_MAX,
  EXPECT_FIRST,
  EXPECT_LAST
};

enum expect_relation {
  EXPECT_LESS,
  EXPECT_LESS_OR_EQUAL,
  EXPECT_GREATER,
  EXPECT_GREATER_OR_EQUAL,
  EXPECT_EQUAL,
  EXPECT_NOT_EQUAL
};

struct expect_choice {
  char axis[RECORD_NAME];
  char value[RECORD_NAME]; /* as written: a number, or a word (a mask) */
};

struct plan_expectation {
  char *text;                   /* as written */
  char experiment[RECORD_NAME]; /* label; "": every experiment that has the measure */
  char measure[RECORD_NAME];
  char label[RECORD_NAME]; /* of the scheme */
  struct expect_choice choices[RECORD_MAX_RANK];
  size_t n_choices;
  enum expect_reduction reduction;
  enum expect_relation relation;
  double number;
};

/* The section `decision:`: which scheme to take. A condition holds one measure of each scheme, at one length, against a
 * limit. */
struct plan_condition {
  struct plan_expectation measure; /* label "": of every scheme; text as written; relation and number unused */
  double length;                   /* tokens */
  bool above;                      /* the measure must be at least the limit; else at most. Ranking: largest is best */
  double limit;
  double margin; /* closer to the limit (to the next scheme) than this, the data do not decide */
};

/* A condition that is taken as stated, such as ease of integration. */
struct plan_stated {
  const char *name;    /* in keys */
  const char *why;     /* in keys, or NULL */
  char *const *met_by; /* in keys: labels of schemes */
  size_t n_met_by;
};

/* How conditions name the trained models of `decision.trained` in the place of an experiment: trained.loss. No
 * experiment can be called that: its label would sort after `run`. */
#define PLAN_TRAINED "trained"

struct plan_decision {
  struct section *keys; /* of config_decision_table() */
  const char *trained;  /* in keys: results file with trained models, as this process uses it; NULL: none */
  struct plan_condition *conditions;
  size_t n_conditions;
  struct plan_condition *rank; /* how those that meet them are compared; NULL: not at all */
  struct plan_stated *stated;
  size_t n_stated;
  char *const *prefer; /* in keys: labels, what the config would rather take first */
  size_t n_prefer;
};

/* "mean", ..., "" for EXPECT_VALUE; "<", "<=", ... */
const char *expect_reduction_name(enum expect_reduction reduction);
const char *expect_relation_name(enum expect_relation relation);

struct plan {
  char *title;
  uint64_t seed;
  uint64_t n_seeds;      /* as the config says; 1 where it leaves it to the experiments */
  char *output;          /* path as used by this process, relative to the current folder */
  struct section *model; /* of config_model_table() */
  struct plan_scheme *schemes;
  size_t n_schemes;
  struct plan_experiment *experiments;
  size_t n_experiments;
  struct plan_expectation *expectations;
  size_t n_expectations;
  struct plan_decision *decision; /* NULL: nothing is to be decided */
  struct job *jobs;               /* experiment by experiment, in it scheme by scheme, in it seed by seed */
  size_t n_jobs;
  char *config_path; /* as given; "" for a run without a file */
  char *config_text; /* the bytes as read */
};

/* The table of a scheme's entry beside its parameters (label, positions, plugin, weights, layers), and of `positions`.
 */
const struct key_table *config_scheme_entry_table(void);

/* The table of an experiment's entry beside its keys (label). */
const struct key_table *config_experiment_entry_table(void);

/* The table of the section `model`, with its sub-sections; and of the whole file. */
const struct key_table *config_model_table(void);
const struct key_table *config_root_table(void);
const struct key_table *config_decision_table(void);

/* How the planner asks for schemes. `plugin` is the resolved path of `plugin: PATH` or NULL. NULL with *err: unknown
 * (ERROR_CONFIG_NAME, the planner adds the place and a near name from `ids`), or the plugin was refused (passed on). */
struct scheme_source {
  const struct scheme_info *(*find)(void *context, const char *id, const char *plugin, struct error *err);
  const char *const *ids; /* ended by NULL: for hints */
  void *context;
};

struct plan_request {
  const char *path; /* of the config, or NULL */
  const char *text; /* its bytes, where they are not to be read from `path`. Without a path, paths in it are relative to
                       the current folder */
  const char *const *overrides; /* key=value arguments */
  size_t n_overrides;
  struct scheme_source schemes;
  const struct experiment_info *const *experiments; /* ended by NULL */
  /* Seeds that an experiment asks for where the model is random and the config does not say; NULL: 1 for all. */
  uint64_t (*default_seeds)(const char *experiment);
  /* Change those of a scheme's parameters that the user did not give to what an experiment of the config wants as
   * defaults; NULL: none wants any. A scheme has the same parameters in the whole config. */
  void (*scheme_defaults)(const struct plan_experiment *experiment, const struct scheme_info *scheme,
                          struct section *params);
  /* What of an experiment's keys does not go together or with the plan's schemes, in words: 0, or an error; NULL:
   * nothing is looked at. */
  int (*experiment_check)(const struct plan *plan, const struct plan_experiment *experiment, struct error *err);
};

/* Read, check and plan. NULL where anything is wrong; then *diagnostics has at least one entry. The plan is the
 * caller's. */
struct plan *plan_load(const struct plan_request *request, struct diagnostics *diagnostics);

/* The resolved plan as a config: all defaults filled in, a sweep written out as the schemes and experiments it makes,
 * valid YAML that gives the same plan. The control is listed only where the config lists it.
 *
 * `with_output`: for use from here. It has the output path, and input paths as this process uses them, so that the text
 * works as a config in the current folder. Without: for the record. No output path, and input paths as written,
 * relative to the config's folder (those from the command line rewritten to that), so that the bytes depend neither on
 * where the output goes nor on where the run was started; the text works beside the config. To be freed; NULL with
 * ERROR_MEMORY. */
char *plan_print(const struct plan *plan, bool with_output, struct error *err);

/* A part of the plan that decides a job's result, as text with all defaults filled in. How a path is written is
 * `names`' business, such as by a digest of what the file holds, so that a file may move but not change: a new string;
 * NULL with *err. The value of a KEY_TENSOR may have ":/dataset" behind the path. To be freed; NULL with the error of
 * `names` or ERROR_MEMORY. `index`: of the scheme or experiment. */
enum plan_piece { PIECE_MODEL, PIECE_SCHEME, PIECE_EXPERIMENT, PIECE_DECISION };
struct path_names {
  char *(*name)(void *context, const char *path, struct error *err);
  void *context;
};
char *plan_print_piece(const struct plan *plan, enum plan_piece piece, size_t index, const struct path_names *names,
                       struct error *err);

/* "experiment/label" or, with several seeds, "experiment/label/seed". To be freed; NULL with ERROR_MEMORY. */
char *plan_job_id(const struct plan *plan, const struct job *job, struct error *err);

/* The nearest of `names` (ended by NULL) to `name`, for "did you mean": within a third of its length (one letter for
 * the shortest), swaps of neighbours counted as one and capitals not at all; else the only one that starts with it; or
 * NULL. */
const char *config_nearest(const char *name, const char *const *names);

void plan_free(struct plan *plan);

#endif
