#include "jobs/progress.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BAR = 24, REDRAW_MS = 100, MOST_WORKERS = 64, MOST_SAID = 1000 };

struct progress {
  FILE *stream;
  enum progress_style style;
  bool drawn;
  size_t jobs, done, kept;
  double part[MOST_WORKERS];  /* of the jobs that run */
  char id[2 * RECORD_NAME];   /* of the one that was begun last */
  double started, last_drawn; /* seconds */
  char **said;
  size_t n_said, capacity;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct progress *progress_new(FILE *stream, enum progress_style style, struct error *err) {
  struct progress *progress = memory_new(1, sizeof *progress, "progress", err);
  if (progress) {
    progress->stream = stream;
    progress->style = style;
    progress->started = now();
  }
  return progress;
}

void progress_total(struct progress *progress, size_t jobs) {
  progress->jobs = jobs;
  progress->started = now();
}

static void erase(struct progress *progress) {
  if (progress->drawn) {
    fputs("\r\033[K", progress->stream);
    progress->drawn = false;
  }
}

static void draw(struct progress *progress, bool always) {
  double time = now();
  if (progress->style != PROGRESS_BAR || !progress->jobs ||
      (!always && (time - progress->last_drawn) * 1000 < REDRAW_MS)) {
    return;
  }
  progress->last_drawn = time;
  double computed = (double)(progress->done - progress->kept);
  for (int i = 0; i < MOST_WORKERS; i++) {
    computed += progress->part[i];
  }
  double share = (computed + (double)progress->kept) / (double)progress->jobs;
  char bar[BAR + 1];
  for (int i = 0; i < BAR; i++) {
    bar[i] = (double)i < share * BAR ? '#' : '.';
  }
  bar[BAR] = '\0';
  erase(progress);
  fprintf(progress->stream, "[%s] %zu/%zu %.60s", bar, progress->done, progress->jobs, progress->id);
  double left = (double)(progress->jobs - progress->kept) - computed;
  if (share > 0.02 && computed > 0) {
    fprintf(progress->stream, ", %.0f s left", (time - progress->started) * left / computed);
  }
  fflush(progress->stream);
  progress->drawn = true;
}

void progress_start(struct progress *progress, unsigned worker, const char *id) {
  snprintf(progress->id, sizeof progress->id, "%s", id);
  progress_part(progress, worker, 0);
  draw(progress, true);
}

void progress_part(struct progress *progress, unsigned worker, double done) {
  if (worker < MOST_WORKERS) {
    progress->part[worker] = done >= 0 && done <= 1 ? done : 0;
  }
  draw(progress, false);
}

void progress_rest(struct progress *progress, unsigned worker) {
  if (worker < MOST_WORKERS) {
    progress->part[worker] = 0;
  }
}

void progress_end(struct progress *progress, const char *id, bool kept, enum record_status status,
                  const struct error *failure) {
  progress->done++;
  progress->kept += kept;
  if (progress->style == PROGRESS_QUIET) {
    return;
  }
  if (status == RECORD_FAILED) {
    erase(progress);
    fprintf(progress->stream, "%zu/%zu %s: failed: error[%s]: %s\n", progress->done, progress->jobs, id,
            error_id(failure->code), failure->text);
  } else if (progress->style == PROGRESS_LINES) {
    fprintf(progress->stream, "%zu/%zu %s: %s%s\n", progress->done, progress->jobs, id, kept ? "kept, " : "",
            record_status_name(status));
  }
  draw(progress, true);
}

static bool was_said(struct progress *progress, const char *text) {
  struct error ignored;
  for (size_t i = 0; i < progress->n_said; i++) {
    if (!strcmp(progress->said[i], text)) {
      return true;
    }
  }
  char **grown = progress->n_said < MOST_SAID ? memory_grow(progress->said, &progress->capacity, progress->n_said + 1,
                                                            sizeof *grown, "notes", &ignored)
                                              : NULL;
  char *copy = grown ? memory_copy_text(text, &ignored) : NULL;
  progress->said = grown ? grown : progress->said;
  if (copy) {
    grown[progress->n_said++] = copy;
  }
  return false;
}

void progress_say(struct progress *progress, const char *text) {
  if (was_said(progress, text)) {
    return;
  }
  erase(progress);
  fprintf(progress->stream, "%s\n", text);
  draw(progress, true);
}

void progress_free(struct progress *progress) {
  if (progress) {
    erase(progress);
    fflush(progress->stream);
    for (size_t i = 0; i < progress->n_said; i++) {
      free(progress->said[i]);
    }
    free(progress->said);
    free(progress);
  }
}
