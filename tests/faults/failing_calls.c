/* LD_PRELOAD: makes one call of a run fail, or end its process, at a chosen point.
 *
 *   PE_FAULT=CALL:N:ACTION   at the N-th CALL (from 1; 0: none); "N+": at that one and every later one
 *     CALL    write (to a regular file), fsync, rename, open (that makes a file), mkdir, flock,
 *             own (pe-run's own allocations), alloc (those of libraries)
 *     ACTION  the name of an errno; short (write half of it); kill (this process); killrun (pe-run, and so all of it)
 *   PE_FAULT_COUNT=FILE      8 bytes, shared by all processes of the run: how many such calls there were
 *   PE_FAULT_IN=parent|worker  count there alone
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The allocator behind malloc, under the names that glibc has for those who replace it. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct {
  char call[16], action[16];
  unsigned long at;
  bool on, later;
  _Atomic unsigned long *count;
} fault;

static const struct {
  const char *name;
  int number;
} errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT}, {"EINTR", EINTR},   {"EACCES", EACCES},
              {"ENOLCK", ENOLCK}, {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"EINVAL", EINVAL}, {"EXDEV", EXDEV}};

static bool is_worker(void) {
  char line[256] = "";
  int file = open("/proc/self/cmdline", O_RDONLY);
  ssize_t length = file < 0 ? -1 : read(file, line, sizeof line - 1);
  if (file >= 0) {
    close(file);
  }
  return length > 0 && !strcmp(line + strlen(line) + 1, "__worker");
}

__attribute__((constructor)) static void prepare(void) {
  const char *text = getenv("PE_FAULT"), *path = getenv("PE_FAULT_COUNT"), *where = getenv("PE_FAULT_IN");
  char at[24];
  if (!text || !path || sscanf(text, "%15[^:]:%23[^:]:%15s", fault.call, at, fault.action) != 3) {
    return;
  }
  if (where && is_worker() != !strcmp(where, "worker")) {
    return;
  }
  fault.at = strtoul(at, NULL, 10);
  fault.later = strchr(at, '+') != NULL;
  int file = open(path, O_RDWR);
  void *shared = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) {
    close(file);
  }
  if (shared != MAP_FAILED) {
    fault.count = shared;
    fault.on = true;
  }
}

/* Whether this call is the one; a kill does not come back. */
static bool fails(const char *call) {
  if (!fault.on || strcmp(call, fault.call) != 0) {
    return false;
  }
  unsigned long number = atomic_fetch_add(fault.count, 1) + 1;
  if (!fault.at || (fault.later ? number < fault.at : number != fault.at)) {
    return false;
  }
  if (!strncmp(fault.action, "kill", 4)) {
    if (!strcmp(fault.action, "killrun") && is_worker()) {
      kill(getppid(), SIGKILL);
    }
    kill(getpid(), SIGKILL);
  }
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    if (!strcmp(fault.action, errors[i].name)) {
      errno = errors[i].number;
    }
  }
  return true;
}

static bool is_regular(int file) {
  struct stat there;
  return fault.on && fstat(file, &there) == 0 && S_ISREG(there.st_mode);
}

typedef ssize_t write_call(int, const void *, size_t);
typedef int fsync_call(int);
typedef int renameat_call(int, const char *, int, const char *);
typedef int mkdir_call(const char *, mode_t);
typedef int flock_call(int, int);
typedef int openat_call(int, const char *, int, ...);

/* The function of the C library behind ours; POSIX says that dlsym's pointer is one. */
#define REAL(name)                                                                                                     \
  name##_call *real;                                                                                                   \
  *(void **)&real = dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *bytes, size_t count) {
  REAL(write);
  if (is_regular(file) && fails("write")) {
    return strcmp(fault.action, "short") ? -1 : real(file, bytes, count > 1 ? count / 2 : count);
  }
  return real(file, bytes, count);
}

int fsync(int file) {
  REAL(fsync);
  return fails("fsync") ? -1 : real(file);
}

int renameat(int from, const char *old, int to, const char *new) {
  REAL(renameat);
  return fails("rename") ? -1 : real(from, old, to, new);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  return fails("mkdir") ? -1 : real(path, mode);
}

int flock(int file, int operation) {
  REAL(flock);
  return fails("flock") ? -1 : real(file, operation);
}

int openat(int folder, const char *path, int flags, ...) {
  REAL(openat);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return (flags & O_CREAT) && fails("open") ? -1 : real(folder, path, flags, mode);
}

/* pe-run's own memory is aligned to cache lines (base/memory.c); nobody else asks for that. */
void *aligned_alloc(size_t alignment, size_t size) {
  return fails("own") ? NULL : __libc_memalign(alignment, size);
}

void *malloc(size_t size) {
  return fails("alloc") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return fails("alloc") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return fails("alloc") ? NULL : __libc_realloc(old, size);
}
