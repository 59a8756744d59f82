#include "results/gnuplot.h"

#include "base/memory.h"
#include "results/printable.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void gnuplot_quote(struct text *script, const char *text) {
  struct error ignored;
  char *line = printable_line(text, &ignored);
  script->failed = script->failed || !line;
  text_append(script, "'");
  for (const char *c = line ? line : ""; *c; c++) {
    text_append_bytes(script, c, 1);
    if (*c == '\'') {
      text_append(script, "'");
    }
  }
  text_append(script, "'");
  free(line);
}

void gnuplot_number(struct text *script, double value) {
  if (isfinite(value)) {
    text_append_double(script, value);
  } else {
    text_append(script, "NaN");
  }
}

/* Script, output and complaints go through unlinked files, so that neither side ever waits for the other. */
struct streams {
  FILE *script, *output, *complaints;
};

static void streams_close(struct streams *streams) {
  FILE *all[] = {streams->script, streams->output, streams->complaints};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i]) {
      fclose(all[i]);
    }
  }
}

static int streams_open(struct streams *streams, const struct text *script, struct error *err) {
  *streams = (struct streams){tmpfile(), tmpfile(), tmpfile()};
  if (streams->script && streams->output && streams->complaints &&
      fwrite(script->data, 1, script->length, streams->script) == script->length && !fflush(streams->script) &&
      !fseek(streams->script, 0, SEEK_SET)) {
    return 0;
  }
  error_set(err, ERROR_FILE_WRITE, "gnuplot's script cannot be written to a temporary file: %s", strerror(errno));
  streams_close(streams);
  return err->code;
}

static char *read_back(FILE *stream, size_t *count, struct error *err) {
  long end = fseek(stream, 0, SEEK_END) ? -1 : ftell(stream);
  if (end < 0 || fseek(stream, 0, SEEK_SET)) {
    error_set(err, ERROR_FILE_READ, "gnuplot's output cannot be read: %s", strerror(errno));
    return NULL;
  }
  *count = (size_t)end;
  char *bytes = memory_new(*count + 1, 1, "gnuplot's output", err);
  if (bytes && fread(bytes, 1, *count, stream) != *count) {
    error_set(err, ERROR_FILE_READ, "gnuplot's output cannot be read: %s", strerror(errno));
    free(bytes);
    return NULL;
  }
  return bytes;
}

static int spawn(const struct streams *streams, pid_t *process) {
  posix_spawn_file_actions_t actions;
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed) {
    return failed;
  }
  char name[] = "gnuplot", defaults[] = "--default-settings", locale[] = "LC_ALL=C.UTF-8";
  char *arguments[] = {name, defaults, NULL};
  char *environment[] = {locale, NULL};
  failed = posix_spawn_file_actions_adddup2(&actions, fileno(streams->script), STDIN_FILENO);
  failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(streams->output), STDOUT_FILENO);
  failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(streams->complaints), STDERR_FILENO);
  failed = failed ? failed : posix_spawnp(process, name, &actions, NULL, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/* The last line of what gnuplot complained of. */
static int complain(FILE *complaints, struct error *err) {
  size_t count;
  char *text = read_back(complaints, &count, err);
  if (!text) {
    return err->code;
  }
  char *last = "no reason given";
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    last = line;
  }
  error_set(err, ERROR_FILE_READ, "gnuplot failed: %s", last);
  free(text);
  return err->code;
}

static int run(const struct streams *streams, struct error *err) {
  pid_t process;
  int failed = spawn(streams, &process);
  if (failed) {
    return error_set(err, ERROR_FILE_READ, "gnuplot cannot be started: %s", strerror(failed));
  }
  int status;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) {
      return error_set(err, ERROR_FILE_READ, "gnuplot's end cannot be awaited: %s", strerror(errno));
    }
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : complain(streams->complaints, err);
}

char *gnuplot_run(const struct text *script, size_t *count, struct error *err) {
  struct streams streams;
  if (script->failed) {
    error_set(err, ERROR_MEMORY, "gnuplot's script: memory is not to be had");
    return NULL;
  }
  if (streams_open(&streams, script, err)) {
    return NULL;
  }
  char *output = run(&streams, err) ? NULL : read_back(streams.output, count, err);
  streams_close(&streams);
  return output;
}
