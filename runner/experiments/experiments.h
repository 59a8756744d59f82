/* The experiments themselves, one file each. */
#ifndef PE_EXPERIMENTS_EXPERIMENTS_H
#define PE_EXPERIMENTS_EXPERIMENTS_H

#include "experiments/experiment.h"

extern const struct experiment experiment_claims;
extern const struct experiment experiment_encoding;
extern const struct experiment experiment_equivariance;
extern const struct experiment experiment_relative_position;
extern const struct experiment experiment_extrapolation;
extern const struct experiment experiment_attention;
extern const struct experiment experiment_length_generalization;

#endif
