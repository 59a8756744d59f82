/* The pictures of a report: what they need, what they say, how they are drawn.
 */
#ifndef PE_RESULTS_REPORT_PICTURES_H
#define PE_RESULTS_REPORT_PICTURES_H

#include "results/report_canvas.h"

struct picture_source {
  const struct results_file *file;
  const struct results_experiment *experiment;
  size_t part; /* of a picture that has several */
};

struct picture {
  const char *name;  /* of its files, with the experiment's label before it */
  const char *title; /* the question it answers */
  /* How many schemes or measures the experiment has for it; 0: it does not apply. */
  size_t (*count)(const struct picture_source *source);
  size_t per_part; /* how many of them a drawing of a page's height shows; 0: all */
  /* How to read it, with the numbers that belong to it: the caption, of all parts; and the text for those who do not
   * see it, of this part or of all. */
  int (*describe)(const struct picture_source *source, struct text *caption, struct text *alternative,
                  struct error *err);
  /* Height of its canvas in pixels. */
  int (*height)(const struct picture_source *source, bool narrow);
  /* The script. 0 or ERROR_MEMORY. */
  int (*draw)(const struct picture_source *source, const struct canvas *canvas, struct text *script, struct error *err);
};

/* All pictures, ended by one without a name. */
extern const struct picture *const picture_list[];

extern const struct picture picture_decision;
extern const struct picture picture_grid;
extern const struct picture picture_sweep;
extern const struct picture picture_encoding;
extern const struct picture picture_window;
extern const struct picture picture_frequencies;
extern const struct picture picture_certificate;
extern const struct picture picture_training;
extern const struct picture picture_beyond, picture_to_trained, picture_moved;
extern const struct picture picture_permutations;
extern const struct picture picture_shift;
extern const struct picture picture_weights, picture_logits;

/* Draw a part of a picture: SVG or PNG bytes, to be freed; *count without the NUL behind them. `hover` (may be NULL)
 * gets the values that it shows. NULL with ERROR_FILE_READ (gnuplot is missing or fails) or ERROR_MEMORY. */
char *picture_make(const struct picture *picture, const struct picture_source *source, enum canvas_kind kind,
                   bool narrow, struct hover *hover, size_t *count, struct error *err);

/* Into how many drawings it is dealt; 0: it does not apply. */
size_t picture_parts(const struct picture *picture, const struct picture_source *source);

/* Of `count` things dealt out to parts, how many the source's part has, from *first on. */
size_t picture_part(const struct picture_source *source, size_t per_part, size_t count, size_t *first);

/* " The first 64 of 70 schemes are drawn ...", where not all are. */
void picture_say_left_out(struct text *caption, size_t drawn, size_t all);

/* " Seed 17, the first of 4.", where a tensor has several seeds of which the first is drawn. */
void picture_say_seed(struct text *caption, const struct tensor *tensor);

/* Width of a canvas in pixels. */
int picture_width(bool narrow);

/* "extrapolation_beyond", "extrapolation_window_2": the part's name in the file system and in the page; letters,
 * digits, underscores. */
void picture_file_name(const struct picture *picture, const struct picture_source *source, char *out, size_t size);

#endif
