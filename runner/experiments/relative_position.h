/* The parts of the experiment relative_position. Each adds its tensors to the record of one scheme. */
#ifndef PE_EXPERIMENTS_RELATIVE_POSITION_H
#define PE_EXPERIMENTS_RELATIVE_POSITION_H

#include "experiments/experiment.h"

/* How a rounded stage does over all shifts; the flags of drift_outcome and fidelity_outcome. */
enum certificate_outcome {
  OUTCOME_NOT_MEASURED,        /* not a stage of this scheme */
  OUTCOME_WITHIN,              /* within tolerance at every shift */
  OUTCOME_LIMITED_BY_POSITION, /* leaves it at some position */
  OUTCOME_LIMITED_BY_DTYPE,    /* is outside from the first position on, and position plays no part */
  OUTCOME_LIMITED_BY_BOTH,     /* is outside from the first position on, and grows */
  OUTCOME_NOT_INVARIANT,       /* the unrounded score itself moves by more */
  OUTCOME_UNDEFINED,           /* the scheme has no value from there on */
  N_OUTCOMES
};

/* The axis of the key `shifts`. */
struct axis_spec axis_of_shifts(const struct experiment_context *context);

/* The certificate (experiments/certificate.h): nothing where the key `stages` is empty. 0 or an error code. */
int measure_certificate(const struct experiment_context *context, struct record *record, struct error *err);

/* shift_map ...: the linear map of a shift, for schemes that add sines and cosines to the input; else nothing. */
int measure_shift_map(const struct experiment_context *context, struct record *record, struct error *err);

/* What compares the schemes: experiment.h. */
int conclude_relative_position(const struct plan *plan, const struct plan_experiment *entry,
                               const struct record *const *records, struct conclusion *conclusion, struct error *err);

/* The tables and comparisons of the certificate; nothing where no record has one. */
int conclude_certificate(const struct plan *plan, const struct plan_experiment *entry,
                         const struct record *const *records, struct conclusion *conclusion, struct error *err);

#endif
