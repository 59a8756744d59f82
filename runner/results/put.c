#include "base/memory.h"
#include "results/results.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_NAME = 256, TEMPORARY_TRIES = 1000 };

/* Where a file goes: its folder, opened, and its name in there. */
struct place {
  char *path;       /* links followed */
  const char *name; /* within path */
  int folder;
};

static int cannot_write(const char *path, const char *what, int number, struct error *err) {
  return error_set(err, ERROR_FILE_WRITE, "'%s' cannot be written: %s: %s", path, what, strerror(number));
}

/* Make every missing folder on the way to the last component of `path`, which is restored afterwards. */
static int make_folders(char *path, struct error *err) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool failed = mkdir(path, 0777) && errno != EEXIST;
    int number = errno;
    if (failed) {
      error_set(err, ERROR_FILE_WRITE, "the folder '%s' cannot be made: %s", path, strerror(number));
    }
    *slash = '/';
    if (failed) {
      return err->code;
    }
  }
  return 0;
}

/* A link is followed, so that the file that it names is replaced and not the link. What is there must be a regular
 * file that we may write: a rename would replace even a device or a file that its owner protects. */
static int look_at_target(struct place *place, const char *path, struct error *err) {
  struct stat there;
  if (lstat(place->path, &there)) {
    return errno == ENOENT ? 0 : cannot_write(path, "looking at it", errno, err);
  }
  if (S_ISLNK(there.st_mode)) {
    char *followed = realpath(place->path, NULL);
    if (!followed) {
      return cannot_write(path, "following the link", errno, err);
    }
    free(place->path);
    place->path = followed;
    if (stat(place->path, &there)) {
      return cannot_write(path, "looking at it", errno, err);
    }
  }
  if (S_ISDIR(there.st_mode)) {
    return error_set(err, ERROR_FILE_WRITE, "'%s' cannot be written: it is a folder", path);
  }
  if (!S_ISREG(there.st_mode)) {
    return error_set(err, ERROR_FILE_WRITE, "'%s' cannot be written: it is not a regular file", path);
  }
  return faccessat(AT_FDCWD, place->path, W_OK, AT_EACCESS) ? cannot_write(path, "it is protected", errno, err) : 0;
}

static void place_close(struct place *place) {
  if (place->folder >= 0) {
    close(place->folder);
  }
  free(place->path);
}

static int place_open(struct place *place, const char *path, struct error *err) {
  *place = (struct place){.folder = -1};
  size_t length = strlen(path);
  if (!length || path[length - 1] == '/') {
    return error_set(err, ERROR_FILE_WRITE, "'%s' cannot be written: it names no file", path);
  }
  place->path = memory_copy_text(path, err);
  if (!place->path || make_folders(place->path, err) || look_at_target(place, path, err)) {
    place_close(place);
    return err->code;
  }
  char *slash = strrchr(place->path, '/');
  place->name = slash ? slash + 1 : place->path;
  if (!slash) {
    place->folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } else if (slash == place->path) {
    place->folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  } else {
    *slash = '\0';
    place->folder = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
  }
  if (place->folder < 0) {
    int number = errno;
    place_close(place);
    return cannot_write(path, "opening its folder", number, err);
  }
  return 0;
}

/* A new file beside the target, named .<name>.<process>.<try>.tmp. One left by a crash is another's to remove. */
static int open_temporary(const struct place *place, char *name) {
  int file = -1;
  for (int attempt = 0; attempt < TEMPORARY_TRIES; attempt++) {
    snprintf(name, TEMPORARY_NAME, ".%.200s.%ld.%d.tmp", place->name, (long)getpid(), attempt);
    file = openat(place->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0 || errno != EEXIST) {
      return file;
    }
  }
  return file;
}

static int write_all(int file, const void *bytes, size_t count) {
  const char *next = bytes;
  while (count) {
    ssize_t written = write(file, next, count);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return -1;
    }
    if (written == 0) {
      errno = ENOSPC;
      return -1;
    }
    next += written;
    count -= (size_t)written;
  }
  return 0;
}

