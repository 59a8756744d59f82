/* Progress on stderr: one line that is rewritten on a terminal, plain lines in a log, nothing with --quiet. */
#ifndef PE_JOBS_PROGRESS_H
#define PE_JOBS_PROGRESS_H

#include "base/record.h"

#include <stdio.h>

struct progress;

/* jobs: how many there are. bar: rewrite one line. NULL with ERROR_MEMORY. */
struct progress *progress_new(FILE *stream, size_t jobs, bool bar, struct error *err);

void progress_start(struct progress *progress, size_t job, const char *id);
void progress_job(struct progress *progress, size_t job, double done);
void progress_end(struct progress *progress, size_t job, const char *id, const struct record *record);

/* A line of its own, above the bar. */
void progress_say(struct progress *progress, const char *text);

/* Take the bar away. NULL is allowed. */
void progress_free(struct progress *progress);

#endif
