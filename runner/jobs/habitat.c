#include "jobs/habitat.h"

#include "base/memory.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t current_mask(void) {
  mode_t mask = umask(0);
  umask(mask);
  return mask;
}

size_t habitat_resident(void) {
  unsigned long size, resident = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file) {
    resident = fscanf(file, "%lu %lu", &size, &resident) == 2 ? resident : 0;
    fclose(file);
  }
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

int habitat_take(struct habitat *habitat, struct error *err) {
  *habitat = (struct habitat){.mask = current_mask(), .resident = habitat_resident()};
  pthread_sigmask(SIG_SETMASK, NULL, &habitat->blocked);
  habitat->folder = getcwd(NULL, 0);
  if (!habitat->folder) {
    return error_set(err, ERROR_INTERNAL, "the current folder cannot be named: %s", strerror(errno));
  }
  const char *locale = setlocale(LC_ALL, NULL);
  habitat->locale = memory_copy_text(locale ? locale : "C", err);
  if (!habitat->locale) {
    habitat_free(habitat);
    return err->code;
  }
  return 0;
}

static bool same_signals(const sigset_t *a, const sigset_t *b) {
  for (int number = 1; number < NSIG; number++) {
    if (sigismember(a, number) != sigismember(b, number)) {
      return false;
    }
  }
  return true;
}

const char *habitat_restore(const struct habitat *habitat) {
  const char *changed = NULL;
  char *folder = getcwd(NULL, 0);
  if (!folder || strcmp(folder, habitat->folder) != 0) {
    changed = chdir(habitat->folder) ? "the current folder, for good" : "the current folder";
  }
  free(folder);
  const char *locale = setlocale(LC_ALL, NULL);
  if (!locale || strcmp(locale, habitat->locale) != 0) {
    setlocale(LC_ALL, habitat->locale);
    changed = "the locale";
  }
  if (current_mask() != habitat->mask) {
    umask(habitat->mask);
    changed = "the umask";
  }
  sigset_t blocked;
  if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 && !same_signals(&blocked, &habitat->blocked)) {
    pthread_sigmask(SIG_SETMASK, &habitat->blocked, NULL);
    changed = "the signal mask";
  }
  return changed;
}

void habitat_free(struct habitat *habitat) {
  free(habitat->folder);
  free(habitat->locale);
  *habitat = (struct habitat){0};
}
