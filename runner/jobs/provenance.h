/* What a results file says of where it came from. Only what can change a number, so that the same run gives the same
 * bytes. */
#ifndef PE_JOBS_PROVENANCE_H
#define PE_JOBS_PROVENANCE_H

#include "config/plan.h"
#include "results/results.h"

enum { PROVENANCE_TEXTS = 4 };

struct provenance {
  struct results_text texts[PROVENANCE_TEXTS]; /* config, plan, environment, plugins */
  size_t count;
  char *owned[PROVENANCE_TEXTS];
};

/* Versions, compiler, CPU and kernels of this process as JSON, to be freed: which library makes attention's products
 * and which rows, and for which processors the libraries chose their kernels. NULL with ERROR_MEMORY or, where OpenBLAS
 * cannot be loaded, ERROR_INTERNAL. */
char *provenance_environment(struct error *err);

/* config: as read, without its output path; plan: resolved; environment: as given; plugins: JSON of each scheme's
 * plugin, version and SHA-256. 0 or ERROR_MEMORY. */
int provenance_collect(const struct plan *plan, const char *environment, struct provenance *out, struct error *err);
void provenance_free(struct provenance *provenance);

#endif
