/* The pictures of a report: what they need, what they say, how they are drawn.
 */
#ifndef PE_RESULTS_REPORT_PICTURES_H
#define PE_RESULTS_REPORT_PICTURES_H

#include "results/report_canvas.h"

struct picture_source {
  const struct results_file *file;
  const struct results_experiment *experiment;
};

struct picture {
  const char *name;  /* of its files, with the experiment's label before it */
  const char *title; /* the question it answers */
  /* The experiment's records have what it shows. */
  bool (*applies)(const struct picture_source *source);
  /* How to read it, with the numbers that belong to it: the caption, and the text for those who do not see it. */
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
extern const struct picture picture_encoding;
extern const struct picture picture_window;
extern const struct picture picture_frequencies;
extern const struct picture picture_certificate;
extern const struct picture picture_training;
extern const struct picture picture_beyond, picture_to_trained, picture_moved;
extern const struct picture picture_permutations;
extern const struct picture picture_shift;
extern const struct picture picture_weights, picture_logits;

/* Draw a picture: SVG or PNG bytes, to be freed; *count without the NUL behind them. NULL with ERROR_FILE_READ (gnuplot
 * is missing or fails) or ERROR_MEMORY. */
char *picture_make(const struct picture *picture, const struct picture_source *source, enum canvas_kind kind,
                   bool narrow, size_t *count, struct error *err);

/* Width of a canvas in pixels. */
int picture_width(bool narrow);

/* "extrapolation_beyond": the picture's name in the file system and in the page; letters, digits, underscores. */
void picture_file_name(const struct picture *picture, const struct picture_source *source, char *out, size_t size);

#endif
