#include "results/show_terminal.h"

#include "base/memory.h"
#include "base/text.h"
#include "results/printable.h"

#include <libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define BOLD "\x1b[1m"
#define PLAIN "\x1b[0m"

enum { GAP = 2, NO_BOUND = 1 << 20, SHORT_NAME = 16 };

/* Widths of one column: as it is, and folded as far as it may be. */
struct extent {
  size_t natural, least;
};

struct layout {
  const struct table *table;
  char **texts;          /* [1 + rows][columns], printable; row 0 holds the headings */
  struct extent *extent; /* [columns] */
  size_t rows;           /* with the headings */
};

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static void layout_free(struct layout *layout) {
  for (size_t i = 0; layout->texts && i < layout->rows * layout->table->n_columns; i++) {
    free(layout->texts[i]);
  }
  free(layout->texts);
  free(layout->extent);
}

static int layout_init(struct layout *layout, const struct table *table, struct error *err) {
  size_t columns = table->n_columns;
  *layout = (struct layout){.table = table, .rows = table_rows(table) + 1};
  layout->extent = memory_new(columns, sizeof *layout->extent, "table layout", err);
  layout->texts = layout->extent ? memory_new(layout->rows * columns, sizeof(char *), "table layout", err) : NULL;
  if (!layout->texts) {
    layout_free(layout);
    return err->code;
  }
  for (size_t i = 0; i < layout->rows * columns; i++) {
    size_t column = i % columns;
    bool heading = i < columns;
    char *text = printable_line(heading ? table->columns[column].heading : table->cells[i - columns].text, err);
    if (!text) {
      layout_free(layout);
      return err->code;
    }
    layout->texts[i] = text;
    bool may_fold = heading || table->columns[column].wrap;
    struct extent *extent = &layout->extent[column];
    extent->natural = larger(extent->natural, printable_width(text));
    extent->least = larger(extent->least, may_fold ? printable_word_width(text) : printable_width(text));
  }
  return 0;
}

/* Narrow the widest column that may still be folded until all fit. False where they cannot. */
static bool fit(struct layout *layout, size_t width) {
  size_t columns = layout->table->n_columns;
  size_t total = GAP * (columns - 1);
  for (size_t i = 0; i < columns; i++) {
    total += layout->extent[i].natural;
  }
  while (total > width) {
    struct extent *widest = NULL;
    for (size_t i = 0; i < columns; i++) {
      struct extent *extent = &layout->extent[i];
      if (extent->natural > extent->least && (!widest || extent->natural > widest->natural)) {
        widest = extent;
      }
    }
    if (!widest) {
      return false;
    }
    widest->natural--;
    total--;
  }
  return true;
}

/* Where the table is still too wide: names longer than SHORT_NAME are cut into lines, which leaves a table a table. */
static bool fit_by_cutting(struct layout *layout, size_t width) {
  for (size_t i = 0; i < layout->table->n_columns; i++) {
    if (!layout->table->columns[i].right && layout->extent[i].least > SHORT_NAME) {
      layout->extent[i].least = SHORT_NAME;
    }
  }
  return fit(layout, width);
}

static bool add_columns(struct libscols_table *scols, const struct layout *layout) {
  for (size_t i = 0; i < layout->table->n_columns; i++) {
    int flags = SCOLS_FL_WRAP | (layout->table->columns[i].right ? SCOLS_FL_RIGHT : 0);
    struct libscols_column *column = scols_table_new_column(scols, "", (double)layout->extent[i].natural, flags);
    if (!column || scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL)) {
      return false;
    }
  }
  return true;
}

/* The text folded to the column's width. libsmartcols aligns only the first line of a cell to the right, so that is
 * done here for all of them. */
static char *folded_cell(const char *text, size_t width, bool right, struct error *err) {
  char *folded = printable_fold(text, larger(width, 1), err);
  if (!folded || !right || !strchr(folded, '\n')) {
    return folded;
  }
  struct text aligned = {0};
  char *rest = folded;
  for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
    text_printf(&aligned, "%*s%s%s", (int)(width - printable_width(line)), "", line, rest ? "\n" : "");
  }
  free(folded);
  return text_take(&aligned, err);
}

