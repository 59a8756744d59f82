#include "jobs/parts_folder.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_TRIES = 100 };

static char *join_path(const char *folder, const char *name, struct error *err) {
  struct text text = {0};
  text_printf(&text, "%s/%s", folder, name);
  return text_take(&text, err);
}

/* ---- the lock ---- */

/* Whether the open file is still the one of that name: who had the lock before may have removed it. */
static bool is_current(int file, const char *path) {
  struct stat held, there;
  return fstat(file, &held) == 0 && stat(path, &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

static int busy(const char *output, int file, struct error *err) {
  char holder[80] = "";
  ssize_t got = pread(file, holder, sizeof holder - 1, 0);
  holder[got > 0 ? got : 0] = '\0';
  holder[strcspn(holder, "\n")] = '\0';
  return error_set(err, ERROR_BUSY,
                   "'%s' is being written by another pe-run%s%s%s: wait for it, or choose another output", output,
                   holder[0] ? " (" : "", holder, holder[0] ? ")" : "");
}

/* Say who has it, for those who find it taken. Nothing depends on it. */
static void sign(int file) {
  char host[64] = "", line[100];
  gethostname(host, sizeof host - 1);
  int length = snprintf(line, sizeof line, "process %ld on %.50s\n", (long)getpid(), host);
  if (ftruncate(file, 0) == 0) {
    ssize_t ignored = pwrite(file, line, (size_t)length, 0);
    (void)ignored;
  }
}

/* Take a lock of the folder. *file = -1 and *unlocked where the file system has none. */
static int take_lock(const struct parts_folder *folder, const char *name, int operation, int *file, bool *unlocked,
                     struct error *err) {
  char *path = join_path(folder->path, name, err);
  if (!path) {
    return err->code;
  }
  int status = ERROR_BUSY;
  *file = -1;
  for (int i = 0; i < LOCK_TRIES && *file < 0; i++) {
    *file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*file < 0 && errno == ENOENT && mkdir(folder->path, 0777) == 0) {
      continue; /* who had it removed the folder */
    }
    if (*file < 0) {
      status = error_set(err, ERROR_FILE_WRITE, "'%s' cannot be made: %s", path, strerror(errno));
      break;
    }
    if (flock(*file, operation | LOCK_NB) == 0) {
      if (is_current(*file, path)) {
        status = 0;
        break;
      }
    } else if (errno == EWOULDBLOCK) {
      status = busy(folder->output, *file, err);
      close(*file);
      *file = -1;
      break;
    } else if (errno != EINTR) {
      *unlocked = true;
      status = 0;
      close(*file);
      *file = -1;
      break;
    }
    close(*file);
    *file = -1;
    status = error_set(err, ERROR_BUSY, "'%s' is being written by other pe-runs in turn", folder->output);
  }
  free(path);
  return status;
}

static int take_locks(struct parts_folder *folder, struct shard shard, struct error *err) {
  char name[80];
  if (!shard.count) {
    int status = take_lock(folder, ".lock", LOCK_EX, &folder->lock, &folder->unlocked, err);
    if (folder->lock >= 0) {
      sign(folder->lock);
    }
    return status;
  }
  snprintf(name, sizeof name, ".shard-%zu-of-%zu.lock", shard.index, shard.count);
  int status = take_lock(folder, ".lock", LOCK_SH, &folder->lock, &folder->unlocked, err);
  status = status ? status : take_lock(folder, name, LOCK_EX, &folder->shard_lock, &folder->unlocked, err);
  if (folder->shard_lock >= 0) {
    sign(folder->shard_lock);
  }
  return status;
}

/* ---- what lies there ---- */

/* Temporary files are .<name>...tmp; `of` NULL: of any name. */
static bool is_temporary(const char *name, const char *of) {
  size_t length = strlen(name);
  return length > 5 && name[0] == '.' && !strcmp(name + length - 4, ".tmp") &&
         (!of || (!strncmp(name + 1, of, strlen(of)) && name[1 + strlen(of)] == '.'));
}

/* A part, or the state of a job that was not finished. */
static bool is_part(const char *name) {
  enum { DIGITS = HASH_TEXT - 1 };
  return strspn(name, "0123456789abcdef") == DIGITS &&
         (!strcmp(name + DIGITS, ".h5") || !strncmp(name + DIGITS, ".state", 6));
}

static bool is_kept(const char *name, const char *const *keep, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!strncmp(name, keep[i], HASH_TEXT - 1)) {
      return true;
    }
  }
  return false;
}

