/* A function run in a child process, so that what it does to the process costs the child alone: crashes, endless loops,
 * exits, memory, file descriptors, threads left behind.
 *
 * The child writes into memory that it shares with its parent. Whatever it says at the moment it dies is kept: call
 * child_stage before anything that may not come back.
 */
#ifndef PE_HOST_CHECK_CHILD_H
#define PE_HOST_CHECK_CHILD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHILD_STAGE = 400 };

/* How a child ended. */
enum child_end {
  CHILD_FINISHED, /* the function returned */
  CHILD_SIGNAL,   /* killed by signal `number` */
  CHILD_EXITED,   /* ended the process itself, with status `number` */
  CHILD_TIMEOUT   /* still running after the limit, and killed */
};

struct child_limits {
  double seconds;
  size_t memory; /* bytes on top of what the parent has mapped; 0: no limit (sanitizers need all there is) */
};

/* Shared with the child. `shared` is the caller's own part of it. */
struct child_report {
  enum child_end end;
  int number;
  char stage[CHILD_STAGE]; /* what was going on last */
  size_t output_bytes;     /* written to standard output and error, which are caught */
};

/* What runs in the child. `stage` (CHILD_STAGE bytes) and `shared` lie in shared memory. */
typedef void (*child_function)(void *context, char *stage, void *shared);

/* Run function(context) in a child with at most `limits`; `shared` (bytes long, the caller's) is copied there and back,
 * and so is what the child wrote into it before it ended, however it ended. Processes that the child leaves behind in
 * its group are killed. 0, or ERROR_INTERNAL or ERROR_MEMORY where no child can be started. The calling process must
 * have a single thread. */
int child_run(child_function function, void *context, const struct child_limits *limits, void *shared, size_t bytes,
              struct child_report *report, struct error *err);

#endif
