/* Line charts of a report: one curve and band per scheme, named at its end.
 */
#ifndef PE_RESULTS_REPORT_CURVES_H
#define PE_RESULTS_REPORT_CURVES_H

#include "results/report_canvas.h"

/* One tensor along one axis, summarised over the rest. */
struct curve {
  const struct record *record;
  size_t count;
  double *x;               /* [count] */
  double *middle;          /* [count] mean over units of the mean over all other axes; NaN: none */
  double *low, *high;      /* [count] 2.5 % and 97.5 % quantiles over units */
  double *samples;         /* [count][units] each unit's mean; NaN: none */
  size_t units;            /* how many there are */
  char word[80];           /* added to the label at the end: "undefined beyond 128" */
  const struct look *look; /* NULL: that of the record's scheme */
  bool level;              /* does not depend on x: a line without points */
};

/* Along axis `along`; `unit` is the axis of independent units (texts, seeds), NULL for none. x is the axis's value
 * divided by `divisor`. 0, ERROR_MEMORY; a tensor without the axis gives an empty curve. */
int curve_make(const struct record *record, const struct tensor *tensor, const char *along, const char *unit,
               double divisor, struct curve *curve, struct error *err);
void curve_free(struct curve *curve);

/* Quantile of `values` [count], which are sorted here: linear between neighbours (R's type 7); NaN for none. */
double quantile_of(double *values, size_t count, double part);

struct chart {
  const char *x_title, *y_title;
  bool log_x, log_y;
  bool dots;            /* each unit's values as dots instead of a band */
  const char *dot_of;   /* what a dot is of: "seed" */
  double x_low, x_high; /* both 0: as the data have it */
  double y_low, y_high; /* both 0: as the data have it */
  double line_at;       /* a vertical line, with its name; NAN: none */
  const char *line_name;
  double strip; /* a grey strip from 0 to here, with its name; NAN: none */
  const char *strip_name;
  const struct curve *strip_curve; /* or a strip that depends on x; NULL: none */
  double level;                    /* a horizontal dashed line, with its name; NAN: none */
  const char *level_name;
  const char *x_of;    /* what x is, for hover texts: "length / L" */
  const double *ticks; /* along x; NULL: round numbers */
  size_t n_ticks;
  int above; /* pixels kept free above all */
};

void curves_draw(const struct canvas *canvas, const struct results_file *file, const struct chart *chart,
                 const struct curve *curves, size_t count, struct text *script);

#endif
