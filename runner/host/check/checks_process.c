/* Checks that a plugin leaves the process as it found it. */
#include "host/check/compute.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything a plugin can be made to do, once. */
static bool use_all(struct check_run *run, char *fp_changed) {
  struct subject subject;
  if (!subject_require(run, &(struct subject_wish){0}, &subject)) {
    return false;
  }
  struct outputs out;
  struct problem problem = compute(&subject, &(struct method){.rows = 4, .tile_q = 5, .tile_k = 3}, &out, fp_changed);
  outputs_free(&out);
  for (uint32_t which = 0;
       subject.table->derived_count && which < subject.table->derived_count(subject.self, subject.seq_len); which++) {
    pe_derived value = {0};
    size_t need = 0;
    check_stage(run, "derived %u", which);
    subject.table->derived(subject.self, subject.seq_len, which, &value, NULL, 0, &need);
  }
  subject_close(&subject);
  if (problem.kind != PROBLEM_NONE && problem.kind != PROBLEM_UNWRITTEN) {
    check_skip(run, "not to be judged: %s", problem.text);
    return false;
  }
  return true;
}

/* ---- exit ---- */

/* Everywhere else children end at once; here the plugin's destructors and exit handlers have their turn. */
void check_exit(struct check_run *run) {
  if (run->options->in_process) {
    check_skip(run, "the process goes on: checks run in it");
    return;
  }
  check_stage(run, "exit: destructors and exit handlers");
  exit(0);
}

/* ---- environment.fp ---- */

void check_fp_environment(struct check_run *run) {
  char changed[CHECK_TEXT] = "";
  use_all(run, changed);
  if (changed[0]) {
    check_fail(run, "%s", changed);
  }
}

/* ---- environment.process ---- */

enum { SIGNALS = 65, DESCRIPTORS = 256 };

struct snapshot {
  char locale[512], folder[PATH_MAX];
  mode_t mask;
  struct sigaction actions[SIGNALS];
  sigset_t blocked;
  bool open[DESCRIPTORS];
  uint64_t environment; /* digest */
  long long output[2];  /* bytes written to standard output and error; -1: they are no files */
  size_t threads;
  bool children;
};

static uint64_t digest_environment(void) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (char **variable = environ; variable && *variable; variable++) {
    for (const char *c = *variable; *c; c++) {
      hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    hash *= UINT64_C(0x100000001b3);
  }
  return hash;
}

static size_t count_threads(void) {
  size_t count = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
    count += entry->d_name[0] != '.';
  }
  if (tasks) {
    closedir(tasks);
  }
  return count;
}

static long long bytes_written(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) ? (long long)status.st_size : -1;
}

