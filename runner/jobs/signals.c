#include "jobs/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a shell reports of a process that a signal ended. */
enum { BY_SIGNAL = 128 };

static const int taken[SIGNALS_TAKEN] = {SIGINT, SIGTERM, SIGHUP};

/* Where the handler writes to: nothing else of the program can be reached from there. -1: nowhere. Blocking the signals
 * and reading a signalfd would need no handler, but libraries start threads before main that do not block them. */
static atomic_int wakes = -1;

static void wake(int number) {
  int kept = errno;
  unsigned char byte = (unsigned char)number;
  ssize_t ignored = write(atomic_load(&wakes), &byte, 1);
  (void)ignored;
  errno = kept;
}

static bool is_ignored(const struct sigaction *action) {
  return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN;
}

int signals_open(struct signals *signals, struct error *err) {
  int ends[2];
  atomic_init(&signals->first, 0);
  atomic_init(&signals->count, 0);
  signals->watched = false;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
    return error_set(err, ERROR_INTERNAL, "signals cannot be taken: %s", strerror(errno));
  }
  signals->file = ends[0];
  atomic_store(&wakes, ends[1]);
  struct sigaction action = {.sa_flags = SA_RESTART};
  action.sa_handler = wake;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < SIGNALS_TAKEN; i++) {
    sigaction(taken[i], NULL, &signals->before[i]);
    if (!is_ignored(&signals->before[i])) {
      sigaction(taken[i], &action, NULL);
    }
  }
  return 0;
}

void signals_look(struct signals *signals) {
  unsigned char byte;
  while (signals->file >= 0 && read(signals->file, &byte, 1) == 1) {
    int none = 0;
    atomic_compare_exchange_strong(&signals->first, &none, (int)byte);
    atomic_fetch_add(&signals->count, 1);
  }
}

static void *watch(void *opaque) {
  struct signals *signals = opaque;
  struct pollfd file = {.fd = signals->file, .events = POLLIN};
  for (;;) {
    poll(&file, 1, -1); /* a point where the thread may be cancelled */
    signals_look(signals);
    if (atomic_load(&signals->count) > 1) {
      _Exit(BY_SIGNAL + atomic_load(&signals->first));
    }
  }
  return NULL;
}

int signals_watch(struct signals *signals, struct error *err) {
  int number = pthread_create(&signals->watcher, NULL, watch, signals);
  signals->watched = number == 0;
  return number ? error_set(err, ERROR_INTERNAL, "a thread cannot be started: %s", strerror(number)) : 0;
}

void signals_close(struct signals *signals) {
  if (signals->watched) {
    pthread_cancel(signals->watcher);
    pthread_join(signals->watcher, NULL);
    signals->watched = false;
  }
  if (signals->file < 0) {
    return;
  }
  for (size_t i = 0; i < SIGNALS_TAKEN; i++) {
    sigaction(taken[i], &signals->before[i], NULL);
  }
  close(atomic_exchange(&wakes, -1));
  close(signals->file);
  signals->file = -1;
}
