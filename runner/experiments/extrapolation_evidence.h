/* What a verdict on a scheme beyond its training length rests on, and the rule:
 *
 * *degrades*: the median truncation divergence over stretches of T > L tokens exceeds the 97.5 % quantile of the same
 * measure wholly inside L at the same share of context dropped; from the first such T, whose last position is T - 1.
 * Both need EXTRAPOLATION_MIN_WINDOWS stretches of EXTRAPOLATION_MIN_UNITS texts (seeds of a random model).
 */
#ifndef PE_EXPERIMENTS_EXTRAPOLATION_EVIDENCE_H
#define PE_EXPERIMENTS_EXTRAPOLATION_EVIDENCE_H

#include "experiments/extrapolation.h"
#include "experiments/statistics.h"

struct length_evidence {
  double length; /* T */
  bool defined, repeated;
  size_t spans, inside_spans; /* stretches with a value, of all texts and seeds */
  size_t units;               /* texts or seeds among them */
  double median, inside;      /* nats, mean of heads; NaN: none */
  struct interval interval;   /* of the mean over units, 95 % */
};

struct extrapolation_evidence {
  enum scheme_role role;
  bool shuffled; /* the scheme is told its positions in random order */
  bool by_seed;  /* units are seeds, else texts */
  double train_length;
  struct length_evidence *lengths; /* [n_lengths] in the order of the record */
  size_t n_lengths;
  double signal;  /* position_signal, mean of windows and heads; NaN: no window fits */
  double floor;   /* 97.5 % quantile of window_jsd over windows wholly inside L */
  double control; /* the shortest judged length at which the control `none` degrades by the same rule; NaN: none */
  double knee;    /* last position of the first window beyond L whose median exceeds the floor; NaN: none */
};

enum extrapolation_outcome {
  OUTCOME_CONTROL,        /* the control `none`: trivially */
  OUTCOME_SWAPPED_IN,     /* no verdict */
  OUTCOME_NO_INFORMATION, /* shuffled positions carry no order */
  OUTCOME_TRIVIALLY,      /* attention does not depend on positions at all */
  OUTCOME_UNDEFINED,      /* no value at any length beyond L */
  OUTCOME_NOT_ENOUGH,     /* no verdict: too few stretches or units, or repeated tokens */
  OUTCOME_HARDLY,         /* hardly encodes position: signal below 3 x floor */
  OUTCOME_DEGRADES,
  OUTCOME_HOLDS
};

/* Read the evidence of a record of extrapolation, its seeds stacked or not. 0 or ERROR_MEMORY; to be released with
 * extrapolation_evidence_free in every case. `control` is NaN until extrapolation_evidence_control. */
int extrapolation_evidence_read(const struct record *record, bool shuffled, struct extrapolation_evidence *evidence,
                                struct error *err);
void extrapolation_evidence_free(struct extrapolation_evidence *evidence);

/* Take in what the control `none` shows, so that words can say where more context alone does the same. */
void extrapolation_evidence_control(struct extrapolation_evidence *evidence,
                                    const struct extrapolation_evidence *control);

/* The rule. *decided: the length that decides (the first that degrades; the longest that holds); NULL where the outcome
 * is of no one length. */
enum extrapolation_outcome extrapolation_judge(const struct extrapolation_evidence *evidence,
                                               const struct length_evidence **decided);

/* The outcome in words, with its reason. */
void extrapolation_word(const struct extrapolation_evidence *evidence, char *out, size_t size);

#endif
