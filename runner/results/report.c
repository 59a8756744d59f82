#include "results/report.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "results/read_results.h"
#include "results/report_html.h"
#include "results/report_pictures.h"
#include "results/report_script.h"
#include "results/report_style.h"
#include "results/report_svg.h"
#include "results/stored_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A page under way. */
struct report {
  const struct results_file *file;
  struct stored_tables tables;
  struct text page;
  char missing[256]; /* why there are no pictures; "": there are */
};

static void append_element(struct text *page, const char *open, const char *text, const char *close) {
  text_append(page, open);
  html_text(page, text);
  text_append(page, close);
}

static void append_head(struct report *report) {
  struct text *page = &report->page;
  const char *title = report->file->title && report->file->title[0] ? report->file->title : "pe-run: results";
  text_append(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
  report_script_policy(page);
  append_element(page, "<title>", title, "</title>\n<style>\n");
  text_append(page, report_style);
  text_append(page, "</style>\n</head>\n<body>\n<main>\n");
  append_element(page, "<h1>", title, "</h1>\n");
  bool partial = strcmp(report->file->status, "complete") != 0;
  text_printf(page, "<p class=\"quiet\">pe-run %s%s</p>\n", pe_run_version(), partial ? ", not all jobs are done" : "");
}

/* Column of that name; n_columns where there is none. */
static size_t column_named(const struct table *table, const char *name) {
  size_t i = 0;
  while (i < table->n_columns && strcmp(table->columns[i].name, name) != 0) {
    i++;
  }
  return i;
}

static const char *cell_text(const struct table *table, size_t row, size_t column) {
  return table->cells[row * table->n_columns + column].text;
}

/* An earlier row has the same conclusion. */
static bool said_before(const struct table *table, size_t follows, size_t row) {
  for (size_t r = 0; r < row; r++) {
    if (!strcmp(cell_text(table, r, follows), cell_text(table, row, follows))) {
      return true;
    }
  }
  return false;
}

/* All rows of the scheme of `row` say the same. */
static bool says_one_thing(const struct table *table, size_t follows, size_t row) {
  for (size_t r = 0; r < table_rows(table); r++) {
    bool same_scheme = !strcmp(cell_text(table, r, 0), cell_text(table, row, 0));
    if (same_scheme && strcmp(cell_text(table, r, follows), cell_text(table, row, follows)) != 0) {
      return false;
    }
  }
  return true;
}

static bool named_before(const struct table *table, size_t row) {
  for (size_t r = 0; r < row; r++) {
    if (!strcmp(cell_text(table, r, 0), cell_text(table, row, 0))) {
      return true;
    }
  }
  return false;
}

/* "rope, none (mask causal)": the schemes of which the same follows; the mask where it makes a difference. */
static void append_names(struct text *page, const struct table *table, size_t follows, size_t row) {
  size_t mask = column_named(table, "mask");
  bool first = true;
  for (size_t r = row; r < table_rows(table); r++) {
    bool one_thing = says_one_thing(table, follows, r);
    if (strcmp(cell_text(table, r, follows), cell_text(table, row, follows)) != 0 ||
        (one_thing && named_before(table, r))) {
      continue;
    }
    text_append(page, first ? "" : ", ");
    html_text(page, cell_text(table, r, 0));
    if (mask < table->n_columns && !one_thing) {
      append_element(page, " (mask ", cell_text(table, r, mask), ")");
    }
    first = false;
  }
}

/* What follows, scheme by scheme; schemes of which the same follows stand together. */
static void append_verdicts(struct text *page, const struct table *table) {
  size_t follows = column_named(table, "follows");
  text_append(page, "<ul class=\"verdicts\">\n");
  for (size_t row = 0; row < table_rows(table); row++) {
    if (!said_before(table, follows, row)) {
      text_append(page, "<li><b>");
      append_names(page, table, follows, row);
      append_element(page, "</b>: ", cell_text(table, row, follows), "</li>\n");
    }
  }
  text_append(page, "</ul>\n");
}

static bool has_verdicts(const struct table *table) {
  return column_named(table, "follows") < table->n_columns && table_rows(table) > 0;
}

/* Statements about schemes, each with an answer. */
static bool has_statements(const struct table *table) {
  return column_named(table, "statement") < table->n_columns && column_named(table, "answer") < table->n_columns &&
         table_rows(table) > 0;
}

/* " yes for rope, alibi": the schemes of which the statement of `row` has this answer; nothing where there is none. */
static bool append_answer(struct text *page, const struct table *table, size_t row, const char *answer, bool first) {
  size_t statement = column_named(table, "statement"), answers = column_named(table, "answer");
  bool any = false;
  for (size_t r = row; r < table_rows(table); r++) {
    if (!strcmp(cell_text(table, r, statement), cell_text(table, row, statement)) &&
        !strcmp(cell_text(table, r, answers), answer)) {
      text_append(page, any ? ", " : first ? " " : "; ");
      text_append(page, any ? "" : answer);
      text_append(page, any ? "" : " for ");
      html_text(page, cell_text(table, r, 0));
      any = true;
    }
  }
  return any;
}

/* What is stated, statement by statement, and of which schemes it is so. */
static void append_statements(struct text *page, const struct table *table) {
  size_t statement = column_named(table, "statement");
  text_append(page, "<ul class=\"verdicts\">\n");
  for (size_t row = 0; row < table_rows(table); row++) {
    if (!said_before(table, statement, row)) {
      append_element(page, "<li><b>", cell_text(table, row, statement), "</b>:");
      bool yes = append_answer(page, table, row, "yes", true);
      append_answer(page, table, row, "no", !yes);
      text_append(page, "</li>\n");
    }
  }
  text_append(page, "</ul>\n");
}

/* "What happens past the training length? (extrapolation_weights_rope_0)": the title, and where others have it, too, as
 * in a sweep, the label. */
static void append_title(struct report *report, const struct results_experiment *experiment) {
  const char *title = experiment->title ? experiment->title : experiment->label;
  size_t same = 0;
  for (size_t e = 0; e < report->file->n_experiments; e++) {
    const struct results_experiment *other = &report->file->experiments[e];
    same += other->title && !strcmp(other->title, title);
  }
  html_text(&report->page, title);
  if (same > 1) {
    append_element(&report->page, " <span class=\"quiet\">", experiment->label, "</span>");
  }
}

/* The sentence in which a decision ends; NULL where the experiment is none. */
static const char *decision_of(const struct results_experiment *experiment) {
  for (size_t i = 0; i < experiment->count; i++) {
    const struct attribute *verdict = attributes_find(&experiment->records[i]->attributes, "verdict");
    if (verdict && verdict->kind == ATTRIBUTE_TEXT) {
      return verdict->text;
    }
  }
  return NULL;
}

/* What was decided, where something was. */
static void append_decisions(struct report *report) {
  for (size_t e = 0; e < report->file->n_experiments; e++) {
    const struct results_experiment *experiment = &report->file->experiments[e];
    const char *decision = decision_of(experiment);
    if (decision) {
      append_element(&report->page, "<h3>", experiment->title ? experiment->title : experiment->label, "</h3>\n");
      append_element(&report->page, "<p class=\"decision\">", decision, "</p>\n");
    }
  }
}

/* The question of each experiment that gives verdicts, and the verdicts. */
static void append_summary(struct report *report) {
  append_decisions(report);
  for (size_t e = 0; e < report->file->n_experiments; e++) {
    const struct results_experiment *experiment = &report->file->experiments[e];
    const struct experiment_tables *tables = stored_tables_find(&report->tables, experiment->label);
    /* The first table that judges; what stands behind it goes into detail. */
    const struct table *verdicts = NULL;
    for (size_t i = 0; tables && i < tables->count && !verdicts; i++) {
      const struct table *table = &tables->tables[i];
      verdicts = has_verdicts(table) || has_statements(table) ? table : NULL;
    }
    if (verdicts && !decision_of(experiment)) {
      text_append(&report->page, "<h3>");
      append_title(report, experiment);
      text_append(&report->page, "</h3>\n");
      if (has_verdicts(verdicts)) {
        append_verdicts(&report->page, verdicts);
      } else {
        append_statements(&report->page, verdicts);
      }
    }
  }
}

/* What a rendering tells under the pointer, as attributes of an element that is open. */
static int append_hover(struct text *page, const char *attribute, char *json, const struct error *err) {
  if (!json) {
    return err->code;
  }
  text_printf(page, " %s=\"", attribute);
  html_text(page, json);
  text_append(page, "\"");
  free(json);
  return 0;
}

/* One rendering of a picture, for wide or for narrow screens. */
static int append_svg(const struct picture *picture, const struct picture_source *source, const char *alternative,
                      bool narrow, struct hover *hover, struct text *out, struct error *err) {
  size_t count;
  char *svg = picture_make(picture, source, CANVAS_PAGE, narrow, hover, &count, err);
  if (!svg) {
    return err->code;
  }
  char file_name[2 * RECORD_NAME], name[2 * RECORD_NAME + 4];
  picture_file_name(picture, source, file_name, sizeof file_name);
  snprintf(name, sizeof name, "%s_%s", file_name, narrow ? "n" : "w");
  char *inlined = svg_inline(svg, name, alternative, err);
  free(svg);
  if (!inlined) {
    return err->code;
  }
  text_append(out, narrow ? "<div class=\"narrow\"" : "<div class=\"wide\"");
  int failed = append_hover(out, "data-places", hover_places(hover, err), err);
  text_append(out, ">");
  text_append(out, inlined);
  text_append(out, "</div>\n");
  free(inlined);
  return failed;
}

/* A part of a picture in both renderings, behind the values that both show. */
static int append_part(struct report *report, const struct picture *picture, const struct picture_source *source,
                       const char *alternative, struct error *err) {
  struct hover wide = {0}, narrow = {.places_only = true};
  struct text renderings = {0};
  int failed = append_svg(picture, source, alternative, false, &wide, &renderings, err);
  failed = failed ? failed : append_svg(picture, source, alternative, true, &narrow, &renderings, err);
  text_append(&report->page, "<div class=\"part\"");
  failed = failed ? failed : append_hover(&report->page, "data-values", hover_values(&wide, err), err);
  text_append(&report->page, ">\n");
  text_append(&report->page, renderings.data ? renderings.data : "");
  text_append(&report->page, "</div>\n");
  report->page.failed = report->page.failed || renderings.failed;
  hover_free(&wide);
  hover_free(&narrow);
  text_free(&renderings);
  return failed;
}

/* A part with its own text for those who do not see it. */
static int append_part_with_words(struct report *report, const struct picture *picture,
                                  const struct picture_source *source, struct error *err) {
  struct text caption = {0}, alternative = {0};
  int failed = picture->describe(source, &caption, &alternative, err);
  char *words = failed ? NULL : text_take(&alternative, err);
  failed = failed ? failed : (words ? append_part(report, picture, source, words, err) : (int)err->code);
  free(words);
  text_free(&caption);
  text_free(&alternative);
  return failed;
}

static int append_figure(struct report *report, const struct picture *picture, const struct picture_source *source,
                         struct error *err) {
  struct text caption = {0}, alternative = {0};
  int failed = picture->describe(source, &caption, &alternative, err);
  if (!failed) {
    append_element(&report->page, "<h3>", picture->title, "</h3>\n<figure>\n");
  }
  struct picture_source part = *source;
  size_t parts = picture_parts(picture, source);
  for (part.part = 0; !failed && part.part < parts; part.part++) {
    failed = append_part_with_words(report, picture, &part, err);
  }
  append_element(&report->page, "<figcaption>", caption.data ? caption.data : "", "</figcaption>\n</figure>\n");
  report->page.failed = report->page.failed || caption.failed;
  text_free(&caption);
  text_free(&alternative);
  return failed;
}

static bool is_counterexample(const struct table *table) {
  return table->title && strstr(table->title, "counterexample");
}

/* The tables of an experiment that are counterexamples, or those that are none. */
static void append_tables(struct report *report, const struct results_experiment *experiment, bool counterexamples) {
  const struct experiment_tables *tables = stored_tables_find(&report->tables, experiment->label);
  for (size_t i = 0; tables && i < tables->count; i++) {
    if (is_counterexample(&tables->tables[i]) == counterexamples) {
      html_table(&report->page, &tables->tables[i]);
    }
  }
}

static bool has_counterexample(const struct report *report, const struct results_experiment *experiment) {
  const struct experiment_tables *tables = stored_tables_find(&report->tables, experiment->label);
  for (size_t i = 0; tables && i < tables->count; i++) {
    if (is_counterexample(&tables->tables[i])) {
      return true;
    }
  }
  return false;
}

/* A figure; beside the matrix of permutations stand the counterexamples. */
static int append_figure_and_company(struct report *report, const struct picture *picture,
                                     const struct picture_source *source, struct error *err) {
  bool beside = picture == &picture_permutations && has_counterexample(report, source->experiment);
  text_append(&report->page, beside ? "<div class=\"beside\">\n<div>\n" : "");
  int failed = append_figure(report, picture, source, err);
  if (!failed && beside) {
    text_append(&report->page, "</div>\n<div tabindex=\"0\" role=\"region\" aria-label=\"counterexamples\">\n");
    append_tables(report, source->experiment, true);
    text_append(&report->page, "</div>\n</div>\n");
  }
  return failed;
}

/* Pictures are an extra: where gnuplot is missing, the page says so once and goes on. *company: the counterexamples
 * stand already. */
static int append_figures(struct report *report, const struct results_experiment *experiment, bool *company,
                          struct error *err) {
  struct picture_source source = {report->file, experiment, 0};
  for (const struct picture *const *picture = picture_list; *picture && !report->missing[0]; picture++) {
    size_t before = report->page.length;
    if (!(*picture)->count(&source) || !append_figure_and_company(report, *picture, &source, err)) {
      *company = *company || *picture == &picture_permutations;
      continue;
    }
    if (err->code == ERROR_MEMORY) {
      return err->code;
    }
    report->page.length = before;
    snprintf(report->missing, sizeof report->missing, "%.200s", err->text);
    append_element(&report->page, "<p class=\"failed\">The pictures are missing: ", report->missing, "</p>\n");
  }
  return 0;
}

static void append_failures(struct text *page, const struct results_experiment *experiment) {
  for (size_t i = 0; i < experiment->count; i++) {
    const struct record *record = experiment->records[i];
    if (record->status == RECORD_FAILED || record->status == RECORD_UNDEFINED) {
      append_element(page, "<p class=\"failed\"><b>", record->label, "</b> ");
      append_element(page, "", record_status_name(record->status), ": ");
      append_element(page, "", record->error.text, "</p>\n");
    }
  }
}

static int append_experiment(struct report *report, const struct results_experiment *experiment, struct error *err) {
  text_append(&report->page, "<section>\n<h2>");
  append_title(report, experiment);
  text_append(&report->page, "</h2>\n");
  append_failures(&report->page, experiment);
  bool company = false;
  if (append_figures(report, experiment, &company, err)) {
    return err->code;
  }
  append_tables(report, experiment, false);
  if (!company) {
    append_tables(report, experiment, true);
  }
  text_append(&report->page, "</section>\n");
  return 0;
}

static void append_provenance(struct report *report) {
  static const struct {
    const char *name;
    const char *heading;
  } texts[] = {{"config", "Config as read"},
               {"plan", "Plan, with every default filled in"},
               {"environment", "Versions and machine"},
               {"plugins", "Plugins"}};
  text_append(&report->page, "<section>\n<h2>Where this comes from</h2>\n");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const struct results_text *text = results_find_text(report->file, texts[i].name);
    if (text) {
      append_element(&report->page, "<h3>", texts[i].heading, "</h3>\n<pre>");
      html_lines(&report->page, text->text);
      text_append(&report->page, "</pre>\n");
    }
  }
  text_append(&report->page, "</section>\n");
}

