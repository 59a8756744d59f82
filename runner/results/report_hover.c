#include "results/report_hover.h"

#include "base/memory.h"
#include "results/printable.h"

#include <math.h>
#include <nettle/base64.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A JSON string: one line of clean UTF-8 with quotes and backslashes escaped. */
static void append_string(struct text *out, const char *label, const char *text) {
  struct error ignored;
  char *line = printable_line(label, &ignored);
  out->failed = out->failed || !line;
  text_append(out, "\"");
  for (const char *c = line ? line : ""; *c; c++) {
    text_append(out, *c == '"' || *c == '\\' ? "\\" : "");
    text_append_bytes(out, c, 1);
  }
  text_append(out, text);
  text_append(out, "\"");
  free(line);
}

void hover_panel(struct hover *hover, double left, double top, double width, double height, struct hover_axis x,
                 struct hover_axis y) {
  if (hover) {
    text_printf(&hover->panels, "%s[%.1f,%.1f,%.1f,%.1f,%.6g,%.6g,%d,%.6g,%.6g,%d,%zu]", hover->n_panels++ ? "," : "",
                left, top, width, height, x.from, x.to, x.logarithmic, y.from, y.to, y.logarithmic, hover->n_items);
  }
}

/* The end of a curve that is open. */
static void close_item(struct hover *hover) {
  if (hover->n_items && !hover->places_only) {
    text_append(&hover->items, "]}");
  }
}

static void open_item(struct hover *hover, const char *label, const char *says) {
  close_item(hover);
  if (!hover->places_only) {
    text_append(&hover->items, hover->n_items ? ",{\"s\":" : "{\"s\":");
    append_string(&hover->items, label, says);
  }
  hover->n_items++;
  hover->n_points = 0;
}

void hover_curve(struct hover *hover, const char *label, const char *says, enum hover_kind kind) {
  static const char *const opened[] = {",\"w\":3,\"p\":[", ",\"w\":5,\"p\":[", ",\"far\":1,\"w\":3,\"p\":["};
  if (hover) {
    open_item(hover, label, says);
    text_append(&hover->items, hover->places_only ? "" : opened[kind]);
  }
}

void hover_point(struct hover *hover, double x, double y, double value) {
  if (hover && !hover->places_only && isfinite(x) && isfinite(y) && isfinite(value)) {
    text_printf(&hover->items, "%s%.6g,%.5g,%.5g", hover->n_points++ ? "," : "", x, y, value);
  }
}

void hover_interval(struct hover *hover, double x, double y, double low, double high) {
  if (hover && !hover->places_only && isfinite(x) && isfinite(y)) {
    text_printf(&hover->items, "%s%.6g,%.5g,%.5g", hover->n_points++ ? "," : "", x, y, y);
    for (int i = 0; i < 2; i++) {
      double end = i ? high : low;
      text_printf(&hover->items, isfinite(end) ? ",%.5g" : ",null", end);
    }
  }
}

int hover_names(struct hover *hover) {
  if (!hover) {
    return HOVER_NUMBERS;
  }
  if (!hover->places_only) {
    text_append(&hover->names, hover->n_names ? "],[" : "[");
  }
  hover->n_points = 0;
  return (int)hover->n_names++;
}

void hover_name(struct hover *hover, const char *name) {
  if (hover && !hover->places_only) {
    text_append(&hover->names, hover->n_points++ ? "," : "");
    append_string(&hover->names, name, "");
  }
}

/* The upper 24 bits of float32, rounded, in base64: four letters a value. */
static void append_values(struct text *out, const double *values, size_t count) {
  enum { AT_ONCE = 256 };
  uint8_t bytes[3 * AT_ONCE];
  char letters[BASE64_ENCODE_RAW_LENGTH(sizeof bytes)];
  for (size_t start = 0; start < count; start += AT_ONCE) {
    size_t n = count - start < AT_ONCE ? count - start : AT_ONCE;
    for (size_t i = 0; i < n; i++) {
      float value = (float)values[start + i];
      uint32_t bits = 0x7fc00000; /* not a number */
      if (isfinite(value)) {
        memcpy(&bits, &value, sizeof bits);
        bits += 0x80;
      }
      bytes[3 * i] = (uint8_t)(bits >> 24);
      bytes[3 * i + 1] = (uint8_t)(bits >> 16);
      bytes[3 * i + 2] = (uint8_t)(bits >> 8);
    }
    base64_encode_raw(letters, 3 * n, bytes);
    text_append_bytes(out, letters, 4 * n);
  }
}

void hover_grid(struct hover *hover, const char *label, const char *says, struct hover_side rows,
                struct hover_side columns, const double *values) {
  if (!hover) {
    return;
  }
  open_item(hover, label, says);
  if (!hover->places_only) {
    text_append(&hover->items, ",\"v\":\"");
    append_values(&hover->items, values, rows.count * columns.count);
    text_printf(&hover->items, "\",\"g\":[%zu,%.9g,%.9g,%d,%zu,%.9g,%.9g,%d", rows.count, rows.first, rows.step,
                rows.names, columns.count, columns.first, columns.step, columns.names);
  }
}

char *hover_values(struct hover *hover, struct error *err) {
  struct text out = {0};
  close_item(hover);
  text_append(&out, "{\"names\":[");
  text_append(&out, hover->names.data ? hover->names.data : "");
  text_append(&out, hover->n_names ? "]],\"items\":[" : "],\"items\":[");
  text_append(&out, hover->items.data ? hover->items.data : "");
  text_append(&out, "]}");
  out.failed = out.failed || hover->names.failed || hover->items.failed;
  return text_take(&out, err);
}

char *hover_places(struct hover *hover, struct error *err) {
  struct text out = {0};
  text_append(&out, "[");
  text_append(&out, hover->panels.data ? hover->panels.data : "");
  text_append(&out, "]");
  out.failed = out.failed || hover->panels.failed;
  return text_take(&out, err);
}

void hover_free(struct hover *hover) {
  text_free(&hover->names);
  text_free(&hover->items);
  text_free(&hover->panels);
  *hover = (struct hover){0};
}
