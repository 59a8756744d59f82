#include "jobs/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* What a shell reports of a process that a signal ended. */
enum { BY_SIGNAL = 128 };

static bool is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

int signals_open(struct signals *signals, struct error *err) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  sigset_t taken;
  sigemptyset(&taken);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (!is_ignored(numbers[i])) {
      sigaddset(&taken, numbers[i]);
    }
  }
  atomic_init(&signals->first, 0);
  atomic_init(&signals->count, 0);
  signals->watched = false;
  pthread_sigmask(SIG_BLOCK, &taken, &signals->before);
  signals->file = signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals->file < 0) {
    int number = errno;
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
    return error_set(err, ERROR_INTERNAL, "signals cannot be taken: %s", strerror(number));
  }
  return 0;
}

void signals_look(struct signals *signals) {
  struct signalfd_siginfo info;
  while (signals->file >= 0 && read(signals->file, &info, sizeof info) == (ssize_t)sizeof info) {
    int none = 0;
    atomic_compare_exchange_strong(&signals->first, &none, (int)info.ssi_signo);
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
  if (signals->file >= 0) {
    signals_look(signals);
    close(signals->file);
    signals->file = -1;
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
  }
}
