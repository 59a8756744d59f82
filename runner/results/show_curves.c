#include "results/gnuplot.h"
#include "results/record_group.h"
#include "results/show_results.h"

#include <stdlib.h>
#include <string.h>

enum { CURVE_LINES = 22, CURVE_COLUMNS = 110, MOST_CURVES = 12 };

static bool has_a_positive_value(const struct tensor *tensor) {
  for (size_t i = 0; i < tensor->count; i++) {
    if (tensor_value(tensor, i) > 0) {
      return true;
    }
  }
  return false;
}

static void append_data(struct text *script, const struct tensor *tensor, size_t number) {
  const struct axis *axis = &tensor->axis[0];
  text_printf(script, "$curve%zu << END\n", number);
  for (size_t i = 0; i < tensor->count; i++) {
    gnuplot_number(script, axis->values ? axis->values[i] : (double)i);
    text_append(script, " ");
    gnuplot_number(script, tensor_value(tensor, i));
    text_append(script, "\n");
  }
  text_append(script, "END\n");
}

/* The tensors to draw together with `tensor`, which comes first. */
static size_t choose(const struct record *record, const struct tensor *tensor, const struct tensor *chosen[]) {
  size_t count = 0;
  chosen[count++] = tensor;
  for (size_t i = 0; i < record->count && count < MOST_CURVES; i++) {
    if (record_is_auxiliary(record, tensor, &record->tensors[i])) {
      chosen[count++] = &record->tensors[i];
    }
  }
  return count;
}

/* gnuplot leaves room above and beside what it draws. */
static char *without_margins(char *curves, struct error *err) {
  struct text out = {0};
  for (char *line = curves; *line;) {
    size_t length = strcspn(line, "\n"), kept = length;
    while (kept && strchr(" \f", line[kept - 1])) {
      kept--;
    }
    text_append_bytes(&out, line, kept);
    text_append(&out, kept || out.length ? "\n" : "");
    line += length + (line[length] == '\n');
  }
  while (out.length > 1 && out.data[out.length - 1] == '\n' && out.data[out.length - 2] == '\n') {
    out.length--;
  }
  if (out.data) {
    out.data[out.length] = '\0';
  }
  free(curves);
  return text_take(&out, err);
}

char *show_curves(const struct record *record, const struct tensor *tensor, int width, struct error *err) {
  const struct tensor *chosen[MOST_CURVES];
  size_t count = choose(record, tensor, chosen);
  const struct axis *axis = &tensor->axis[0];
  struct text script = {0};
  text_printf(&script, "set encoding utf8\nset terminal dumb noenhanced size %d,%d\n",
              width < CURVE_COLUMNS ? width : CURVE_COLUMNS, CURVE_LINES);
  text_append(&script, count > 1 ? "set key outside right top\n" : "unset key\n");
  text_append(&script, "set title ");
  gnuplot_quote(&script, count > 1 || !tensor->long_name[0] ? record->title : tensor->long_name);
  text_append(&script, "\nset xlabel ");
  gnuplot_quote(&script, axis->long_name[0] ? axis->long_name : axis->name);
  text_append(&script, axis->log_values ? "\nset logscale x 2\n" : "\n");
  if (tensor->log_values && has_a_positive_value(tensor)) {
    text_append(&script, "set logscale y\n");
  }
  for (size_t i = 0; i < count; i++) {
    append_data(&script, chosen[i], i);
  }
  for (size_t i = 0; i < count; i++) {
    text_printf(&script, "%s $curve%zu using 1:2 with linespoints title ", i ? "," : "plot", i);
    gnuplot_quote(&script, chosen[i]->name);
  }
  text_append(&script, "\n");
  size_t length;
  char *curves = gnuplot_run(&script, &length, err);
  text_free(&script);
  return curves ? without_margins(curves, err) : NULL;
}
