/* What can be said of a plugin's file before it is handed to the dynamic linker, which hangs on a FIFO, dies of a bus
 * error on a truncated object and calls another machine's object "No such file or directory".
 *
 * Symbolic links are followed; what they lead to is judged like any other file. Only where a folder is searched, a link
 * that leads out of it counts as untrusted.
 */
#ifndef PE_HOST_PLUGIN_FILE_H
#define PE_HOST_PLUGIN_FILE_H

#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>

struct plugin_file {
  char *path;             /* absolute, without links */
  char sha256[HASH_TEXT]; /* of its bytes */
};

/* Judge the file at `path` (relative ones by the current folder; never looked up in system folders):
 *   ERROR_PLUGIN_NOT_FOUND    "", nothing there, a link to nothing
 *   ERROR_PLUGIN_NOT_A_FILE   a folder, FIFO, device or socket
 *   ERROR_PLUGIN_UNTRUSTED    unless `trust`: the file, its folder, or the folder of the link to it belongs to another
 *                             user (other than root) or can be written by everyone (folders with the sticky bit may);
 *                             with `searched` (the folder that was searched, or NULL): the file lies outside of it
 *   ERROR_PLUGIN_NOT_ELF      empty, no ELF shared object, for another machine, or shorter than its headers say
 *   ERROR_PLUGIN_LOAD         it cannot be read
 * On success fills *out, to be released with plugin_file_clear. */
int plugin_file_check(const char *path, const char *searched, bool trust, struct plugin_file *out, struct error *err);

void plugin_file_clear(struct plugin_file *file);

#endif
