/* A plan carried out as a command: progress, tables, what failed, and the exit code. */
#ifndef PE_COMMANDS_CARRY_OUT_H
#define PE_COMMANDS_CARRY_OUT_H

#include "commands/run_options.h"

/* Load the plan that the options name and, where it can be had, carry it out or say what would be done. */
int carry_out(struct run_options *options);

#endif
