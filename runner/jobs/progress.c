#include "jobs/progress.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
  BAR = 24,
  SHORT_BAR = 10,
  COLUMNS = 80,
  MOST_COLUMNS = 400,
  REDRAW_MS = 100,
  MOST_WORKERS = 64,
  MOST_SAID = 1000
};

/* Seconds until a log has a line of where a job stands, and from one such line to the next. */
static const double FIRST_LINE = 2, NEXT_LINE = 10;

/* What a worker is at. */
struct at_work {
  char id[2 * RECORD_NAME]; /* "": nothing */
  char words[64];           /* "": it has not said */
  double share;             /* of the job */
  double next_line;         /* seconds: not before */
};

struct progress {
  FILE *stream;
  enum progress_style style;
  bool drawn;
  size_t jobs, done, kept;
  struct at_work work[MOST_WORKERS];
  unsigned shown;             /* the worker that began a job last */
  double earlier;             /* jobs' shares that an earlier run did: what they had when they first said a word */
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

/* Jobs that were computed, those that run by their share. */
static double computed(const struct progress *progress) {
  double sum = (double)(progress->done - progress->kept);
  for (int i = 0; i < MOST_WORKERS; i++) {
    sum += progress->work[i].share;
  }
  return sum;
}

/* ", 12 s left", ", 7 min left", ", 2.5 h left" of the whole run, or "" where it is too early to say. */
static void say_time_left(const struct progress *progress, double time, char *out, size_t size) {
  double all = (double)(progress->jobs - progress->kept), done = computed(progress), own = done - progress->earlier;
  out[0] = '\0';
  if (own > 0.02 * (all - progress->earlier) && done < all) {
    double left = (time - progress->started) * (all - done) / own;
    if (left < 100) {
      snprintf(out, size, ", %.0f s left", left);
    } else if (left < 6000) {
      snprintf(out, size, ", %.0f min left", left / 60);
    } else {
      snprintf(out, size, ", %.1f h left", left / 3600);
    }
  }
}

/* A job in brief: without its experiment. */
static const char *short_id(const char *id) {
  const char *slash = strchr(id, '/');
  return slash ? slash + 1 : id;
}

/* Columns that a line may take: a longer one would not be taken away whole. */
static size_t columns(const struct progress *progress) {
  struct winsize window = {0};
  int file = fileno(progress->stream);
  size_t width = file >= 0 && ioctl(file, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : COLUMNS;
  return (width < MOST_COLUMNS ? width : MOST_COLUMNS) - 1;
}

/* The job whose words are shown. */
static const struct at_work *shown_work(const struct progress *progress) {
  const struct at_work *work = &progress->work[progress->shown];
  for (unsigned i = 0; i < MOST_WORKERS && !work->id[0]; i++) {
    work = &progress->work[i];
  }
  return work;
}

static void draw(struct progress *progress, bool always) {
  double time = now();
  if (progress->style != PROGRESS_BAR || !progress->jobs ||
      (!always && (time - progress->last_drawn) * 1000 < REDRAW_MS)) {
    return;
  }
  progress->last_drawn = time;
  double share = (computed(progress) + (double)progress->kept) / (double)progress->jobs;
  const struct at_work *work = shown_work(progress);
  char left[40], line[MOST_COLUMNS];
  size_t room = columns(progress);
  say_time_left(progress, time, left, sizeof left);
  for (int brief = 0; brief < 2; brief++) {
    char bar[BAR + 1] = "";
    int width = brief ? SHORT_BAR : BAR;
    for (int i = 0; i < width; i++) {
      bar[i] = (double)i < share * width ? '#' : '.';
    }
    bar[width] = '\0';
    int length = snprintf(line, sizeof line, "[%s] %zu/%zu%s%.60s%s%s%s", bar, progress->done, progress->jobs,
                          work->id[0] ? " " : "", brief ? short_id(work->id) : work->id, work->words[0] ? ", " : "",
                          work->words, left);
    if (length >= 0 && (size_t)length <= room) {
      break;
    }
  }
  line[room < sizeof line ? room : sizeof line - 1] = '\0';
  erase(progress);
  fputs(line, progress->stream);
  fflush(progress->stream);
  progress->drawn = true;
}

/* A log's line of where a job stands, where it is time for one. */
static void log_words(struct progress *progress, struct at_work *work) {
  double time = now();
  char left[40];
  if (progress->style != PROGRESS_LINES || !work->words[0] || time < work->next_line) {
    return;
  }
  say_time_left(progress, time, left, sizeof left);
  fprintf(progress->stream, "%s: %s%s\n", work->id, work->words, left);
  fflush(progress->stream);
  work->next_line = time + NEXT_LINE;
}

void progress_start(struct progress *progress, unsigned worker, const char *id) {
  if (worker < MOST_WORKERS) {
    struct at_work *work = &progress->work[worker];
    *work = (struct at_work){.next_line = now() + FIRST_LINE};
    snprintf(work->id, sizeof work->id, "%s", id);
    progress->shown = worker;
  }
  draw(progress, true);
}

/* Words may come from a process that a plugin has spoilt. */
static void take_words(struct at_work *work, const char *words) {
  size_t i = 0;
  for (; words[i] && i + 1 < sizeof work->words; i++) {
    work->words[i] = '?';
    if (words[i] >= ' ' && words[i] <= '~') {
      work->words[i] = words[i];
    }
  }
  work->words[i] = '\0';
}

void progress_part(struct progress *progress, unsigned worker, double done, const char *words) {
  if (worker < MOST_WORKERS) {
    struct at_work *work = &progress->work[worker];
    work->share = done >= 0 && done <= 1 ? done : 0;
    if (words) {
      progress->earlier += work->words[0] ? 0 : work->share;
      take_words(work, words);
      log_words(progress, work);
    }
  }
  draw(progress, false);
}

void progress_rest(struct progress *progress, unsigned worker) {
  if (worker < MOST_WORKERS) {
    progress->work[worker] = (struct at_work){0};
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
