/* What a plugin could change of the process around it: current folder, umask, locale, signal mask. Taken once, compared
 * after every job and put back, so that what was computed is also written as it should be. */
#ifndef PE_JOBS_HABITAT_H
#define PE_JOBS_HABITAT_H

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct habitat {
  char *folder;
  char *locale;
  mode_t mask; /* of new files */
  sigset_t blocked;
  size_t resident; /* bytes of memory in use */
};

/* 0, ERROR_MEMORY, or ERROR_INTERNAL where the current folder is gone. */
int habitat_take(struct habitat *habitat, struct error *err);

/* Put back what was changed; its name, or NULL where nothing was: "the current folder", "the umask", "the locale", "the
 * signal mask". */
const char *habitat_restore(const struct habitat *habitat);

/* Bytes of memory that this process has in use; 0: not known. */
size_t habitat_resident(void);

void habitat_free(struct habitat *habitat);

#endif
