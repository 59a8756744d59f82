/* What the config's `decision` comes to: which schemes meet its conditions, what the data decide, what they leave open.
 * From the same records as the experiments' conclusions, so the same after a run, a resumed run and a join.
 *
 *     decide_numbers.c   each condition's number for each scheme, with its interval and outcome
 *     decide.c           who meets all, who leads, what would change it
 *     decide_trained.c   what trained models of another run add: table, tensors, words
 *     decide_tables.c    tables, records, the argument as text
 *     decide_files.c     the argument as Markdown, with its picture
 */
#ifndef PE_JOBS_DECIDE_H
#define PE_JOBS_DECIDE_H

#include "base/record.h"
#include "base/text.h"
#include "config/plan.h"
#include "experiments/experiment.h"
#include "jobs/evidence.h"

/* Records that conditions may speak of: of one experiment, records [n_schemes] in the plan's order of schemes. Trained
 * models are stronger evidence than forward passes: a scheme that conditions on them judge is judged by those alone. */
struct decide_source {
  const char *experiment; /* label, or PLAN_TRAINED */
  const struct record *records;
  bool trained;        /* of trained models, each with its scheme */
  double train_length; /* L of those */
  const char *learned; /* labels of records that learned at L, separated by blanks; NULL: it is not known */
};

enum decide_outcome {
  DECIDE_MET,           /* by at least the margin, the whole interval on the right side */
  DECIDE_NOT_MET,       /* missed by at least the margin, the whole interval on the wrong side */
  DECIDE_NOT_SEPARATED, /* too close to the limit, or the interval lies on both sides */
  DECIDE_UNDEFINED,     /* the scheme has no value there: not met */
  DECIDE_NOT_MEASURED,  /* there is no such measure, length or record */
  DECIDE_NOT_LEARNED    /* the model did not learn at L: nothing beyond L is judged */
};

/* "met", "not met", ... */
const char *decide_outcome_name(enum decide_outcome outcome);

struct decide_number {
  double value;     /* mean over units */
  double low, high; /* 95 % t interval over units; NaN where there is one unit */
  double *units;    /* [n_units] */
  size_t n_units;
  enum decide_outcome outcome;
  bool trained;   /* of trained models */
  bool swapped;   /* of forward passes with the scheme swapped in */
  double margins; /* distance to the limit in margins, positive on the right side; NaN: no value; not of a ranking */
  double margins_low, margins_high; /* of the interval's ends; NaN where there is none */
  char reason[160];
};

enum decide_standing {
  STANDING_MEETS,      /* every condition */
  STANDING_OPEN,       /* fails none, but some are not separated */
  STANDING_FAILS,      /* at least one */
  STANDING_NO_VERDICT, /* swapped in without retraining: shown, not judged */
  STANDING_NO_NUMBERS, /* its jobs failed, or nothing was measured */
  STANDING_NOT_LEARNED /* its trained models did not learn at L: no verdict beyond it */
};

struct decide_scheme {
  enum scheme_role role;
  struct decide_number *conditions; /* [n_conditions] */
  bool *stated;                     /* [n_stated] */
  struct decide_number rank;
  enum decide_standing standing;
  bool has_trained; /* a condition on trained models judges it: the others do not count */
  /* By how much the leader is better, unit by unit, with its 95 % interval, and p after Holm over all pairs with the
   * leader; NaN: it is the leader, not in the running, or there is one unit. */
  double lead, lead_low, lead_high, lead_p;
};

struct decide_result {
  const struct plan *plan;
  struct decide_scheme *schemes;   /* [plan->n_schemes] */
  const struct evidence *evidence; /* trained models of another run; NULL: none. The caller sets it after judging */
  const char *unit;                /* of the intervals of forward passes: "seed", "text", or "" */
  size_t n_units;
  size_t n_trained_seeds; /* of trained models */
  double forward_length;  /* training length that forward passes are about; NaN: none is told */
  size_t n_meets, n_open;
  size_t winner; /* index of a scheme; plan->n_schemes: none */
  bool by_rank;  /* several met the conditions, and one leads by more than the margin */
  size_t leader; /* best of the ranking among those that meet; n_schemes: none */
  size_t second; /* next to it */
  bool unjudged; /* a condition names what was not measured */
};

/* Judge. 0 or ERROR_MEMORY; to be released with decide_free. */
int decide_judge(const struct plan *plan, const struct decide_source *sources, size_t n_sources,
                 struct decide_result *out, struct error *err);
void decide_free(struct decide_result *result);

/* The number of one condition (or ranking: outcome and margins unset) for scheme `s`; *role that of the record it came
 * from; *unit set where there are several units. */
int decide_number(const struct plan *plan, const struct decide_source *sources, size_t n_sources,
                  const struct plan_condition *condition, size_t s, struct decide_number *out, enum scheme_role *role,
                  const char **unit, struct error *err);

/* Tables, one record for each scheme and the comparison with the argument in its attributes. records [n_schemes]. */
int decide_write(const struct decide_result *result, struct record *records, struct conclusion *conclusion,
                 struct error *err);

/* A record's attribute as a number; NaN: it has none. */
double decide_attribute(const struct record *record, const char *name);

/* Whether condition `i` counts for a scheme: all do where no trained model judges it. */
bool decide_counts(const struct decide_scheme *scheme, size_t i);

/* Of result->evidence: a table, tensors for the record of scheme `s`, attributes for the comparison, and paragraphs:
 * what the models are, and where the two kinds of evidence disagree. */
int decide_trained_table(const struct decide_result *result, struct table *rows, struct error *err);
int decide_trained_record(const struct decide_result *result, size_t s, struct record *record, struct error *err);
int decide_trained_attributes(const struct decide_result *result, struct record *comparison, struct error *err);
void decide_trained_text(const struct decide_result *result, struct text *out);
void decide_disagreement_text(const struct decide_result *result, struct text *out);

/* One sentence: who wins, or why nobody does. */
void decide_verdict(const struct decide_result *result, struct text *out);

/* "truncation_jsd.mean at 512 <= 0.1 (margin 0.02)". */
void decide_condition_text(const struct plan_condition *condition, struct text *out);

/* Paragraphs of the argument, without headings. */
void decide_preferred_text(const struct decide_result *result, struct text *out);
void decide_change_text(const struct decide_result *result, size_t condition, struct text *out);
void decide_lead_text(const struct decide_result *result, struct text *out);
void decide_limits_text(const struct decide_result *result, struct text *out);

/* <output without .h5>_decision.md and, where gnuplot is to be had, _decision.svg. `tables`, `comparison` as
 * decide_write made them. 0, ERROR_FILE_WRITE or ERROR_MEMORY. */
int decide_write_files(const struct plan *plan, const struct conclusion *conclusion, const char *output,
                       struct error *err);

#endif
