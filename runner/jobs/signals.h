/* Being asked to stop: SIGINT, SIGTERM, SIGHUP, taken as events instead of as death. Signals that whoever started
 * pe-run has set to be ignored (nohup, a shell's background) stay ignored. */
#ifndef PE_JOBS_SIGNALS_H
#define PE_JOBS_SIGNALS_H

#include "base/error.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { SIGNALS_TAKEN = 3 };

struct signals {
  int file;          /* readable when one has come; -1: none is taken */
  atomic_int first;  /* the number of the first one; 0: none has come */
  atomic_uint count; /* how many have come */
  struct sigaction before[SIGNALS_TAKEN];
  bool watched;
  pthread_t watcher;
};

/* Take them from now on; one `struct signals` at a time. 0 or ERROR_INTERNAL. */
int signals_open(struct signals *signals, struct error *err);

/* Look whether any came since. */
void signals_look(struct signals *signals);

/* For work in this very process: a thread looks, and ends the process when a second one comes. 0 or ERROR_INTERNAL. */
int signals_watch(struct signals *signals, struct error *err);

/* As before signals_open; one that was not looked at is forgotten. */
void signals_close(struct signals *signals);

#endif
