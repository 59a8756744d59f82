/* What a run would do. */
#ifndef PE_COMMANDS_DRY_RUN_H
#define PE_COMMANDS_DRY_RUN_H

#include "commands/run_options.h"

/* Print a table of the selected jobs: finished already, or to be done. 0 or the errors of execute_look. */
int dry_run(const struct plan *plan, const struct run_options *options, struct error *err);

#endif
