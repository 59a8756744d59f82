/* The argument beside the results file, for people: Markdown, and a picture of the distances to the limits. */
#include "jobs/decide.h"

#include "base/memory.h"
#include "results/gnuplot.h"
#include "results/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* path without ".h5", with `ending` behind it; to be freed. */
static char *beside(const char *path, const char *ending, struct error *err) {
  struct text text = {0};
  size_t length = strlen(path);
  bool has_suffix = length > 3 && !strcmp(path + length - 3, ".h5");
  text_append_bytes(&text, path, has_suffix ? length - 3 : length);
  text_append(&text, ending);
  return text_take(&text, err);
}

static void append_cell(struct text *out, const char *text) {
  for (const char *c = text; *c; c++) {
    text_append(out, *c == '|' ? "\\" : "");
    text_append_bytes(out, c, 1);
  }
}

static void append_table(struct text *out, const struct table *table) {
  for (size_t i = 0; i < table->n_columns; i++) {
    text_append(out, i ? " | " : "| ");
    append_cell(out, table->columns[i].heading);
  }
  text_append(out, " |\n");
  for (size_t i = 0; i < table->n_columns; i++) {
    text_append(out, i ? " | " : "| ");
    text_append(out, table->columns[i].right ? "---:" : "---");
  }
  text_append(out, " |\n");
  for (size_t i = 0; i < table->n_cells; i++) {
    text_append(out, i % table->n_columns ? " | " : "| ");
    append_cell(out, table->cells[i].text);
    text_append(out, (i + 1) % table->n_columns ? "" : " |\n");
  }
  text_append(out, "\n");
}

static char *markdown(const struct plan *plan, const struct conclusion *conclusion, const char *picture,
                      struct error *err) {
  const struct table *conditions = &conclusion->tables[0], *schemes = &conclusion->tables[1];
  const char *slash = picture ? strrchr(picture, '/') : NULL;
  struct text out = {0};
  text_printf(&out, "# %s\n\n**%s**\n\n", conditions->title + strlen("decision: "),
              schemes->n_notes ? schemes->notes[0] : "");
  if (picture) {
    text_printf(&out, "![Distance of each scheme to the limit of each condition, in margins](%s)\n\n",
                slash ? slash + 1 : picture);
  }
  text_append(&out, "## What was asked\n\n");
  append_table(&out, conditions);
  for (size_t i = 0; i < conditions->n_notes; i++) {
    text_printf(&out, "%s\n\n", conditions->notes[i]);
  }
  text_append(&out, "## What was measured\n\n");
  append_table(&out, schemes);
  if (conclusion->n_tables > 2) {
    append_table(&out, &conclusion->tables[2]);
  }
  text_append(&out, "## What follows\n\n");
  for (size_t i = 1; i < schemes->n_notes; i++) {
    text_printf(&out, "%s\n\n", schemes->notes[i]);
  }
  text_printf(&out, "Seed %llu. Every number is in the group `/decision` of the results file.\n",
              (unsigned long long)plan->seed);
  return text_take(&out, err);
}

/* A number that is drawn at the edge where it lies beyond. */
static void append_within(struct text *script, double value, double edge) {
  gnuplot_number(script, isnan(value) ? value : fmax(-edge, fmin(edge, value)));
  text_append(script, " ");
}

/* Conditions downwards, one point for each scheme: its distance to the limit. What is further off than 20 margins is
 * drawn at the edge. */
static char *picture_of(const struct plan *plan, const struct record *comparisons, size_t *count, struct error *err) {
  enum { EDGE = 20, ROW = 70, MOST_COLORS = 9 };
  size_t n = plan->decision->n_conditions;
  struct text script = {0};
  text_printf(&script, "set encoding utf8\nset terminal svg noenhanced size 800,%zu background '#ffffff'\n",
              140 + ROW * n + 18 * plan->n_schemes);
  text_append(
      &script,
      "set title 'Distance to the limit in margins, with 95 % intervals: met from 1 on, if no interval reaches 0'\n");
  text_printf(&script, "set xrange [-%d.5:%d.5]\nset yrange [%zu.6:0.4]\nset key below\n", EDGE, EDGE, n);
  text_append(&script, "set object rectangle from first -1, graph 0 to first 1, graph 1 fillcolor rgb '#dddddd' "
                       "fillstyle solid noborder behind\nset grid y\nset ytics (");
  for (size_t i = 0; i < n; i++) {
    struct text name = {0};
    text_printf(&name, "condition %zu", i + 1);
    text_append(&script, i ? ", " : "");
    gnuplot_quote(&script, name.data ? name.data : "");
    text_printf(&script, " %zu", i + 1);
    text_free(&name);
  }
  text_append(&script, ")\n");
  for (size_t s = 0; s < plan->n_schemes; s++) {
    const struct tensor *tensor = record_find(&comparisons[0], plan->schemes[s].label);
    const struct tensor *low = record_find(&comparisons[1], plan->schemes[s].label);
    const struct tensor *high = record_find(&comparisons[2], plan->schemes[s].label);
    text_printf(&script, "$scheme%zu << END\n", s);
    for (size_t i = 0; i < n; i++) {
      double value = tensor_value(tensor, i);
      double ends[] = {tensor_value(low, i), tensor_value(high, i)};
      append_within(&script, value, EDGE);
      append_within(&script, isnan(ends[0]) ? value : ends[0], EDGE);
      append_within(&script, isnan(ends[1]) ? value : ends[1], EDGE);
      gnuplot_number(&script, (double)(i + 1) + 0.4 * ((double)(s + 1) / (double)(plan->n_schemes + 1) - 0.5));
      text_append(&script, "\n");
    }
    text_append(&script, "END\n");
  }
  for (size_t s = 0; s < plan->n_schemes; s++) {
    text_printf(&script, "%s$scheme%zu using 1:4:2:3 with xerrorbars pointtype %zu pointsize 1.2 linecolor %zu title ",
                s ? ", " : "plot ", s, s % 13 + 4, s % MOST_COLORS + 1);
    gnuplot_quote(&script, plan->schemes[s].label);
  }
  text_append(&script, "\n");
  char *svg = script.failed ? NULL : gnuplot_run(&script, count, err);
  if (script.failed) {
    error_set(err, ERROR_MEMORY, "the picture of the decision: memory is not to be had");
  }
  text_free(&script);
  return svg;
}

int decide_write_files(const struct plan *plan, const struct conclusion *conclusion, const char *output,
                       struct error *err) {
  char *text_path = beside(output, "_decision.md", err);
  char *picture_path = text_path ? beside(output, "_decision.svg", err) : NULL;
  int status = picture_path ? 0 : (int)err->code;
  size_t count = 0;
  char *picture = status ? NULL : picture_of(plan, conclusion->comparisons, &count, err);
  if (!status && !picture && err->code != ERROR_FILE_READ) {
    status = (int)err->code;
  }
  if (picture) {
    status = results_put(picture_path, picture, count, err);
  }
  char *text = status ? NULL : markdown(plan, conclusion, picture ? picture_path : NULL, err);
  if (text) {
    status = results_put(text_path, text, strlen(text), err);
  } else if (!status) {
    status = (int)err->code;
  }
  free(text);
  free(picture);
  free(text_path);
  free(picture_path);
  return status;
}
