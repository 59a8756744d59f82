#include "results/report_canvas.h"

#include "results/report_svg.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { N_COLORS = 8 };

/* Found by search: the least difference of any two, of the grey of the control too, is as large as it can be for usual
 * eyes and for those without red, green or blue cones; all hold 3:1 against white and near-black. */
static const char *const colors[N_COLORS] = {"#246d92", "#ff6100", "#9200ff", "#c28661",
                                             "#189edb", "#ce0018", "#ff00c2", "#9e24ce"};
/* gnuplot's: filled; and for schemes beyond the eighth, whose colours come again, open. */
static const int points[2][N_COLORS] = {{7, 5, 9, 13, 11, 15, 3, 2}, {6, 4, 8, 12, 10, 14, 2, 3}};

const char *canvas_ink(const struct canvas *canvas) {
  return canvas->kind == CANVAS_PAGE ? SVG_INK : "#000000";
}

const char *canvas_color(size_t place) {
  return colors[place % N_COLORS];
}

void canvas_begin(const struct canvas *canvas, struct text *script) {
  const char *ink = canvas_ink(canvas);
  text_append(script, "set encoding utf8\n");
  if (canvas->kind == CANVAS_PNG) {
    text_printf(
        script,
        "set terminal pngcairo noenhanced size %d,%d fontscale 1.6 linewidth 2 pointscale 2 background rgb '#ffffff'\n",
        2 * canvas->width, 2 * canvas->height);
  } else {
    text_printf(script, "set terminal svg noenhanced size %d,%d dynamic font 'sans-serif,%d' name '%s'%s\n",
                canvas->width, canvas->height, canvas->narrow ? 12 : 13, canvas->name,
                canvas->kind == CANVAS_SVG ? " background rgb '#ffffff'" : "");
  }
  text_printf(script,
              "set border 3 lc rgb '%s'\nset tics nomirror textcolor rgb '%s'\nset key off\n"
              "set xlabel textcolor rgb '%s'\nset ylabel textcolor rgb '%s'\nset title textcolor rgb '%s'\n",
              ink, ink, ink, ink, ink);
}

void canvas_plain(char *out, size_t size, const char *label) {
  snprintf(out, size, "%s", label);
  for (char *c = out; *c; c++) {
    *c = isalnum((unsigned char)*c) ? *c : '_';
  }
}

static bool is_comparison(const struct record *record) {
  return !strcmp(record->label, "comparison") || !strncmp(record->label, "comparison_", 11);
}

bool is_scheme_record(const struct record *record) {
  return record->count && !is_comparison(record);
}

static enum look_role role_of(const struct record *record) {
  static const struct {
    const char *word;
    enum look_role role;
  } roles[] = {{"the model", LOOK_MODEL},
               {"the model, positions mapped", LOOK_MAPPED},
               {"swapped in", LOOK_SWAPPED_IN},
               {"control", LOOK_CONTROL}};
  const struct attribute *attribute = attributes_find(&record->attributes, "role");
  for (size_t i = 0; attribute && attribute->kind == ATTRIBUTE_TEXT && i < sizeof roles / sizeof *roles; i++) {
    if (!strcmp(attribute->text, roles[i].word)) {
      return roles[i].role;
    }
  }
  return LOOK_OTHER;
}

/* Place of a label among the labels of the file's schemes, the control left out. */
static size_t place_of(const struct results_file *file, const char *label) {
  const char *seen[256];
  size_t count = 0;
  for (size_t e = 0; e < file->n_experiments; e++) {
    for (size_t i = 0; i < file->experiments[e].count; i++) {
      const struct record *record = file->experiments[e].records[i];
      bool known = is_comparison(record) || role_of(record) == LOOK_CONTROL;
      for (size_t s = 0; s < count && !known; s++) {
        known = !strcmp(seen[s], record->label);
      }
      if (!known && !strcmp(record->label, label)) {
        return count;
      }
      if (!known && count < sizeof seen / sizeof *seen) {
        seen[count++] = record->label;
      }
    }
  }
  return count;
}

struct look look_of(const struct results_file *file, const struct record *record) {
  struct look look = {.role = role_of(record), .dash = 1, .width = 2};
  if (look.role == LOOK_CONTROL) {
    look.color = CANVAS_MUTED;
    look.point = 1;
    look.dash = 2;
    return look;
  }
  size_t place = place_of(file, record->label);
  look.color = colors[place % N_COLORS];
  look.point = points[place / N_COLORS % 2][place % N_COLORS];
  look.dash = look.role == LOOK_SWAPPED_IN ? 2 : 1;
  look.width = look.role == LOOK_MODEL ? 3 : 2;
  return look;
}

const char *color_of_scheme(const struct results_file *file, const char *label) {
  for (size_t e = 0; e < file->n_experiments; e++) {
    for (size_t i = 0; i < file->experiments[e].count; i++) {
      const struct record *record = file->experiments[e].records[i];
      if (!strcmp(record->label, label) && is_scheme_record(record)) {
        return look_of(file, record).color;
      }
    }
  }
  return NULL;
}
