#include "input/npy.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/regular_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAGIC = 6, MOST_HEADER = 1 << 16, CONVERT_AT_ONCE = 1 << 16 };

static const unsigned char magic[MAGIC] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* An open file on its way to an array. */
struct reading {
  const char *path;
  int file;
  size_t bytes; /* of the file */
  size_t start; /* of the values */
  char kind;    /* 'f', 'i' or 'u' */
  size_t width; /* bytes of a value */
  bool fortran;
  bool has_type, has_order, has_shape;
  struct npy_array *array;
};

/* What is left of the header's text. */
struct cursor {
  const char *at, *end;
};

static void skip_spaces(struct cursor *cursor) {
  while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n' || *cursor->at == '\t')) {
    cursor->at++;
  }
}

/* Take `c` where it is next. */
static bool take(struct cursor *cursor, char c) {
  skip_spaces(cursor);
  if (cursor->at == cursor->end || *cursor->at != c) {
    return false;
  }
  cursor->at++;
  return true;
}

static bool take_word(struct cursor *cursor, const char *word) {
  skip_spaces(cursor);
  size_t length = strlen(word);
  if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0) {
    return false;
  }
  cursor->at += length;
  return true;
}

/* A quoted text without escapes. */
static bool take_quoted(struct cursor *cursor, char *text, size_t size) {
  char quote = take(cursor, '\'') ? '\'' : take(cursor, '"') ? '"' : '\0';
  const char *end = quote ? memchr(cursor->at, quote, (size_t)(cursor->end - cursor->at)) : NULL;
  if (!end || (size_t)(end - cursor->at) >= size) {
    return false;
  }
  memcpy(text, cursor->at, (size_t)(end - cursor->at));
  text[end - cursor->at] = '\0';
  cursor->at = end + 1;
  return true;
}

static bool take_length(struct cursor *cursor, size_t *length) {
  skip_spaces(cursor);
  const char *start = cursor->at;
  for (*length = 0; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
    if (__builtin_mul_overflow(*length, (size_t)10, length) ||
        __builtin_add_overflow(*length, (size_t)(*cursor->at - '0'), length)) {
      return false;
    }
  }
  bool any = cursor->at > start;
  (void)take(cursor, 'L'); /* written by Python 2 */
  return any;
}

static int bad_header(const struct reading *reading, struct error *err) {
  return error_set(err, ERROR_FILE_CONTENT, "%s: the header is not that of a .npy file", reading->path);
}

static int take_type(struct reading *reading, struct cursor *cursor, struct error *err) {
  char type[16];
  if (take(cursor, '[')) {
    return error_set(err, ERROR_FILE_CONTENT,
                     "%s: holds structured records; needed are float16, float32, float64 or integers", reading->path);
  }
  if (!take_quoted(cursor, type, sizeof type)) {
    return bad_header(reading, err);
  }
  if (strchr(type, 'O')) {
    return error_set(err, ERROR_FILE_REFUSED, "%s: holds Python objects (%s), which are never loaded", reading->path,
                     type);
  }
  if (type[0] == '>') {
    return error_set(err, ERROR_FILE_CONTENT, "%s: holds big-endian values (%s); needed are little-endian ones",
                     reading->path, type);
  }
  static const char *const known[] = {"<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!strcmp(type, known[i])) {
      reading->kind = type[1];
      reading->width = (size_t)(type[2] - '0');
      return 0;
    }
  }
  return error_set(err, ERROR_FILE_CONTENT,
                   "%s: holds values of type %s; needed are float16, float32, float64 or "
                   "integers",
                   reading->path, type);
}

static int take_shape(struct reading *reading, struct cursor *cursor, struct error *err) {
  struct npy_array *array = reading->array;
  if (!take(cursor, '(')) {
    return bad_header(reading, err);
  }
  while (!take(cursor, ')')) {
    if (array->rank == NPY_MAX_RANK) {
      return error_set(err, ERROR_FILE_CONTENT, "%s: has more than %d axes", reading->path, NPY_MAX_RANK);
    }
    if (!take_length(cursor, &array->dim[array->rank++])) {
      return bad_header(reading, err);
    }
    /* A comma must stand between lengths, and may stand behind the last. */
    if (!take(cursor, ',')) {
      if (!take(cursor, ')')) {
        return bad_header(reading, err);
      }
      return 0;
    }
  }
  return 0;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } in any order, each key once. */
