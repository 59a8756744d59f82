/* Shared by the files of the certificate. */
#ifndef PE_EXPERIMENTS_CERTIFICATE_PARTS_H
#define PE_EXPERIMENTS_CERTIFICATE_PARTS_H

#include "experiments/angles.h"
#include "experiments/certificate.h"

/* What is rounded to which format; all zero: nothing. */
struct stage_formats {
  struct angle_rounding rows; /* position ... output */
  enum number_format accumulation;
  bool twice;
};

struct stage_formats formats_of(enum certificate_stage stage, enum number_format format);

/* The D positions at one shift, and what does not depend on the stage. */
struct scene {
  double shift;
  double *mapped; /* [distances][axes], what the scheme is told: the key's first, then the queries' */
  double seq_len;
  struct angles angles;
  double *cosine, *sine; /* [distances][pairs], unrounded */
  double *score;         /* [samples][distances], float64 */
  /* Of the scheme as it is, [samples][distances]: sums over channels of |query| |key| and of |query| + |key|; the bias.
   */
  double *size, *reach, *bias;
  double *kept; /* [samples][distances + 1][width] its unrounded rows, the key last; NULL: too many to be kept */
};

struct certificate {
  struct certificate_setting setting;
  enum certificate_way way;
  uint32_t sites; /* where it acts */
  size_t samples; /* 1 for encodings themselves */
  size_t axes, pairs;
  size_t in_width, width; /* of a row before and behind the scheme */
  double scale;
  double *slopes;       /* [n_heads] bias per unit of distance; NULL: not told */
  float *q, *k;         /* [samples][in_width]; NULL for sinusoids */
  double *pair_sizes;   /* [samples][pairs] |query pair| |key pair| */
  double *turned;       /* [samples] their sum */
  double *unturned;     /* [samples] sum over channels of no pair of |query| |key| */
  double *unturned_sum; /* the same of query times key */
  double *sums;         /* [samples] sum of |query| and |key| over all channels */
  struct scene still, moved;
  double *still_scores[N_CERTIFICATE_STAGES][N_NUMBER_FORMATS]; /* [samples][distances]; NULL: not made */
  double spread, redone_difference;
  /* scratch */
  float *row_in, *row_out;                      /* [distances][in_width], [distances][width] */
  double *queries, *key;                        /* [distances][width], [width] */
  double *cosine, *sine;                        /* [distances][pairs] */
  double *scores, *others;                      /* [samples][distances] */
  double *drift_bound, *fidelity_bound;         /* [samples][distances] */
  double *biases, *angle_error, *growing_error; /* [distances], [pairs], [pairs] */
  double *rounded;                              /* [distances][axes] */
  float *bias_row, *key_row;                    /* [distances], [width] */
};

/* Where a scheme acts at the unshifted positions, PE_SITE_*: what it declares, unless that is several sites and not all
 * do anything. */
int certificate_sites(const struct certificate_setting *setting, uint32_t *sites, struct error *err);

/* queries [distances][width], key [width] of one sample, rounded; and its bias [distances]. */
int certificate_rows(struct certificate *c, const struct scene *scene, const struct stage_formats *formats,
                     size_t sample, double *queries, double *key, double *bias, struct error *err);

/* scores [samples][distances]. */
int certificate_scores(struct certificate *c, struct scene *scene, const struct stage_formats *formats, double *scores,
                       struct error *err);

/* Fill drift_bound and fidelity_bound; returns the growing part (see certificate.h). NaN: not known. */
double certificate_bounds(struct certificate *c, const struct stage_formats *formats);

#endif
