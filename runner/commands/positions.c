#include "commands/positions.h"

#include "base/memory.h"
#include "config/number.h"
#include "input/tensor_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Nobody asks for more on a command line; a step of 1e-9 by mistake is told, not run out of memory with. */
enum { MOST_POSITIONS = 1 << 28 };

/* `length` bytes of text as a number. */
static int read_number(const char *option, const char *text, size_t length, double *number, struct error *err) {
  char digits[64];
  struct number parsed;
  if (length < sizeof digits) {
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (number_parse(digits, &parsed) == NUMBER_OK) {
      *number = parsed.real;
      return 0;
    }
  }
  return error_set(err, ERROR_USAGE,
                   "%s: '%.*s' is not a number; positions are A:B[:STEP], a,b,c, FILE.h5:/dataset or FILE.npy", option,
                   (int)(length < 80 ? length : 80), text);
}

static int new_values(struct positions *out, size_t count, size_t axes, struct error *err) {
  double *values = memory_new_3d(count, axes, 1, sizeof *values, "positions", err);
  if (!values) {
    return err->code;
  }
  *out = (struct positions){count, axes, values};
  return 0;
}

static int read_range(const char *option, const char *text, struct positions *out, struct error *err) {
  double parts[3] = {0, 0, 1};
  size_t count = 0;
  const char *at = text;
  for (bool more = true; more; count++) {
    size_t length = strcspn(at, ":");
    if (count == 3) {
      return error_set(err, ERROR_USAGE, "%s: '%s' has more than three parts; a range is A:B or A:B:STEP", option,
                       text);
    }
    int status = read_number(option, at, length, &parts[count], err);
    if (status) {
      return status;
    }
    more = at[length] == ':';
    at += length + more;
  }
  double steps = parts[2] != 0 ? ceil((parts[1] - parts[0]) / parts[2]) : NAN;
  if (!(steps >= 1 && steps <= MOST_POSITIONS)) {
    return error_set(err, ERROR_USAGE, "%s: '%s' holds %s; A:B:STEP goes from A towards B, which is not included",
                     option, text, steps > MOST_POSITIONS ? "too many positions" : "no position");
  }
  int status = new_values(out, (size_t)steps, 1, err);
  for (size_t i = 0; !status && i < out->count; i++) {
    out->values[i] = parts[0] + (double)i * parts[2];
  }
  return status;
}

static int read_list(const char *option, const char *text, struct positions *out, struct error *err) {
  size_t count = 1;
  for (const char *at = text; *at; at++) {
    count += *at == ',';
  }
  int status = new_values(out, count, 1, err);
  for (size_t i = 0; !status && i < count; i++) {
    size_t length = strcspn(text, ",");
    status = read_number(option, text, length, &out->values[i], err);
    text += length + (text[length] == ',');
  }
  return status;
}

static int read_file(const char *option, const char *text, size_t axes, struct positions *out, struct error *err) {
  char *name = memory_copy_text(text, err);
  char *from = NULL;
  if (!name) {
    return err->code;
  }
  struct key_value value = {.given = true, .text = name};
  struct tensor_shape shape;
  double *values = NULL;
  int status = tensor_shape_of(&value, &shape, &from, err);
  bool fits = !status && (shape.rank == 2 ? shape.dim[1] == axes : shape.rank == 1 && axes == 1);
  if (!status && !fits) {
    char there[96];
    tensor_shape_text(&shape, there, sizeof there);
    status = axes == 1 ? error_set(err, ERROR_FILE_CONTENT, "%s: %s has shape %s, and positions have shape [T]", option,
                                   from, there)
                       : error_set(err, ERROR_FILE_CONTENT,
                                   "%s: %s has shape %s, and positions of this scheme have shape [T, %zu]", option,
                                   from, there, axes);
  }
  status = status ? status : tensor_doubles(&value, &shape, &values, err);
  if (!status) {
    *out = (struct positions){shape.dim[0], axes, values};
  }
  free(from);
  free(name);
  return status;
}

static bool names_a_file(const char *text) {
  size_t length = strlen(text);
  return strstr(text, ":/") || (length > 4 && !strcmp(text + length - 4, ".npy"));
}

int positions_read(const char *option, const char *text, size_t axes, struct positions *out, struct error *err) {
  *out = (struct positions){0};
  int status;
  if (names_a_file(text)) {
    status = read_file(option, text, axes, out, err);
  } else if (axes > 1) {
    status = error_set(err, ERROR_USAGE,
                       "%s: a position of this scheme has %zu coordinates: give FILE.h5:/dataset or FILE.npy of shape "
                       "[T, %zu]",
                       option, axes, axes);
  } else {
    status = strchr(text, ':') ? read_range(option, text, out, err) : read_list(option, text, out, err);
  }
  if (status) {
    free(out->values);
    *out = (struct positions){0};
  }
  return status;
}

double positions_length(const struct positions *positions) {
  double most = -1;
  for (size_t i = 0; i < positions->count * positions->axes; i++) {
    most = fmax(most, positions->values[i]);
  }
  return most + 1;
}
