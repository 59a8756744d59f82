/* describe SCHEME --from FILE: what a released model's config.json does with positions. */
#ifndef PE_COMMANDS_DESCRIBE_MODEL_H
#define PE_COMMANDS_DESCRIBE_MODEL_H

#include "commands/session.h"

/* Read the file, print its tables (values, frequencies or biases, layers, unused keys, warnings) and return the exit
 * code. `id` is the scheme that was asked for; another one in the file is an error that names it. */
int describe_model(struct session *session, const struct session_options *options, const char *id, const char *path);

#endif
