/* What a results file says of where it came from. Only what can change a number, so that the same run gives the same
 * bytes. */
#ifndef PE_COMMANDS_PROVENANCE_H
#define PE_COMMANDS_PROVENANCE_H

#include "config/plan.h"
#include "host/host.h"
#include "results/results.h"

enum { PROVENANCE_TEXTS = 4 };

struct provenance {
  struct results_text texts[PROVENANCE_TEXTS]; /* config, plan, environment, plugins */
  size_t count;
  char *owned[PROVENANCE_TEXTS];
};

/* config: as read, without its output path; plan: resolved; environment: JSON of versions, compiler, CPU and kernels;
 * plugins: JSON of each scheme's plugin, version and SHA-256. 0 or ERROR_MEMORY. */
int provenance_collect(const struct plan *plan, struct host *host, struct provenance *out, struct error *err);
void provenance_free(struct provenance *provenance);

#endif