static bool add_rows(struct libscols_table *scols, const struct layout *layout, struct error *err) {
  size_t columns = layout->table->n_columns;
  for (size_t row = 0; row < layout->rows; row++) {
    struct libscols_line *line = scols_table_new_line(scols, NULL);
    if (!line || (row == 0 && scols_line_set_color(line, BOLD))) {
      return false;
    }
    for (size_t i = 0; i < columns; i++) {
      char *folded = folded_cell(layout->texts[row * columns + i], layout->extent[i].natural,
                                 layout->table->columns[i].right, err);
      if (!folded || scols_line_refer_data(line, i, folded)) {
        free(folded);
        return false;
      }
    }
  }
  return true;
}

/* Cells are padded to the column's width; at the end of a line that is noise. */
static void append_without_trailing_spaces(struct text *out, const char *grid) {
  while (*grid) {
    size_t length = strcspn(grid, "\n");
    size_t kept = length;
    while (kept && grid[kept - 1] == ' ') {
      kept--;
    }
    text_append_bytes(out, grid, kept);
    text_append(out, "\n");
    grid += length + (grid[length] == '\n');
  }
}

static void append_grid(struct text *out, const struct layout *layout, size_t width, bool color, struct error *err) {
  struct libscols_table *scols = scols_new_table();
  char *grid = NULL;
  if (scols && !scols_table_enable_noheadings(scols, 1) && !scols_table_set_column_separator(scols, "  ") &&
      !scols_table_enable_colors(scols, color) && !scols_table_enable_noencoding(scols, 1) &&
      !scols_table_set_termforce(scols, SCOLS_TERMFORCE_ALWAYS) && !scols_table_set_termwidth(scols, width) &&
      add_columns(scols, layout) && add_rows(scols, layout, err) && !scols_print_table_to_string(scols, &grid)) {
    append_without_trailing_spaces(out, grid);
  } else {
    out->failed = true;
  }
  free(grid);
  scols_unref_table(scols);
}

/* Folded text after `first`, further lines after as many spaces as `indent`. */
static void append_folded(struct text *out, const char *first, size_t indent, const char *text, size_t width,
                          struct error *err) {
  char *folded = printable_fold(text, width > indent ? width - indent : 1, err);
  text_append(out, first);
  for (const char *c = folded ? folded : ""; *c; c++) {
    text_append_bytes(out, c, 1);
    if (*c == '\n') {
      text_printf(out, "%*s", (int)indent, "");
    }
  }
  text_append(out, "\n");
  out->failed = out->failed || !folded;
  free(folded);
}

static void append_blocks(struct text *out, const struct layout *layout, size_t width, struct error *err) {
  size_t columns = layout->table->n_columns;
  for (size_t row = 1; row < layout->rows; row++) {
    text_append(out, row > 1 ? "\n" : "");
    for (size_t i = 0; i < columns; i++) {
      struct text line = {0};
      text_printf(&line, "%s: %s", layout->texts[i], layout->texts[row * columns + i]);
      append_folded(out, "", GAP, line.failed ? "" : line.data, width, err);
      out->failed = out->failed || line.failed;
      text_free(&line);
    }
  }
}

static void append_prose(struct text *out, const char *first, size_t indent, const char *text, size_t width,
                         struct error *err) {
  char *line = printable_line(text, err);
  append_folded(out, first, indent, line ? line : "", width, err);
  out->failed = out->failed || !line;
  free(line);
}

static char *make(const struct table *table, size_t width, bool color, struct error *err) {
  struct text out = {0};
  if (table->title) {
    append_prose(&out, color ? BOLD : "", 0, table->title, width, err);
    text_append(&out, color ? PLAIN : "");
  }
  if (table->n_columns) {
    struct layout layout;
    if (layout_init(&layout, table, err)) {
      text_free(&out);
      return NULL;
    }
    if (fit(&layout, width) || fit_by_cutting(&layout, width)) {
      append_grid(&out, &layout, width, color, err);
    } else {
      append_blocks(&out, &layout, width, err);
    }
    layout_free(&layout);
  }
  for (size_t i = 0; i < table->n_notes; i++) {
    append_prose(&out, "  ", GAP, table->notes[i], width, err);
  }
  return text_take(&out, err);
}

char *terminal_of_table(const struct table *table, int width, bool color, struct error *err) {
  /* Texts are UTF-8 whatever the user's locale: their widths are counted as such, in this thread only. */
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
  char *text = make(table, width > 0 ? (size_t)width : NO_BOUND, color, err);
  if (utf8) {
    uselocale(before);
    freelocale(utf8);
  }
  return text;
}
