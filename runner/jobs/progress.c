#include "jobs/progress.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BAR = 24, REDRAW_MS = 100 };

struct progress {
  FILE *stream;
  bool bar, drawn;
  size_t jobs, done;
  double part; /* of the current job */
  char id[2 * RECORD_NAME];
  double started, last_drawn; /* seconds */
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct progress *progress_new(FILE *stream, size_t jobs, bool bar, struct error *err) {
  struct progress *progress = memory_new(1, sizeof *progress, "progress", err);
  if (progress) {
    progress->stream = stream;
    progress->jobs = jobs;
    progress->bar = bar;
    progress->started = now();
  }
  return progress;
}

static void erase(struct progress *progress) {
  if (progress->drawn) {
    fputs("\r\033[K", progress->stream);
    progress->drawn = false;
  }
}

static void draw(struct progress *progress, bool always) {
  double time = now();
  if (!progress->bar || (!always && (time - progress->last_drawn) * 1000 < REDRAW_MS)) {
    return;
  }
  progress->last_drawn = time;
  double share = ((double)progress->done + progress->part) / (double)(progress->jobs ? progress->jobs : 1);
  char bar[BAR + 1];
  for (int i = 0; i < BAR; i++) {
    bar[i] = (double)i < share * BAR ? '#' : '.';
  }
  bar[BAR] = '\0';
  erase(progress);
  fprintf(progress->stream, "[%s] %zu/%zu %.60s", bar, progress->done, progress->jobs, progress->id);
  if (share > 0.02) {
    fprintf(progress->stream, ", %.0f s left", (time - progress->started) * (1 - share) / share);
  }
  fflush(progress->stream);
  progress->drawn = true;
}

void progress_start(struct progress *progress, size_t job, const char *id) {
  progress->done = job;
  progress->part = 0;
  snprintf(progress->id, sizeof progress->id, "%s", id);
  draw(progress, true);
}

void progress_job(struct progress *progress, size_t job, double done) {
  progress->done = job;
  progress->part = done;
  draw(progress, false);
}

void progress_end(struct progress *progress, size_t job, const char *id, const struct record *record) {
  progress->done = job + 1;
  progress->part = 0;
  if (record->status == RECORD_FAILED) {
    erase(progress);
    fprintf(progress->stream, "%s failed: %s: %s\n", id, error_id(record->error.code), record->error.text);
  } else if (!progress->bar) {
    fprintf(progress->stream, "%zu/%zu %s: %s\n", progress->done, progress->jobs, id,
            record_status_name(record->status));
  }
  draw(progress, true);
}

void progress_say(struct progress *progress, const char *text) {
  erase(progress);
  fprintf(progress->stream, "%s\n", text);
  draw(progress, true);
}

void progress_free(struct progress *progress) {
  if (progress) {
    erase(progress);
    fflush(progress->stream);
    free(progress);
  }
}