static void take(struct snapshot *snapshot) {
  memset(snapshot, 0, sizeof *snapshot);
  snprintf(snapshot->locale, sizeof snapshot->locale, "%s", setlocale(LC_ALL, NULL));
  if (!getcwd(snapshot->folder, sizeof snapshot->folder)) {
    snapshot->folder[0] = '\0';
  }
  snapshot->mask = umask(0);
  umask(snapshot->mask);
  for (int i = 1; i < SIGNALS; i++) {
    sigaction(i, NULL, &snapshot->actions[i]); /* fails for those the C library keeps: zero on both sides */
  }
  sigprocmask(SIG_BLOCK, NULL, &snapshot->blocked);
  for (int i = 0; i < DESCRIPTORS; i++) {
    snapshot->open[i] = fcntl(i, F_GETFD) >= 0;
  }
  snapshot->environment = digest_environment();
  snapshot->output[0] = bytes_written(STDOUT_FILENO);
  snapshot->output[1] = bytes_written(STDERR_FILENO);
  snapshot->threads = count_threads();
  siginfo_t info;
  snapshot->children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void compare_signals(struct check_run *run, const struct snapshot *before, const struct snapshot *after) {
  for (int i = 1; i < SIGNALS; i++) {
    if (before->actions[i].sa_sigaction != after->actions[i].sa_sigaction ||
        before->actions[i].sa_flags != after->actions[i].sa_flags) {
      check_fail(run, "it changed what happens on signal %d (%s)", i, strsignal(i));
      return;
    }
    if (sigismember(&before->blocked, i) != sigismember(&after->blocked, i)) {
      check_fail(run, "it changed the signal mask: signal %d (%s)", i, strsignal(i));
      return;
    }
  }
}

static void compare(struct check_run *run, const struct snapshot *before, const struct snapshot *after) {
  for (int i = 0; i < DESCRIPTORS; i++) {
    if (before->open[i] != after->open[i]) {
      check_fail(run, "it left file descriptor %d %s", i, after->open[i] ? "open" : "closed");
      return;
    }
  }
  if (strcmp(before->locale, after->locale) != 0) {
    check_fail(run, "it changed the locale from %.100s to %.100s", before->locale, after->locale);
  }
  if (strcmp(before->folder, after->folder) != 0) {
    check_fail(run, "it changed the working directory from %.300s to %.300s", before->folder, after->folder);
  }
  if (before->mask != after->mask) {
    check_fail(run, "it changed the file creation mask from %04o to %04o", (unsigned)before->mask,
               (unsigned)after->mask);
  }
  compare_signals(run, before, after);
  if (before->environment != after->environment) {
    check_fail(run, "it changed the environment variables");
  }
  if (before->output[0] != after->output[0] || before->output[1] != after->output[1]) {
    check_fail(run, "it wrote to the standard %s", before->output[0] != after->output[0] ? "output" : "error");
  }
  if (before->threads != after->threads) {
    check_fail(run, "it left %zu threads running", after->threads - before->threads);
  }
  if (before->children != after->children) {
    check_fail(run, "it left a child process");
  }
}

void check_process(struct check_run *run) {
  struct error err;
  struct snapshot *snapshots = memory_new(2, sizeof *snapshots, "what the process is like", &err);
  if (!snapshots) {
    check_fail(run, "%s", err.text);
    return;
  }
  take(&snapshots[0]);
  bool used = use_all(run, NULL);
  fflush(stdout);
  take(&snapshots[1]);
  if (used) {
    compare(run, &snapshots[0], &snapshots[1]);
  }
  free(snapshots);
}

/* ---- globals ---- */

/* The plugin's data that can change: what its segments hold, and a copy of it. */
struct segment {
  unsigned char *start;
  size_t bytes;
  unsigned char *copy;
};

enum { MOST_SEGMENTS = 8 };
struct segments {
  uintptr_t inside; /* an address of the plugin */
  struct segment list[MOST_SEGMENTS];
  size_t count;
};

static bool holds(const struct dl_phdr_info *object, uintptr_t address) {
  for (unsigned i = 0; i < object->dlpi_phnum; i++) {
    uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    if (object->dlpi_phdr[i].p_type == PT_LOAD && address >= start && address < start + object->dlpi_phdr[i].p_memsz) {
      return true;
    }
  }
  return false;
}

static int find_segments(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size;
  struct segments *segments = context;
  if (!holds(object, segments->inside)) {
    return 0;
  }
  for (unsigned i = 0; i < object->dlpi_phnum && segments->count < MOST_SEGMENTS; i++) {
    const ElfW(Phdr) *header = &object->dlpi_phdr[i];
    if (header->p_type == PT_LOAD && (header->p_flags & PF_W)) {
      segments->list[segments->count++] =
          (struct segment){.start = (unsigned char *)(object->dlpi_addr + header->p_vaddr), .bytes = header->p_memsz};
    }
  }
  return 1;
}

void check_globals(struct check_run *run) {
  struct segments segments = {.inside = (uintptr_t)run->entry};
  struct error err;
  dl_iterate_phdr(find_segments, &segments);
  bool copied = true;
  for (size_t i = 0; i < segments.count && copied; i++) {
    struct segment *segment = &segments.list[i];
    segment->copy = memory_new(segment->bytes, 1, "a plugin's data", &err);
    copied = segment->copy != NULL;
    if (copied) {
      memcpy(segment->copy, segment->start, segment->bytes);
    }
  }
  if (copied && use_all(run, NULL)) {
    for (size_t i = 0; i < segments.count; i++) {
      const struct segment *segment = &segments.list[i];
      for (size_t byte = 0; byte < segment->bytes; byte++) {
        if (segment->start[byte] != segment->copy[byte]) {
          check_fail(run,
                     "making, using and ending an instance changed the plugin's own data, %zu bytes into its writable "
                     "segment: it keeps something between calls",
                     byte);
          break;
        }
      }
    }
  }
  for (size_t i = 0; i < segments.count; i++) {
    free(segments.list[i].copy);
  }
}
