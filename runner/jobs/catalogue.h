/* The schemes there are, without running a plugin's code in this process: a probe, a process of the same binary, loads
 * the files and sends their tables. A plugin that crashes, hangs or ends the probe while it is loaded is refused like
 * any other bad one, and a new probe goes on without it.
 */
#ifndef PE_JOBS_CATALOGUE_H
#define PE_JOBS_CATALOGUE_H

#include "base/scheme_info.h"
#include "host/host.h"
#include "jobs/process.h"

struct catalogue;

/* Where to look. `process` NULL: load plugins into this process. */
struct catalogue_setting {
  struct host_options plugins;
  const struct process_setting *process; /* kept */
  double load_limit;                     /* seconds that a plugin has to be loaded; 0: 10 */
};

/* 0 or ERROR_MEMORY. Nothing is started yet. */
int catalogue_open(const struct catalogue_setting *setting, struct catalogue **out, struct error *err);

/* As host_find and host_list, with the descriptions alone, which live as long as the catalogue. Besides their errors:
 * ERROR_PLUGIN_CRASHED, ERROR_PLUGIN_HUNG, and ERROR_INTERNAL where no probe can be started. */
const struct scheme_info *catalogue_find(struct catalogue *catalogue, const char *id, const char *plugin,
                                         struct error *err);
int catalogue_list(struct catalogue *catalogue, const struct scheme_info *const **out, size_t *count,
                   const char *const **refused, struct error *err);

/* The host in this process; NULL where there is a probe. */
struct host *catalogue_host(const struct catalogue *catalogue);

/* Where plugins are looked for, and what was found to be deadly: for the processes that run them. */
void catalogue_put(const struct catalogue *catalogue, struct packet *packet);

/* Every description that was asked for: number, each: text id, text plugin or NULL, scheme. */
void catalogue_put_schemes(const struct catalogue *catalogue, struct packet *packet);

/* The probe is not needed any longer. */
void catalogue_rest(struct catalogue *catalogue);
void catalogue_close(struct catalogue *catalogue);

#endif
