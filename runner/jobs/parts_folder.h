/* The folder of an output's parts, <output>.parts, and who may use it: one pe-run, or the shards of one run. The lock
 * is the system's (flock), so that one left by a crash is none. */
#ifndef PE_JOBS_PARTS_FOLDER_H
#define PE_JOBS_PARTS_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct parts_folder {
  char *output; /* links followed */
  char *path;   /* of the folder */
  int lock;     /* descriptors; -1: none */
  int shard_lock;
  bool unlocked; /* the file system has no locks: nobody is kept away */
};

/* One of several processes that share a folder; count 0: this one is alone. */
struct shard {
  size_t index, count;
};

/* Make the folder, take the lock and, alone, remove what a crash left half-written there and beside the output. 0, or
 * ERROR_BUSY, ERROR_FILE_WRITE, ERROR_MEMORY; then nothing is held. */
int parts_open(const char *output, struct shard shard, struct parts_folder *folder, struct error *err);

/* Whether the output is there, and a file. */
bool parts_has_output(const struct parts_folder *folder);

/* Whether the part of `key` is there. */
bool parts_has(const struct parts_folder *folder, const char *key);

/* Remove what unfinished work of `key` left in a folder of parts for going on. */
void parts_forget_states(const char *folder, const char *key);

/* Remove every part but those whose keys are in keep [count], and the folder where it is then empty. Only for who has
 * it alone. What cannot be removed stays. */
void parts_remove(struct parts_folder *folder, const char *const *keep, size_t count);

/* Let go; an empty folder is removed. */
void parts_close(struct parts_folder *folder);

#endif
