#include "input/regular_file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of_file(mode_t mode) {
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISCHR(mode)  ? "a character device"
         : S_ISBLK(mode)  ? "a block device"
         : S_ISSOCK(mode) ? "a socket"
                          : "no regular file";
}

int regular_file_open(const char *path, const char *wanted, size_t *size, struct error *err) {
  /* O_NONBLOCK: opening a FIFO must not wait for a writer. It has no effect on regular files. */
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) {
    error_set(err, ERROR_FILE_READ, "%s: cannot be opened: %s", path, strerror(errno));
    return -1;
  }
  struct stat about;
  if (fstat(file, &about)) {
    error_set(err, ERROR_FILE_READ, "%s: cannot be opened: %s", path, strerror(errno));
    close(file);
    return -1;
  }
  if (!S_ISREG(about.st_mode)) {
    error_set(err, ERROR_FILE_REFUSED, "%s: is %s; needed is %s", path, kind_of_file(about.st_mode), wanted);
    close(file);
    return -1;
  }
  *size = (size_t)about.st_size;
  return file;
}

int regular_file_read(int file, const char *path, size_t offset, void *bytes, size_t count, struct error *err) {
  size_t done = 0;
  while (done < count) {
    ssize_t got = pread(file, (char *)bytes + done, count - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return error_set(err, ERROR_FILE_READ, "%s: cannot be read: %s", path, strerror(errno));
    }
    if (!got) {
      return error_set(err, ERROR_FILE_READ, "%s: ends at byte %zu, in the middle of what was to be read", path,
                       offset + done);
    }
    done += (size_t)got;
  }
  return 0;
}

char *regular_file_bytes(const char *path, const char *wanted, size_t limit, size_t *count, struct error *err) {
  int file = regular_file_open(path, wanted, count, err);
  if (file < 0) {
    return NULL;
  }
  char *bytes = NULL;
  if (*count > limit) {
    error_set(err, ERROR_FILE_REFUSED, "%s: has %zu bytes; at most %zu are read", path, *count, limit);
  } else {
    bytes = memory_new(*count + 1, 1, path, err);
    if (bytes && regular_file_read(file, path, 0, bytes, *count, err)) {
      free(bytes);
      bytes = NULL;
    }
  }
  close(file);
  return bytes;
}

bool regular_file_same(const char *a, const char *b) {
  struct stat one, other;
  return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}
