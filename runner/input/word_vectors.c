#include "input/word_vectors.h"

#include "base/memory.h"
#include "input/regular_file.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A billion numbers as text, and more than any vector has. */
#define MOST_BYTES ((size_t)16 << 30)
enum { MOST_WIDTH = 1 << 16 };

struct reading {
  const char *path;
  locale_t c_locale;
  size_t line;
  struct word_vectors out;
  size_t vectors_capacity, words_capacity;
};

static size_t count_numbers(const char *line) {
  size_t spaces = 0;
  for (const char *c = line; *c; c++) {
    spaces += *c == ' ';
  }
  return spaces;
}

static int bad_line(const struct reading *reading, const char *what, struct error *err) {
  return error_set(err, ERROR_FILE_CONTENT, "%s:%zu: %s; needed is a word and its numbers, with single spaces between",
                   reading->path, reading->line, what);
}

static bool is_decimal(const char *number) {
  return number[0] && strspn(number, "0123456789+-.eE") == strlen(number);
}

/* Cut the next field off the line at its space. */
static char *next_field(char **rest) {
  char *field = *rest, *space = strchr(field, ' ');
  *rest = space ? space + 1 : field + strlen(field);
  if (space) {
    *space = '\0';
  }
  return field;
}

static int read_numbers(struct reading *reading, char *rest, float *row, struct error *err) {
  for (size_t i = 0; i < reading->out.width; i++) {
    char *number = next_field(&rest), *end = NULL;
    row[i] = is_decimal(number) ? strtof_l(number, &end, reading->c_locale) : 0;
    if (!end || *end || !isfinite(row[i])) {
      return error_set(err, ERROR_FILE_CONTENT, "%s:%zu: number %zu is '%.40s', which is no finite decimal number",
                       reading->path, reading->line, i + 1, number);
    }
  }
  return 0;
}

static int read_line(struct reading *reading, char *line, struct error *err) {
  struct word_vectors *out = &reading->out;
  size_t length = strlen(line), numbers;
  if (length && line[length - 1] == '\r') {
    line[--length] = '\0';
  }
  while (length && line[length - 1] == ' ') {
    line[--length] = '\0';
  }
  numbers = count_numbers(line);
  if (!numbers || line[0] == ' ') {
    return bad_line(reading, "is no line of word vectors", err);
  }
  if (!out->width) {
    out->width = numbers;
  }
  if (numbers > MOST_WIDTH) {
    return error_set(err, ERROR_FILE_CONTENT, "%s:%zu: has %zu numbers; at most %d are read", reading->path,
                     reading->line, numbers, MOST_WIDTH);
  }
  if (numbers != out->width) {
    return error_set(err, ERROR_FILE_CONTENT, "%s:%zu: numbers on this line: %zu, on the first: %zu", reading->path,
                     reading->line, numbers, out->width);
  }
  float *vectors = memory_grow(out->vectors, &reading->vectors_capacity, (out->count + 1) * out->width, sizeof *vectors,
                               "word vectors", err);
  out->vectors = vectors ? vectors : out->vectors;
  char **words =
      vectors ? memory_grow(out->words, &reading->words_capacity, out->count + 1, sizeof *words, "words", err) : NULL;
  out->words = words ? words : out->words;
  if (!words) {
    return err->code;
  }
  char *rest = line;
  words[out->count] = memory_copy_text(next_field(&rest), err);
  if (!words[out->count]) {
    return err->code;
  }
  float *row = vectors + out->count++ * out->width;
  return read_numbers(reading, rest, row, err);
}

static int read_lines(struct reading *reading, char *bytes, size_t count, struct error *err) {
  int status = 0;
  if (memchr(bytes, '\0', count)) {
    return error_set(err, ERROR_FILE_CONTENT, "%s: is not a text file of word vectors (it holds NUL bytes)",
                     reading->path);
  }
  for (char *line = bytes; !status && line < bytes + count;) {
    char *end = strchr(line, '\n');
    end = end ? end : bytes + count;
    *end = '\0';
    reading->line++;
    status = read_line(reading, line, err);
    line = end + 1;
  }
  if (!status && !reading->out.count) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s: is empty", reading->path);
  }
  return status;
}

static void drop(struct word_vectors *vectors) {
  for (size_t i = 0; i < vectors->count; i++) {
    free(vectors->words[i]);
  }
  free(vectors->words);
  free(vectors->vectors);
}

int word_vectors_read(const char *path, struct word_vectors *vectors, struct error *err) {
  struct reading reading = {.path = path};
  size_t count = 0;
  char *bytes = regular_file_bytes(path, "a file of word vectors", MOST_BYTES, &count, err);
  if (!bytes) {
    return err->code;
  }
  reading.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  int status = reading.c_locale ? read_lines(&reading, bytes, count, err)
                                : error_set(err, ERROR_MEMORY, "no memory for the C locale");
  if (reading.c_locale) {
    freelocale(reading.c_locale);
  }
  free(bytes);
  if (status) {
    drop(&reading.out);
    return status;
  }
  *vectors = reading.out;
  return 0;
}
