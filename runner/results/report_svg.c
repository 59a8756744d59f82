#include "results/report_svg.h"

#include "base/text.h"
#include "results/report_html.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How gnuplot writes SVG_INK. */
static const char *const inks[] = {"rgb(  1,   2,   3)", "rgb(1,2,3)"};

static bool starts_with(const char *text, const char *start) {
  return !strncmp(text, start, strlen(start));
}

/* Skip an element without children: <title>...</title>. */
static const char *after_element(const char *svg, const char *closing) {
  const char *end = strstr(svg, closing);
  return end ? end + strlen(closing) : svg + strlen(svg);
}

struct rewriting {
  const char *name; /* prefix of ids; NULL: ids and colours stay */
};

/* One piece of markup inside < and >: copy a character or an exchanged piece; returns what follows. */
static const char *rewrite_inside(struct text *out, const char *svg, const struct rewriting *how) {
  for (size_t i = 0; how->name && i < sizeof inks / sizeof *inks; i++) {
    if (starts_with(svg, inks[i])) {
      text_append(out, "currentColor");
      return svg + strlen(inks[i]);
    }
  }
  /* gnuplot's groups set a colour of their own, which would be the current one; and thousands of them what is so
   * anyway. */
  static const char *const left_out[] = {" color=\"black\"", " color=\"white\"", " stroke-linecap=\"butt\"",
                                         " stroke-linejoin=\"miter\""};
  for (size_t i = 0; how->name && i < sizeof left_out / sizeof *left_out; i++) {
    if (starts_with(svg, left_out[i])) {
      return svg + strlen(left_out[i]);
    }
  }
  static const char *const references[] = {" id='", " id=\"", "href='#", "url(#"};
  for (size_t i = 0; how->name && i < sizeof references / sizeof *references; i++) {
    if (starts_with(svg, references[i])) {
      text_printf(out, "%s%s_", references[i], how->name);
      return svg + strlen(references[i]);
    }
  }
  text_append_bytes(out, svg, 1);
  return svg + 1;
}

/* What follows a group without anything in it, of which gnuplot writes many; `svg` where it is none. */
static const char *after_empty_group(const char *svg) {
  const char *close = starts_with(svg, "<g ") ? strchr(svg, '>') : NULL;
  const char *end = close ? close + 1 + strspn(close + 1, " \t\n") : svg;
  return close && starts_with(end, "</g>\n") ? end + strlen("</g>\n") : svg;
}

/* A colour box is 128 rectangles, each as a polygon with four points: write it in fewer letters. Returns what follows;
 * `svg` where it is none. */
static const char *after_rectangle(struct text *out, const char *svg) {
  unsigned red, green, blue;
  double x[4], y[4];
  int used = 0;
  bool whole = starts_with(svg, "<polygon ") &&
               sscanf(svg,
                      "<polygon fill = 'rgb(%3u, %3u, %3u)' points = '%20lf,%20lf %20lf,%20lf %20lf,%20lf %20lf,%20lf "
                      "'/>%n",
                      &red, &green, &blue, &x[0], &y[0], &x[1], &y[1], &x[2], &y[2], &x[3], &y[3], &used) == 11;
  if (!whole || !used || red > 255 || green > 255 || blue > 255 || x[0] != x[3] || x[1] != x[2] || y[0] != y[1] ||
      y[2] != y[3]) {
    return svg;
  }
  text_printf(out, "<path fill='#%02x%02x%02x' d='M%g,%gH%gV%gH%gz'/>", red, green, blue, x[0], y[0], x[1], y[2], x[0]);
  return svg + used;
}

/* From `svg`, which is `inside` a tag or not, to its end. Text between tags is copied; gnuplot has escaped it. */
static void rewrite(struct text *out, const char *svg, bool inside, const struct rewriting *how) {
  while (*svg) {
    const char *rectangle = !inside && how->name ? after_rectangle(out, svg) : svg;
    if (rectangle != svg) {
      svg = rectangle;
    } else if (!inside && starts_with(svg, "<title>")) {
      svg = after_element(svg, "</title>"); /* names of plots: not for people */
    } else if (!inside && starts_with(svg, "<desc>")) {
      svg = after_element(svg, "</desc>");
    } else if (!inside && how->name && starts_with(svg, "<filter ")) {
      svg = after_element(svg, "</filter>"); /* for boxes around labels, of which there are none */
    } else if (!inside && after_empty_group(svg) != svg) {
      svg = after_empty_group(svg);
    } else if (!inside && *svg == '<') {
      inside = true;
      text_append_bytes(out, svg++, 1);
    } else if (inside && *svg == '>') {
      inside = false;
      text_append_bytes(out, svg++, 1);
    } else if (inside) {
      svg = rewrite_inside(out, svg, how);
    } else if (*svg == '\t' && how->name) {
      svg++;
    } else {
      size_t length = strcspn(svg, how->name ? "<\t" : "<");
      text_append_bytes(out, svg, length);
      svg += length;
    }
  }
}

char *svg_inline(const char *svg, const char *name, const char *alternative, struct error *err) {
  const char *start = strstr(svg, "<svg");
  if (!start) {
    error_set(err, ERROR_FILE_CONTENT, "gnuplot gave no SVG for the picture '%s'", name);
    return NULL;
  }
  struct text out = {0};
  struct rewriting how = {.name = name};
  text_append(&out, "<svg role=\"img\" aria-label=\"");
  html_text(&out, alternative);
  text_append(&out, "\"");
  rewrite(&out, start + 4, true, &how);
  return text_take(&out, err);
}

char *svg_standalone(const char *svg, struct error *err) {
  struct text out = {0};
  struct rewriting how = {.name = NULL};
  rewrite(&out, svg, false, &how);
  return text_take(&out, err);
}
