#include "results/report_pictures.h"

#include "results/gnuplot.h"
#include "results/report_svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 760, NARROW = 370 };

const struct picture *const picture_list[] = {
    &picture_decision,    &picture_grid,       &picture_sweep,  &picture_beyond,
    &picture_training,    &picture_encoding,   &picture_window, &picture_frequencies,
    &picture_certificate, &picture_to_trained, &picture_moved,  &picture_permutations,
    &picture_shift,       &picture_weights,    &picture_logits, NULL};

int picture_width(bool narrow) {
  return narrow ? NARROW : WIDE;
}

void picture_file_name(const struct picture *picture, const struct picture_source *source, char *out, size_t size) {
  char label[RECORD_NAME];
  canvas_plain(label, sizeof label, source->experiment->label);
  if (source->part) {
    snprintf(out, size, "%s_%s_%zu", label, picture->name, source->part + 1);
  } else {
    snprintf(out, size, "%s_%s", label, picture->name);
  }
}

size_t picture_parts(const struct picture *picture, const struct picture_source *source) {
  size_t count = picture->count(source);
  return picture->per_part ? (count + picture->per_part - 1) / picture->per_part : count > 0;
}

size_t picture_part(const struct picture_source *source, size_t per_part, size_t count, size_t *first) {
  *first = source->part * per_part < count ? source->part * per_part : count;
  return count - *first < per_part ? count - *first : per_part;
}

void picture_say_left_out(struct text *caption, size_t drawn, size_t all) {
  if (drawn < all) {
    text_printf(caption, " The first %zu of %zu schemes are drawn; the file has them all.", drawn, all);
  }
}

void picture_say_seed(struct text *caption, const struct tensor *tensor) {
  const struct axis *seed = tensor_axis(tensor, "seed");
  if (seed && seed->length > 1) {
    text_printf(caption, " Drawn: seed %g, the first of %zu; the file has them all.",
                seed->values ? seed->values[0] : 0, seed->length);
  }
}

/* The SVG as a file of its own; other kinds as they are. */
static char *finish(char *bytes, enum canvas_kind kind, size_t *count, struct error *err) {
  if (!bytes || kind != CANVAS_SVG) {
    return bytes;
  }
  char *clean = svg_standalone(bytes, err);
  free(bytes);
  *count = clean ? strlen(clean) : 0;
  return clean;
}

char *picture_make(const struct picture *picture, const struct picture_source *source, enum canvas_kind kind,
                   bool narrow, struct hover *hover, size_t *count, struct error *err) {
  char name[2 * RECORD_NAME];
  picture_file_name(picture, source, name, sizeof name);
  struct canvas canvas = {.kind = kind,
                          .name = name,
                          .width = picture_width(narrow),
                          .height = picture->height(source, narrow),
                          .narrow = narrow,
                          .hover = hover};
  struct text script = {0};
  char *bytes = picture->draw(source, &canvas, &script, err) ? NULL : gnuplot_run(&script, count, err);
  text_free(&script);
  return finish(bytes, kind, count, err);
}
