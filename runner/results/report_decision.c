/* Picture of a decision: how far each scheme is from the limit of each condition. */
#include "results/gnuplot.h"
#include "results/report_panels.h"
#include "results/report_pictures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  MOST_SCHEMES = 32,
  EDGE = 20, /* margins; what is further off stands at the edge */
  /* pixels */
  ROW = 20,
  TITLE = 30,
  TICKS = 22,
  FOOT = 30
};

struct decision {
  const struct record *comparison;
  const struct tensor *margins[MOST_SCHEMES]; /* [condition] of a scheme */
  size_t schemes, conditions;
};

/* The margins of all schemes; false where the experiment is no decision. */
static bool find_decision(const struct picture_source *source, struct decision *decision) {
  *decision = (struct decision){0};
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    if (!strcmp(record->label, "comparison") && attributes_find(&record->attributes, "verdict")) {
      decision->comparison = record;
    }
  }
  for (size_t i = 0; decision->comparison && i < decision->comparison->count; i++) {
    const struct tensor *tensor = &decision->comparison->tensors[i];
    if (tensor->rank == 1 && !strcmp(tensor->axis[0].name, "condition") && tensor->element != ELEMENT_U8 &&
        decision->schemes < MOST_SCHEMES) {
      decision->margins[decision->schemes++] = tensor;
      decision->conditions = tensor->count;
    }
  }
  return decision->schemes > 0;
}

/* How a scheme looks elsewhere in the report: by a record of its name in any experiment. */
static struct look look_named(const struct results_file *file, const char *label) {
  struct look look = {.color = CANVAS_MUTED, .point = 7};
  for (size_t e = 0; e < file->n_experiments; e++) {
    for (size_t i = 0; i < file->experiments[e].count; i++) {
      if (!strcmp(file->experiments[e].records[i]->label, label)) {
        look = look_of(file, file->experiments[e].records[i]);
        if (look.role != LOOK_OTHER) {
          return look;
        }
      }
    }
  }
  return look;
}

/* The outcome is "met" or "not met": not that the interval reaches over the limit, or that there is no verdict. */
static bool is_settled(const struct picture_source *source, const char *label, size_t condition) {
  for (size_t i = 0; i < source->experiment->count; i++) {
    const struct record *record = source->experiment->records[i];
    const struct tensor *outcome = !strcmp(record->label, label) ? record_find(record, "outcome") : NULL;
    if (outcome && condition < outcome->count) {
      return tensor_value(outcome, condition) <= 1; /* met, not_met; then the others */
    }
  }
  return true;
}

static void append_rows(const struct decision *decision, size_t condition, struct text *script) {
  text_printf(script, "$margins%zu << END\n", condition);
  for (size_t s = 0; s < decision->schemes; s++) {
    double margin = tensor_value(decision->margins[s], condition);
    text_printf(script, "%zu ", s);
    gnuplot_number(script, isnan(margin) ? margin : fmax(-EDGE, fmin(EDGE, margin)));
    text_append(script, " ");
    gnuplot_number(script, margin);
    text_append(script, "\n");
  }
  text_append(script, "END\n");
}

static double left_of(const struct canvas *canvas, const struct decision *decision) {
  size_t longest = 0;
  for (size_t s = 0; s < decision->schemes; s++) {
    size_t length = strlen(decision->margins[s]->name);
    longest = length > longest ? length : longest;
  }
  return fmin((double)longest * (canvas->narrow ? 6 : 7) + 14, canvas->width / 2.0);
}

/* "1: extrapolation.jsd_to_trained.mean at 256 <= 0.2 (margin 0.02)"; on a phone without the margin. */
static void condition_title(const struct decision *decision, size_t condition, bool narrow, char *out, size_t size) {
  const struct attribute *attribute = attributes_find(&decision->comparison->attributes, "conditions");
  const char *line = attribute && attribute->kind == ATTRIBUTE_TEXT ? attribute->text : NULL;
  for (size_t i = 0; line && i < condition; i++) {
    line = strchr(line, '\n');
    line = line ? line + 1 : NULL;
  }
  if (!line) {
    snprintf(out, size, "condition %zu", condition + 1);
    return;
  }
  size_t length = strcspn(line, "\n");
  const char *margin = memmem(line, length, " (", 2);
  length = narrow && margin ? (size_t)(margin - line) : length;
  snprintf(out, size, "%zu: %.*s", condition + 1, (int)length, line);
}

/* The whole row of a scheme tells its margin. */
static void tell_condition(const struct canvas *canvas, const struct panel *panel, const struct decision *decision,
                           size_t condition) {
  char says[80];
  double values[MOST_SCHEMES];
  struct hover_axis none = {0, 1, false};
  int names = hover_names(canvas->hover);
  for (size_t s = 0; s < decision->schemes; s++) {
    hover_name(canvas->hover, decision->margins[s]->name);
    values[s] = tensor_value(decision->margins[s], condition);
  }
  snprintf(says, sizeof says, "{r}, condition %zu: {v} margins", condition + 1);
  hover_panel(canvas->hover, panel->left, panel->top, panel->width, panel->height, none, none);
  hover_grid(canvas->hover, "", says, (struct hover_side){decision->schemes, 0, 1, names},
             (struct hover_side){1, 0, 1, HOVER_NUMBERS}, values);
}

