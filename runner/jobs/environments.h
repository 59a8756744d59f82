/* The machines and versions that made the parts of a run: usually one, which is then kept as it is; several as a list.
 */
#ifndef PE_JOBS_ENVIRONMENTS_H
#define PE_JOBS_ENVIRONMENTS_H

#include "base/error.h"

#include <stddef.h>

/* Starts as {0}. */
struct environments {
  char **texts; /* JSON, all different, in the order in which they came */
  size_t count, capacity;
};

/* Add one, as JSON of an object, or of a list of them; what is there already is passed over. 0 or ERROR_MEMORY. */
int environments_add(struct environments *environments, const char *json, struct error *err);

/* The one, or a JSON list of all, "{}" where there is none; to be freed. NULL with ERROR_MEMORY. */
char *environments_text(const struct environments *environments, struct error *err);

void environments_free(struct environments *environments);

#endif