static bool is_grid(const struct report *report, const struct results_experiment *experiment) {
  struct picture_source source = {report->file, experiment, 0};
  return picture_grid.count(&source) > 0;
}

/* What sets the experiments of a sweep side by side comes before them, as it is what the sweep was made for. */
static int append_experiments(struct report *report, struct error *err) {
  for (int grids = 1; grids >= 0; grids--) {
    for (size_t e = 0; e < report->file->n_experiments; e++) {
      const struct results_experiment *experiment = &report->file->experiments[e];
      if (is_grid(report, experiment) == grids && append_experiment(report, experiment, err)) {
        return err->code;
      }
    }
  }
  return 0;
}

static int append_all(struct report *report, struct error *err) {
  append_head(report);
  append_summary(report);
  if (append_experiments(report, err)) {
    return err->code;
  }
  append_provenance(report);
  text_append(&report->page, "</main>\n");
  report_script_append(&report->page);
  text_append(&report->page, "</body>\n</html>\n");
  return 0;
}

char *report_page(const struct results_file *file, struct error *err) {
  struct report report = {.file = file};
  const struct results_text *tables = results_find_text(file, "tables");
  if (tables && stored_tables_read(tables->text, &report.tables, err)) {
    return NULL;
  }
  char *page = NULL;
  if (append_all(&report, err)) {
    text_free(&report.page);
  } else {
    page = text_take(&report.page, err);
  }
  stored_tables_free(&report.tables);
  return page;
}

