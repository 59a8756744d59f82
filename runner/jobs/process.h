/* A process of the same binary, started anew, that does what could go wrong. A worker, `pe-run __worker`, has a process
 * group of its own, so that what a plugin starts goes with it, and it dies when its parent does. */
#ifndef PE_JOBS_PROCESS_H
#define PE_JOBS_PROCESS_H

#include "jobs/channel.h"

#include <sys/types.h>

/* How to start one. */
struct process_setting {
  const char *program;            /* the binary: /proc/self/exe */
  const char *const *environment; /* of this process, ended by NULL */
  /* NULL: a worker, with an empty stdin and a stdout that goes to this process's stderr. Else the whole argv, ended by
   * NULL, of a process that keeps this one's standard files, process group and signals. */
  char *const *arguments;
};

struct process {
  pid_t id; /* 0: none */
  struct channel channel;
};

/* How a process ended. */
struct process_end {
  bool by_signal;
  int number; /* the signal, or the exit status */
};

/* The worker's socket, and the name of the command that makes this binary a worker. */
enum { PROCESS_SOCKET = 3 };
#define PROCESS_COMMAND "__worker"

/* Start one. 0 or ERROR_INTERNAL, ERROR_MEMORY. */
int process_start(const struct process_setting *setting, struct process *out, struct error *err);

/* Whether it has ended, and how; it then leaves nobody of its group behind and has to be forgotten
 * (process_close). */
bool process_has_ended(struct process *process, struct process_end *end);

/* End it and its group now, and wait for that. */
void process_kill(struct process *process, struct process_end *end);

/* End it, where it is there, and release everything. */
void process_close(struct process *process);

/* "crashed: segmentation fault (SIGSEGV)", "ended the process by exit(0)". */
void process_end_describe(const struct process_end *end, char *text, size_t size);

/* In a worker: die with the parent `parent`, leave signals from the keyboard and of schedulers to it. False where the
 * parent is gone already. */
bool process_settle(pid_t parent);

#endif
