#include "config/reader.h"

#include "config/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_MAX_BYTES = 1 << 20 };

static const char *kind_of_file(mode_t mode) {
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
         : S_ISSOCK(mode) ? "a socket"
                          : "not a regular file";
}

/* False after a report. */
static bool check_status(struct reader *reader, const struct source *source, const struct stat *status) {
  if (!S_ISREG(status->st_mode)) {
    reader_report_at(reader, ERROR_CONFIG_UNREADABLE, source, 0, 0, "cannot be read: it is %s; a config is a file",
                     kind_of_file(status->st_mode));
    return false;
  }
  if (status->st_size > SOURCE_MAX_BYTES) {
    reader_report_at(reader, ERROR_CONFIG_LIMIT, source, 0, 0,
                     "is too large: %lld bytes, at most %d are read; keep tensors in files of their own",
                     (long long)status->st_size, SOURCE_MAX_BYTES);
    return false;
  }
  return true;
}

/* Bytes read into buffer[capacity], or -1. */
static ssize_t read_all(int file, char *buffer, size_t capacity) {
  size_t done = 0;
  while (done < capacity) {
    ssize_t got = read(file, buffer + done, capacity - done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return -1;
    }
    if (got == 0) {
      break;
    }
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static bool report_errno(struct reader *reader, const struct source *source) {
  reader_report_at(reader, ERROR_CONFIG_UNREADABLE, source, 0, 0, "cannot be read: %s", strerror(errno));
  return false;
}

static bool read_open_file(struct reader *reader, int file, struct source *source, const char **bytes) {
  struct stat status;
  if (fstat(file, &status)) {
    return report_errno(reader, source);
  }
  if (!check_status(reader, source, &status)) {
    return false;
  }
  /* One byte more than allowed, so that a file that grows or tells a wrong size is found out. */
  size_t capacity = status.st_size ? (size_t)status.st_size + 1 : SOURCE_MAX_BYTES + 1;
  char *buffer = arena_new(&reader->arena, capacity + 1);
  if (!buffer) {
    return false;
  }
  ssize_t length = read_all(file, buffer, capacity);
  if (length < 0) {
    return report_errno(reader, source);
  }
  if ((size_t)length == capacity) {
    reader_report_at(reader, ERROR_CONFIG_UNREADABLE, source, 0, 0, "changed while it was read");
    return false;
  }
  *bytes = buffer;
  source->text = buffer;
  source->length = (size_t)length;
  return true;
}

static void skip_mark(struct source *source) {
  if (source->length >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3)) {
    source->text += 3;
    source->length -= 3;
  }
}

void source_of_text(const char *place, const char *bytes, struct source *source) {
  *source = (struct source){.place = place, .text = bytes, .length = strlen(bytes)};
  skip_mark(source);
}

bool source_read(struct reader *reader, const char *path, struct source *source, const char **bytes) {
  *source = (struct source){.place = path, .text = ""};
  struct stat status;
  if (stat(path, &status)) {
    return report_errno(reader, source);
  }
  if (!check_status(reader, source, &status)) {
    return false;
  }
  /* The name may have become a FIFO since: O_NONBLOCK keeps open() from waiting for its writer. */
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) {
    return report_errno(reader, source);
  }
  bool whole = read_open_file(reader, file, source, bytes);
  close(file);
  skip_mark(source);
  return whole;
}

/* What YAML allows as a character. */
static bool is_printable(uint32_t point) {
  return point == '\t' || point == '\n' || point == '\r' || (point >= 0x20 && point <= 0x7e) || point == 0x85 ||
         (point >= 0xa0 && point <= 0xfffd && point != 0xfeff) || point >= 0x10000;
}

bool source_check(struct reader *reader, const struct source *source) {
  int line = 1, column = 1;
  for (size_t at = 0; at < source->length;) {
    const char *text = source->text + at;
    size_t left = source->length - at, length = utf8_length(text, left), newline = utf8_line_break(text, left);
    int shown = source->argument || source->is_fallback ? 0 : line;
    if (!length) {
      reader_report_at(reader, ERROR_CONFIG_ENCODING, source, shown, column,
                       "byte 0x%02x at offset %zu is not UTF-8; save the file as UTF-8", (unsigned char)text[0], at);
      return false;
    }
    uint32_t point = utf8_code_point(text, length);
    if (!is_printable(point)) {
      reader_report_at(reader, ERROR_CONFIG_ENCODING, source, shown, column,
                       "character U+%04X at offset %zu cannot stand in a config", (unsigned)point, at);
      return false;
    }
    if (newline) {
      at += newline;
      line++;
      column = 1;
    } else {
      at += length;
      column++;
    }
  }
  return true;
}