static int parse_header(struct reading *reading, struct cursor cursor, struct error *err) {
  if (!take(&cursor, '{')) {
    return bad_header(reading, err);
  }
  while (!take(&cursor, '}')) {
    char key[32];
    int status = 0;
    if (!take_quoted(&cursor, key, sizeof key) || !take(&cursor, ':')) {
      return bad_header(reading, err);
    }
    bool *seen = !strcmp(key, "descr")           ? &reading->has_type
                 : !strcmp(key, "fortran_order") ? &reading->has_order
                 : !strcmp(key, "shape")         ? &reading->has_shape
                                                 : NULL;
    if (!seen || *seen) {
      return bad_header(reading, err);
    }
    *seen = true;
    if (seen == &reading->has_type) {
      status = take_type(reading, &cursor, err);
    } else if (seen == &reading->has_shape) {
      status = take_shape(reading, &cursor, err);
    } else {
      reading->fortran = take_word(&cursor, "True");
      status = reading->fortran || take_word(&cursor, "False") ? 0 : bad_header(reading, err);
    }
    if (status) {
      return status;
    }
    (void)take(&cursor, ',');
  }
  skip_spaces(&cursor);
  bool whole = reading->has_type && reading->has_order && reading->has_shape && cursor.at == cursor.end;
  return whole ? 0 : bad_header(reading, err);
}

static int read_header(struct reading *reading, struct error *err) {
  unsigned char start[MAGIC + 6];
  if (reading->bytes < sizeof start) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is not a .npy file", reading->path);
  }
  int status = regular_file_read(reading->file, reading->path, 0, start, sizeof start, err);
  if (status) {
    return status;
  }
  if (memcmp(start, magic, MAGIC) != 0) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is not a .npy file", reading->path);
  }
  unsigned version = start[MAGIC];
  if (version < 1 || version > 3) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is a .npy file of version %u.%u; versions 1 to 3 are read",
                     reading->path, version, start[MAGIC + 1]);
  }
  size_t field = version == 1 ? 2 : 4, length = 0;
  for (size_t i = field; i-- > 0;) {
    length = length << 8 | start[MAGIC + 2 + i];
  }
  reading->start = MAGIC + 2 + field + length;
  if (length > MOST_HEADER || reading->start > reading->bytes) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: declares a header of %zu bytes in a file of %zu", reading->path,
                     length, reading->bytes);
  }
  char *header = memory_new(length + 1, 1, reading->path, err);
  if (!header) {
    return err->code;
  }
  status = regular_file_read(reading->file, reading->path, MAGIC + 2 + field, header, length, err);
  status = status ? status : parse_header(reading, (struct cursor){header, header + length}, err);
  free(header);
  return status;
}

static int check_size(struct reading *reading, struct error *err) {
  struct npy_array *array = reading->array;
  size_t bytes = 0, there = reading->bytes - reading->start;
  bool fits = true;
  array->count = 1;
  for (unsigned axis = 0; axis < array->rank; axis++) {
    fits = fits && !__builtin_mul_overflow(array->count, array->dim[axis], &array->count);
  }
  fits = fits && !__builtin_mul_overflow(array->count, reading->width, &bytes) && bytes == there;
  if (fits && array->count) {
    return 0;
  }
  struct text shape = {0};
  for (unsigned axis = 0; axis < array->rank; axis++) {
    text_printf(&shape, "%s%zu", axis ? ", " : "", array->dim[axis]);
  }
  int status = shape.failed ? error_set(err, ERROR_MEMORY, "no memory for a message")
               : !array->count && fits
                   ? error_set(err, ERROR_FILE_CONTENT, "%s: declares the shape [%s], which is empty", reading->path,
                               shape.data ? shape.data : "")
                   : error_set(err, ERROR_FILE_CONTENT,
                               "%s: declares the shape [%s] with values of %zu bytes, but %zu bytes of values follow",
                               reading->path, shape.data ? shape.data : "", reading->width, there);
  text_free(&shape);
  return status;
}

static double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent     ? ldexp(1024 + fraction, exponent - 25)
                               : ldexp(fraction, -24);
  return bits & 0x8000 ? -size : size;
}

