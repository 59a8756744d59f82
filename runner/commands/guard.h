/* Commands that run plugins themselves (list, describe, apply, ...) do so in a process of their own: the one that
 * people started only looks on, so that a plugin that crashes, hangs while it is loaded or ends the process is a
 * refusal that names it. */
#ifndef PE_COMMANDS_GUARD_H
#define PE_COMMANDS_GUARD_H

#include "host/host.h"

#define GUARDED_COMMAND "__guarded"

/* Whether the command is one of these. */
bool guard_wanted(const char *command);

/* Run `pe-run ARGUMENTS` in a process that is started anew, on this one's terminal, and return its exit code; 3 with a
 * message where a plugin ended it. Plugins that cannot even be loaded are refused to the next such process. */
int guard_run(int argc, char **argv);

/* ---- in that process ---- */

/* Die with the parent; false where it is gone already. */
bool guard_enter(const char *parent);

/* Refuse what earlier ones of its kind did not survive. 0 or ERROR_INTERNAL, ERROR_MEMORY. */
int guard_take(struct host *host, struct error *err);

/* For host_options.loading. */
void guard_loading(void *context, const char *path);

/* From here on the plugin at `path` is run ("" : none is); with those before it, unless `alone`. */
void guard_uses(const char *path, bool alone);

/* The command is over, and this is its exit code. */
void guard_done(int code);

#endif
