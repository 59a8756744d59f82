/* Reading a command's arguments. */
#ifndef PE_COMMANDS_USAGE_H
#define PE_COMMANDS_USAGE_H

#include <argp.h>

/* argp_parse. Whatever is wrong ends the process with exit code 2, and its message names the code of a wrong use of the
 * command line, as every message of an error names one. For the main thread, before there are others. */
void command_parse(const struct argp *argp, int argc, char **argv, void *input);

#endif