static double value_at(const struct reading *reading, const unsigned char *bytes) {
  uint64_t bits = 0;
  for (size_t i = reading->width; i-- > 0;) {
    bits = bits << 8 | bytes[i];
  }
  if (reading->kind == 'u') {
    return (double)bits;
  }
  if (reading->kind == 'i') {
    uint64_t sign = (uint64_t)1 << (8 * reading->width - 1);
    return bits & sign ? -(double)(sign - (bits ^ sign)) : (double)bits;
  }
  if (reading->width == 2) {
    return half_value((uint16_t)bits);
  }
  if (reading->width == 4) {
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
  }
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Where value `i` of a file in Fortran order (first index fastest) stands in C order. */
static size_t c_order(const struct npy_array *array, size_t i) {
  size_t out = 0, stride = array->count;
  for (unsigned axis = 0; axis < array->rank; axis++) {
    stride /= array->dim[axis];
    out += i % array->dim[axis] * stride;
    i /= array->dim[axis];
  }
  return out;
}

/* Store value `i` of the file's order at its place; false where it is not finite in the type asked for. */
static bool store(struct reading *reading, size_t first, size_t i, double value) {
  struct npy_array *array = reading->array;
  size_t place = (reading->fortran ? c_order(array, i) : i) - first;
  if (array->doubles) {
    array->doubles[place] = value;
    return isfinite(value);
  }
  array->data[place] = (float)value;
  return isfinite(array->data[place]);
}

/* Values first .. first + count - 1 of the file's order, into an array that starts with the first one. */
static int read_values(struct reading *reading, size_t first, size_t count, struct error *err) {
  unsigned char *bytes = memory_new(CONVERT_AT_ONCE, reading->width, reading->path, err);
  int status = bytes ? 0 : (int)err->code;
  for (size_t done = 0; !status && done < count; done += CONVERT_AT_ONCE) {
    size_t n = count - done < CONVERT_AT_ONCE ? count - done : CONVERT_AT_ONCE;
    status = regular_file_read(reading->file, reading->path, reading->start + (first + done) * reading->width, bytes,
                               n * reading->width, err);
    for (size_t i = 0; !status && i < n; i++) {
      if (!store(reading, first, first + done + i, value_at(reading, bytes + i * reading->width))) {
        status = error_set(err, ERROR_FILE_CONTENT, "%s: value %zu is not a finite %s number", reading->path,
                           first + done + i, reading->array->doubles ? "float64" : "float32");
      }
    }
  }
  free(bytes);
  return status;
}

static int read_whole(struct reading *reading, bool doubles, struct error *err) {
  struct npy_array *array = reading->array;
  if (doubles) {
    array->doubles = memory_new(array->count, sizeof *array->doubles, reading->path, err);
  } else {
    array->data = memory_new(array->count, sizeof *array->data, reading->path, err);
  }
  return array->doubles || array->data ? read_values(reading, 0, array->count, err) : (int)err->code;
}

static int read_entry(struct reading *reading, size_t index, struct error *err) {
  struct npy_array *array = reading->array;
  if (!array->rank || index >= array->dim[0]) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: has %zu entries on its first axis; entry %zu is asked for",
                     reading->path, array->rank ? array->dim[0] : (size_t)0, index);
  }
  size_t count = array->count / array->dim[0];
  if (!reading->fortran) {
    array->data = memory_new(count, sizeof *array->data, reading->path, err);
    return array->data ? read_values(reading, index * count, count, err) : (int)err->code;
  }
  /* In Fortran order the entries of the first axis lie interleaved. */
  int status = read_whole(reading, false, err);
  if (!status) {
    memmove(array->data, array->data + index * count, count * sizeof *array->data);
  }
  return status;
}

enum part { SHAPE, WHOLE, WHOLE_IN_DOUBLES, ENTRY };

static int read_part(const char *path, enum part part, size_t index, struct npy_array *array, struct error *err) {
  struct npy_array read = {0};
  struct reading reading = {.path = path, .array = &read};
  reading.file = regular_file_open(path, "a .npy file", &reading.bytes, err);
  if (reading.file < 0) {
    return err->code;
  }
  int status = read_header(&reading, err);
  status = status ? status : check_size(&reading, err);
  if (!status && part != SHAPE) {
    status = part == ENTRY ? read_entry(&reading, index, err) : read_whole(&reading, part == WHOLE_IN_DOUBLES, err);
  }
  close(reading.file);
  if (status) {
    free(read.data);
    free(read.doubles);
    return status;
  }
  *array = read;
  return 0;
}

int npy_read(const char *path, struct npy_array *array, struct error *err) {
  return read_part(path, WHOLE, 0, array, err);
}

int npy_read_doubles(const char *path, struct npy_array *array, struct error *err) {
  return read_part(path, WHOLE_IN_DOUBLES, 0, array, err);
}

int npy_read_entry(const char *path, size_t index, struct npy_array *array, struct error *err) {
  return read_part(path, ENTRY, index, array, err);
}

int npy_shape(const char *path, struct npy_array *array, struct error *err) {
  return read_part(path, SHAPE, 0, array, err);
}

unsigned char *npy_head(unsigned rank, const size_t *dim, size_t *size, struct error *err) {
  struct text header = {0};
  text_append(&header, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  for (unsigned axis = 0; axis < rank; axis++) {
    text_printf(&header, "%zu%s", dim[axis], rank == 1 ? "," : axis + 1 < rank ? ", " : "");
  }
  text_append(&header, "), }");
  /* Values start at a multiple of 64, behind spaces and a line feed. */
  while (!header.failed && (MAGIC + 4 + header.length + 1) % 64) {
    text_append(&header, " ");
  }
  text_append(&header, "\n");
  unsigned char *bytes = NULL;
  if (header.failed) {
    error_set(err, ERROR_MEMORY, "no memory for the header of a .npy file");
  } else {
    bytes = memory_new(MAGIC + 4 + header.length, 1, "the header of a .npy file", err);
  }
  if (bytes) {
    memcpy(bytes, magic, MAGIC);
    bytes[MAGIC] = 1;
    bytes[MAGIC + 2] = (unsigned char)(header.length & 255);
    bytes[MAGIC + 3] = (unsigned char)(header.length >> 8);
    memcpy(bytes + MAGIC + 4, header.data, header.length);
    *size = MAGIC + 4 + header.length;
  }
  text_free(&header);
  return bytes;
}