/* Some file systems cannot sync a folder and say so by EINVAL: nothing more can be done there. */
static int sync_folder(int folder) {
  return fsync(folder) && errno != EINVAL ? -1 : 0;
}

/* What is to be put in place, and who judges it before. */
struct content {
  const void *head; /* stands before the bytes */
  size_t head_count;
  const void *bytes;
  size_t count;
  results_check check; /* may be NULL */
  void *context;
};

/* 0, or the check's error: what it says of the temporary file is said of the place where it was to go. */
static int judge(const struct place *place, const char *path, const char *temporary, const struct content *content,
                 struct error *err) {
  char whole[PATH_MAX];
  if (!content->check) {
    return 0;
  }
  int folder = (int)(place->name - place->path);
  int length = snprintf(whole, sizeof whole, "%.*s%s", folder, place->path, temporary);
  if (length < 0 || (size_t)length >= sizeof whole) {
    return cannot_write(path, "reading it again", ENAMETOOLONG, err);
  }
  struct error reason;
  if (content->check(content->context, whole, &reason)) {
    return error_set(err, reason.code == ERROR_MEMORY ? ERROR_MEMORY : ERROR_FILE_WRITE,
                     "'%s' cannot be written: reading it again: %.700s", path, reason.text);
  }
  return 0;
}

static int put_into(const struct place *place, const char *path, const struct content *content, struct error *err) {
  char temporary[TEMPORARY_NAME];
  int file = open_temporary(place, temporary);
  if (file < 0) {
    return cannot_write(path, "making a file beside it", errno, err);
  }
  const char *what = "writing";
  bool failed =
      write_all(file, content->head, content->head_count) != 0 || write_all(file, content->bytes, content->count) != 0;
  if (!failed) {
    what = "writing through to the disk";
    failed = fsync(file) != 0;
  }
  int number = errno;
  if (close(file) && !failed) {
    what = "closing";
    failed = true;
    number = errno;
  }
  if (!failed && judge(place, path, temporary, content, err)) {
    unlinkat(place->folder, temporary, 0);
    return err->code;
  }
  if (!failed && renameat(place->folder, temporary, place->folder, place->name)) {
    what = "putting it in place";
    failed = true;
    number = errno;
  }
  if (failed) {
    unlinkat(place->folder, temporary, 0);
    return cannot_write(path, what, number, err);
  }
  if (sync_folder(place->folder)) {
    return error_set(err, ERROR_FILE_WRITE, "'%s' is written, but its folder cannot be written through to the disk: %s",
                     path, strerror(errno));
  }
  return 0;
}

static int put(const char *path, const struct content *content, struct error *err) {
  struct place place;
  if (place_open(&place, path, err)) {
    return err->code;
  }
  int failed = put_into(&place, path, content, err);
  place_close(&place);
  return failed;
}

int results_put(const char *path, const void *bytes, size_t count, struct error *err) {
  return put(path, &(struct content){.bytes = bytes, .count = count}, err);
}

int results_put_headed(const char *path, const void *head, size_t head_count, const void *bytes, size_t count,
                       struct error *err) {
  return put(path, &(struct content){head, head_count, bytes, count, NULL, NULL}, err);
}

int results_put_checked(const char *path, const void *bytes, size_t count, results_check check, void *context,
                        struct error *err) {
  return put(path, &(struct content){NULL, 0, bytes, count, check, context}, err);
}

int results_prepare(const char *path, struct error *err) {
  struct place place;
  if (place_open(&place, path, err)) {
    return err->code;
  }
  char temporary[TEMPORARY_NAME];
  int file = open_temporary(&place, temporary);
  int failed = file < 0 ? cannot_write(path, "making a file beside it", errno, err) : 0;
  if (file >= 0) {
    close(file);
    unlinkat(place.folder, temporary, 0);
  }
  place_close(&place);
  return failed;
}
