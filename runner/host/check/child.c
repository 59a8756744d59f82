#include "host/check/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One page range that parent and child both see. */
struct mailbox {
  volatile uint32_t finished;
  char stage[CHILD_STAGE];
  max_align_t shared[]; /* the caller's part */
};

/* ---- in the child ---- */

static void limit_memory(size_t more) {
  FILE *file = fopen("/proc/self/statm", "re");
  unsigned long pages = 0;
  bool known = file && fscanf(file, "%lu", &pages) == 1;
  if (file) {
    fclose(file);
  }
  if (known && more) {
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = bytes, .rlim_max = bytes});
  }
  setrlimit(RLIMIT_CORE, &(struct rlimit){0});
}

__attribute__((noreturn)) static void child_main(child_function function, void *context,
                                                 const struct child_limits *limits, struct mailbox *mailbox,
                                                 int output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close(output);
  limit_memory(limits->memory);
  function(context, mailbox->stage, mailbox->shared);
  mailbox->finished = 1;
  /* Not exit: destructors and exit handlers of what was loaded are no part of the question. */
  _exit(0);
}

/* ---- in the parent ---- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Wait for the child; false where the time is up. */
static bool wait_for(pid_t child, double seconds, int *status) {
  double end = now() + seconds;
  long pause = 50000; /* nanoseconds: short children are frequent */
  for (;;) {
    pid_t got = waitpid(child, status, WNOHANG);
    if (got == child) {
      return true;
    }
    if (got < 0 && errno != EINTR) {
      *status = 0;
      return true;
    }
    if (now() >= end) {
      return false;
    }
    nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    pause = pause < 5000000 ? pause * 2 : pause;
  }
}

static void judge(const struct mailbox *mailbox, bool in_time, int status, struct child_report *report) {
  memcpy(report->stage, mailbox->stage, sizeof report->stage);
  report->stage[sizeof report->stage - 1] = '\0';
  report->number = 0;
  if (mailbox->finished) {
    report->end = CHILD_FINISHED;
  } else if (!in_time) {
    report->end = CHILD_TIMEOUT;
  } else if (WIFSIGNALED(status)) {
    report->end = CHILD_SIGNAL;
    report->number = WTERMSIG(status);
  } else {
    report->end = CHILD_EXITED;
    report->number = WEXITSTATUS(status);
  }
}

static void supervise(pid_t child, const struct child_limits *limits, const struct mailbox *mailbox, int output,
                      struct child_report *report) {
  /* Both sides do it: whichever runs first. */
  setpgid(child, child);
  int status = 0;
  bool in_time = wait_for(child, limits->seconds, &status);
  /* The group, too: it may have left processes behind. SIGKILL, since SIGTERM can be ignored. */
  kill(-child, SIGKILL);
  if (!in_time) {
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  judge(mailbox, in_time, status, report);
  struct stat written;
  report->output_bytes = fstat(output, &written) == 0 ? (size_t)written.st_size : 0;
}

int child_run(child_function function, void *context, const struct child_limits *limits, void *shared, size_t bytes,
              struct child_report *report, struct error *err) {
  size_t size = sizeof(struct mailbox) + bytes;
  struct mailbox *mailbox = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mailbox == MAP_FAILED) {
    return error_set(err, ERROR_MEMORY, "a child process: %zu bytes of shared memory: %s", size, strerror(errno));
  }
  memcpy(mailbox->shared, shared, bytes);
  int status = 0;
  int output = memfd_create("output", MFD_CLOEXEC);
  if (output < 0) {
    status = error_set(err, ERROR_INTERNAL, "a child process: its output cannot be caught: %s", strerror(errno));
    goto unmap;
  }
  fflush(NULL); /* or both would write what is buffered */
  pid_t child = fork();
  if (child < 0) {
    status = error_set(err, ERROR_INTERNAL, "a child process cannot be started: %s", strerror(errno));
    goto close_output;
  }
  if (child == 0) {
    child_main(function, context, limits, mailbox, output);
  }
  supervise(child, limits, mailbox, output, report);
  memcpy(shared, mailbox->shared, bytes);
close_output:
  close(output);
unmap:
  munmap(mailbox, size);
  return status;
}