static void draw_condition(const struct picture_source *source, const struct canvas *canvas,
                           const struct decision *decision, size_t condition, struct text *script) {
  char title[256];
  double left = left_of(canvas, decision), height = (double)decision->schemes * ROW;
  struct panel panel = {left, (double)condition * (TITLE + height + TICKS) + TITLE, canvas->width - left - 14, height};
  condition_title(decision, condition, canvas->narrow, title, sizeof title);
  panel_begin(canvas, &panel, NULL, NULL, script);
  canvas_note(canvas, canvas->narrow ? canvas->width / 2.0 : left + panel.width / 2, panel.top - 12, "center", title,
              canvas_ink(canvas), script);
  text_printf(script, "set xrange [-%d.5:%d.5]\nset yrange [%.1f:-0.5]\n", EDGE, EDGE, (double)decision->schemes - 0.5);
  text_printf(script,
              "set xtics scale 0.5 offset 0,0.4 textcolor rgb '%s' font ',10' ('≤ -20' -20, '-10' -10, '-1' -1, '1' 1, "
              "'10' 10, '≥ 20' 20)\n",
              canvas_ink(canvas));
  text_append(script, "set object rectangle from first -1,graph 0 to first 1,graph 1 behind fs solid 0.25 noborder fc "
                      "rgb '" CANVAS_MUTED "'\n");
  text_printf(script, "set arrow from 0,graph 0 to 0,graph 1 nohead lc rgb '%s' lw 1\n", canvas_ink(canvas));
  for (size_t s = 0; s < decision->schemes; s++) {
    struct look look = look_named(source->file, decision->margins[s]->name);
    double margin = tensor_value(decision->margins[s], condition);
    canvas_note(canvas, left - 6, panel.top + ((double)s + 0.5) * ROW, "right", decision->margins[s]->name, look.color,
                script);
    if (isnan(margin)) {
      text_printf(script, "set label 'no value' at 1.6,%zu left font ',10' textcolor rgb '%s'\n", s, look.color);
    }
  }
  text_append(script, "plot ");
  for (size_t s = 0; s < decision->schemes; s++) {
    struct look look = look_named(source->file, decision->margins[s]->name);
    text_printf(script,
                "%s$margins%zu every ::%zu::%zu using (0):1:2:(0) with vectors nohead lw 3 lc rgb '%s', '' every "
                "::%zu::%zu using 2:1 with points pt %d ps 0.6 lc rgb '%s'",
                s ? ", " : "", condition, s, s, look.color, s, s,
                is_settled(source, decision->margins[s]->name, condition) ? 7 : 6, look.color);
  }
  text_append(script, "\n");
  tell_condition(canvas, &panel, decision, condition);
}

static size_t count_shown(const struct picture_source *source) {
  struct decision decision;
  return find_decision(source, &decision) ? decision.schemes : 0;
}

static int height(const struct picture_source *source, bool narrow) {
  struct decision decision;
  (void)narrow;
  find_decision(source, &decision);
  return (int)decision.conditions * (TITLE + (int)decision.schemes * ROW + TICKS) + FOOT;
}

static int draw(const struct picture_source *source, const struct canvas *canvas, struct text *script,
                struct error *err) {
  struct decision decision;
  (void)err;
  find_decision(source, &decision);
  canvas_begin(canvas, script);
  for (size_t i = 0; i < decision.conditions; i++) {
    append_rows(&decision, i, script);
  }
  text_append(script, "unset tics\nset border 15 lc rgb '" CANVAS_MUTED "' lw 0.5\nset multiplot\n");
  for (size_t i = 0; i < decision.conditions; i++) {
    draw_condition(source, canvas, &decision, i, script);
  }
  struct panel whole = {0, 0, canvas->width, canvas->height};
  panel_begin(canvas, &whole, NULL, NULL, script);
  canvas_note(canvas, canvas->width / 2.0, canvas->height - 12, "center",
              canvas->narrow ? "margins; right of 1: met"
                             : "distance to the limit in margins: right of 1 met, left of "
                               "-1 not met, between them not separated",
              canvas_ink(canvas), script);
  text_append(script, "unset tics\nunset border\nset xrange [0:1]\nset yrange [0:1]\nplot NaN\nunset multiplot\n");
  return 0;
}

static int describe(const struct picture_source *source, struct text *caption, struct text *alternative,
                    struct error *err) {
  struct decision decision;
  (void)err;
  find_decision(source, &decision);
  text_append(caption,
              "How far each scheme is from the limit of each condition, in units of the margin that the "
              "condition names. Grey: too near to be told; open circles: not settled, because the interval reaches "
              "over the limit or there is no verdict.");
  text_append(alternative, "Distance to the limits in margins:");
  for (size_t s = 0; s < decision.schemes; s++) {
    text_printf(alternative, "%s %s", s ? ";" : "", decision.margins[s]->name);
    for (size_t i = 0; i < decision.conditions; i++) {
      double margin = tensor_value(decision.margins[s], i);
      text_printf(alternative, isnan(margin) ? " no value" : " %.2g", margin);
    }
  }
  return 0;
}

const struct picture picture_decision = {"decision", "What the decision rests on", count_shown, 0, describe, height,
                                         draw};
