/* What a report draws of the sweeps of a results file (report_sweep.c).
 */
#ifndef PE_RESULTS_REPORT_SWEEP_H
#define PE_RESULTS_REPORT_SWEEP_H

#include "results/report_cells.h"
#include "results/report_curves.h"
#include "results/report_pictures.h"
#include "results/sweep_points.h"

enum { SWEEP_MOST_POINTS = 64, SWEEP_MOST_SCHEMES = 32, SWEEP_MOST_PLACES = 12, SWEEP_PLACE = 128 };

/* Three or more values of one number are drawn as lines, all else as a heat map. */
enum view_kind { VIEW_LINES, VIEW_MAP };

/* One drawing: a measure against what was swept. */
struct view {
  enum view_kind kind;
  enum sweep_of of;
  size_t family;
  const struct record *comparison; /* of the experiment, or of the first one of those that were swept */
  const struct tensor *like;       /* one of its tensors, for axis and unit */
  bool ends[2];                    /* what is drawn: the first, the last place of the axis, or of maps both */
  const struct sweep_point *points[SWEEP_MOST_POINTS]; /* lines: by rising value */
  size_t n_points, all_points;                         /* drawn, and all */
};

struct sweeps {
  struct sweep_points schemes, experiments;
  struct view *views;
  size_t count, all; /* drawn, and all */
};

/* Sweeps of schemes in every experiment; those of experiments once, with the first one; measures and ends of axes at
 * which anything but 0 was found. 0 or ERROR_MEMORY; to be freed with sweeps_free. */
int sweeps_find(const struct picture_source *source, struct sweeps *sweeps, struct error *err);
void sweeps_free(struct sweeps *sweeps);

/* The scheme's numbers in the comparison; of experiments at one point. NULL: there are none. */
const struct tensor *sweep_numbers(const struct picture_source *source, const struct view *view,
                                   const struct sweep_point *point, const char *scheme);

/* One of them, or why there is none. */
struct cell sweep_cell(const struct picture_source *source, const struct view *view, const struct sweep_point *point,
                       const char *scheme, size_t place);

/* The first or the last place of the tensor's axis; what stands there, a number or, where the comparison has names for
 * them, a name; the axis's name for people. */
size_t sweep_place(const struct tensor *tensor, bool last);
void sweep_say_value(const struct view *view, const struct axis *axis, size_t place, char *out, size_t size);
const char *sweep_axis_name(const struct axis *axis);

/* "at sequence length 256"; where experiments have other lengths, "at the last sequence length of each". */
void sweep_say_place(const struct picture_source *source, const struct view *view, bool last, char *out, size_t size);

/* Schemes of the comparison in its order; those that are points of a sweep are left out where `alone`. Returns how many
 * are in `names`; *all is how many there are. */
size_t sweep_schemes(const struct sweeps *sweeps, const struct view *view, bool alone,
                     const char *names[SWEEP_MOST_SCHEMES], size_t *all);

/* A heat map; `keys` gets what rows and columns are. 0 or ERROR_MEMORY; to be freed with cells_free. */
int sweep_map(const struct picture_source *source, const struct sweeps *sweeps, const struct view *view,
              struct cells_drawing *drawing, char keys[2][3 * RECORD_NAME], struct error *err);

/* Lines. */
struct sweep_lines {
  struct curve curves[SWEEP_MOST_SCHEMES + 1];
  struct record names[SWEEP_MOST_SCHEMES + 1]; /* labels alone */
  struct look looks[SWEEP_MOST_SCHEMES + 1];
  double ticks[SWEEP_MOST_POINTS];
  size_t count;
  double model;      /* the value with which the model was trained; NaN: none, or not known */
  struct text empty; /* "learned: undefined at 16, 32; ...": what has no number at all and is no curve */
};

/* The swept scheme, and level lines of those that are not swept; or, of a swept experiment, one per scheme. NULL with
 * ERROR_MEMORY; to be freed with sweep_lines_free. */
struct sweep_lines *sweep_lines_new(const struct picture_source *source, const struct sweeps *sweeps,
                                    const struct view *view, struct error *err);
void sweep_lines_free(struct sweep_lines *lines);

#endif
