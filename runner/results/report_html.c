#include "results/report_html.h"

#include "base/memory.h"
#include "results/printable.h"

#include <stdlib.h>
#include <string.h>

static void escape(struct text *page, const char *clean) {
  for (const char *c = clean; *c; c++) {
    switch (*c) {
    case '<':
      text_append(page, "&lt;");
      break;
    case '>':
      text_append(page, "&gt;");
      break;
    case '&':
      text_append(page, "&amp;");
      break;
    case '"':
      text_append(page, "&quot;");
      break;
    case '\'':
      text_append(page, "&#39;");
      break;
    default:
      text_append_bytes(page, c, 1);
    }
  }
}

void html_text(struct text *page, const char *text) {
  struct error ignored;
  char *clean = printable_line(text, &ignored);
  page->failed = page->failed || !clean;
  escape(page, clean ? clean : "");
  free(clean);
}

void html_lines(struct text *page, const char *text) {
  struct error ignored;
  char *copy = memory_copy_text(text, &ignored);
  page->failed = page->failed || !copy;
  char *rest = copy;
  for (char *line = copy ? strsep(&rest, "\n") : NULL; line; line = strsep(&rest, "\n")) {
    html_text(page, line);
    text_append(page, rest ? "\n" : "");
  }
  free(copy);
}

static const char *class_of(const struct table_column *column) {
  return column->right ? "number" : column->wrap ? "prose" : "word";
}

static void append_head(struct text *page, const struct table *table) {
  text_append(page, "<thead><tr>");
  for (size_t i = 0; i < table->n_columns; i++) {
    text_printf(page, "<th class=\"%s\" scope=\"col\">", class_of(&table->columns[i]));
    html_text(page, table->columns[i].heading);
    text_append(page, "</th>");
  }
  text_append(page, "</tr></thead>\n");
}

static void append_row(struct text *page, const struct table *table, size_t row) {
  text_append(page, "<tr>");
  for (size_t i = 0; i < table->n_columns; i++) {
    text_printf(page, "<td class=\"%s\" data-heading=\"", class_of(&table->columns[i]));
    html_text(page, table->columns[i].heading);
    text_append(page, "\">");
    html_text(page, table->cells[row * table->n_columns + i].text);
    text_append(page, "</td>");
  }
  text_append(page, "</tr>\n");
}

void html_table(struct text *page, const struct table *table) {
  text_append(page, "<div class=\"table\"><table>\n");
  if (table->title) {
    text_append(page, "<caption>");
    html_text(page, table->title);
    text_append(page, "</caption>\n");
  }
  append_head(page, table);
  text_append(page, "<tbody>\n");
  for (size_t row = 0; row < table_rows(table); row++) {
    append_row(page, table, row);
  }
  text_append(page, "</tbody></table></div>\n");
  for (size_t i = 0; i < table->n_notes; i++) {
    text_append(page, "<p class=\"note\">");
    html_text(page, table->notes[i]);
    text_append(page, "</p>\n");
  }
}