static void remove_temporaries(const char *folder, const char *of) {
  DIR *directory = opendir(folder[0] ? folder : ".");
  struct dirent *entry;
  while (directory && (entry = readdir(directory))) {
    if (is_temporary(entry->d_name, of)) {
      unlinkat(dirfd(directory), entry->d_name, 0);
    }
  }
  if (directory) {
    closedir(directory);
  }
}

static void remove_left_over(const struct parts_folder *folder) {
  remove_temporaries(folder->path, NULL);
  char *slash = strrchr(folder->output, '/');
  if (slash) {
    *slash = '\0';
    remove_temporaries(slash == folder->output ? "/" : folder->output, slash + 1);
    *slash = '/';
  } else {
    remove_temporaries(".", folder->output);
  }
}

/* ---- the folder ---- */

/* The output with links followed, so that every name of it has the same parts. */
static char *real_output(const char *output, struct error *err) {
  char *real = realpath(output, NULL);
  char *copy = memory_copy_text(real ? real : output, err);
  free(real);
  return copy;
}

int parts_open(const char *output, struct shard shard, struct parts_folder *folder, struct error *err) {
  *folder = (struct parts_folder){.lock = -1, .shard_lock = -1};
  folder->output = real_output(output, err);
  struct text path = {0};
  text_printf(&path, "%s.parts", folder->output ? folder->output : "");
  folder->path = text_take(&path, err);
  int status = folder->output && folder->path ? 0 : (int)err->code;
  if (!status && mkdir(folder->path, 0777) && errno != EEXIST) {
    status = error_set(err, ERROR_FILE_WRITE, "the folder '%s' cannot be made: %s", folder->path, strerror(errno));
  }
  status = status ? status : take_locks(folder, shard, err);
  if (!status && !shard.count) {
    remove_left_over(folder);
  }
  if (status) {
    parts_close(folder);
  }
  return status;
}

bool parts_has_output(const struct parts_folder *folder) {
  struct stat there;
  return stat(folder->output, &there) == 0 && S_ISREG(there.st_mode);
}

bool parts_has(const struct parts_folder *folder, const char *key) {
  struct error ignored;
  char name[HASH_TEXT + 4];
  snprintf(name, sizeof name, "%s.h5", key);
  char *path = join_path(folder->path, name, &ignored);
  bool there = path && access(path, F_OK) == 0;
  free(path);
  return there;
}

void parts_forget_states(const char *folder, const char *key) {
  size_t length = strlen(key);
  DIR *directory = opendir(folder);
  struct dirent *entry;
  while (directory && (entry = readdir(directory))) {
    if (!strncmp(entry->d_name, key, length) && !strncmp(entry->d_name + length, ".state", 6)) {
      unlinkat(dirfd(directory), entry->d_name, 0);
    }
  }
  if (directory) {
    closedir(directory);
  }
}

void parts_remove(struct parts_folder *folder, const char *const *keep, size_t count) {
  DIR *directory = opendir(folder->path);
  struct dirent *entry;
  while (directory && (entry = readdir(directory))) {
    bool shard = !strncmp(entry->d_name, ".shard-", 7);
    if (shard || is_temporary(entry->d_name, NULL) ||
        (is_part(entry->d_name) && !is_kept(entry->d_name, keep, count))) {
      unlinkat(dirfd(directory), entry->d_name, 0);
    }
  }
  if (directory) {
    closedir(directory);
  }
}

/* Whether nothing is in the folder but the lock. */
static bool is_bare(const char *path) {
  DIR *directory = opendir(path);
  struct dirent *entry;
  bool bare = directory != NULL;
  while (directory && (entry = readdir(directory))) {
    bare = bare && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || !strcmp(entry->d_name, ".lock"));
  }
  if (directory) {
    closedir(directory);
  }
  return bare;
}

void parts_close(struct parts_folder *folder) {
  /* With the lock held alone nobody else can be about to use the folder, except to wait for the lock: they look
   * whether it is still the one of that name. */
  bool alone = folder->lock >= 0 && folder->shard_lock < 0 && flock(folder->lock, LOCK_EX | LOCK_NB) == 0;
  if (alone && is_bare(folder->path)) {
    struct error ignored;
    char *lock = join_path(folder->path, ".lock", &ignored);
    if (lock) {
      unlink(lock);
    }
    free(lock);
    rmdir(folder->path);
  }
  if (folder->shard_lock >= 0) {
    close(folder->shard_lock);
  }
  if (folder->lock >= 0) {
    close(folder->lock);
  }
  free(folder->output);
  free(folder->path);
  *folder = (struct parts_folder){.lock = -1, .shard_lock = -1};
}