static int put_picture(const struct picture *picture, const struct picture_source *source, const char *folder, bool png,
                       struct error *err) {
  char name[2 * RECORD_NAME];
  struct text path = {0};
  size_t count;
  char *bytes = picture_make(picture, source, png ? CANVAS_PNG : CANVAS_SVG, false, NULL, &count, err);
  if (!bytes) {
    return err->code;
  }
  picture_file_name(picture, source, name, sizeof name);
  text_printf(&path, "%s/%s.%s", folder, name, png ? "png" : "svg");
  char *place = text_take(&path, err);
  int failed = place ? results_put(place, bytes, count, err) : (int)err->code;
  free(place);
  free(bytes);
  return failed;
}

int report_pictures(const struct results_file *file, const char *folder, bool png, size_t *count, struct error *err) {
  *count = 0;
  for (size_t e = 0; e < file->n_experiments; e++) {
    struct picture_source source = {file, &file->experiments[e], 0};
    for (const struct picture *const *picture = picture_list; *picture; picture++) {
      size_t parts = picture_parts(*picture, &source);
      for (source.part = 0; source.part < parts; source.part++) {
        if (put_picture(*picture, &source, folder, png, err)) {
          return err->code;
        }
        ++*count;
      }
      source.part = 0;
    }
  }
  return 0;
}
