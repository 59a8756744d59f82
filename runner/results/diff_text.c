#include "results/diff_text.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 4000 };

struct lines {
  char *copy; /* its line ends made NUL */
  char **items;
  size_t count;
};

static void lines_free(struct lines *lines) {
  free(lines->copy);
  free(lines->items);
}

static int lines_cut(struct lines *lines, const char *text, struct error *err) {
  *lines = (struct lines){.copy = memory_copy_text(text, err)};
  size_t most = 1;
  for (const char *c = text; *c; c++) {
    most += *c == '\n';
  }
  lines->items = lines->copy ? memory_new(most, sizeof(char *), "lines", err) : NULL;
  if (!lines->items) {
    lines_free(lines);
    return err->code;
  }
  char *rest = lines->copy;
  for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
    if (*line || rest) {
      lines->items[lines->count++] = line;
    }
  }
  return 0;
}

/* common[i * (b->count + 1) + j]: length of the longest common subsequence of lines i... of a and j... of b. */
static uint16_t *common_lengths(const struct lines *a, const struct lines *b, struct error *err) {
  size_t width = b->count + 1;
  uint16_t *common = memory_new((a->count + 1) * width, sizeof *common, "comparison of texts", err);
  for (size_t i = common ? a->count : 0; i-- > 0;) {
    for (size_t j = b->count; j-- > 0;) {
      uint16_t down = common[(i + 1) * width + j], right = common[i * width + j + 1];
      bool same = !strcmp(a->items[i], b->items[j]);
      uint16_t longest = down > right ? down : right;
      common[i * width + j] = same ? (uint16_t)(common[(i + 1) * width + j + 1] + 1) : longest;
    }
  }
  return common;
}

static int add_row(struct table *table, const char *where, const char *a, const char *b, struct error *err) {
  int failed = table_text(table, err, "%s", where);
  failed = failed ? failed : table_text(table, err, "%s", a);
  return failed ? failed : table_text(table, err, "%s", b);
}

/* The lines first_a ... last_a and first_b ... last_b were exchanged for each other. */
static int add_change(struct table *table, const char *where, char **a, size_t n_a, char **b, size_t n_b,
                      struct error *err) {
  int failed = 0;
  for (size_t i = 0; !failed && (i < n_a || i < n_b); i++) {
    failed = add_row(table, where, i < n_a ? a[i] : "", i < n_b ? b[i] : "", err);
  }
  return failed;
}

static int add_changes(struct table *table, const char *where, const struct lines *a, const struct lines *b,
                       const uint16_t *common, struct error *err) {
  size_t width = b->count + 1;
  size_t i = 0, j = 0;
  int failed = 0;
  while (!failed && (i < a->count || j < b->count)) {
    size_t from_a = i, from_b = j;
    while ((i < a->count || j < b->count) && !(i < a->count && j < b->count && !strcmp(a->items[i], b->items[j]))) {
      bool drop_a = j == b->count || (i < a->count && common[(i + 1) * width + j] >= common[i * width + j + 1]);
      i += drop_a;
      j += !drop_a;
    }
    failed = add_change(table, where, a->items + from_a, i - from_a, b->items + from_b, j - from_b, err);
    i += i < a->count;
    j += j < b->count;
  }
  return failed;
}

int diff_text(struct table *table, const char *where, const char *a, const char *b, struct error *err) {
  if (!strcmp(a, b)) {
    return 0;
  }
  struct lines lines_a, lines_b;
  if (lines_cut(&lines_a, a, err)) {
    return err->code;
  }
  if (lines_cut(&lines_b, b, err)) {
    lines_free(&lines_a);
    return err->code;
  }
  int failed = 0;
  if (lines_a.count > MOST_LINES || lines_b.count > MOST_LINES) {
    failed = add_row(table, where, "(differs)", "(differs)", err);
  } else {
    uint16_t *common = common_lengths(&lines_a, &lines_b, err);
    failed = common ? add_changes(table, where, &lines_a, &lines_b, common, err) : (int)err->code;
    free(common);
  }
  lines_free(&lines_a);
  lines_free(&lines_b);
  return failed;
}
