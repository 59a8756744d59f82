/* What every part of one reading of a config shares: memory, the list of what is wrong, the texts read. */
#ifndef PE_CONFIG_READER_H
#define PE_CONFIG_READER_H

#include "config/arena.h"
#include "config/diagnostics.h"
#include "config/node.h"

#include <stdbool.h>
#include <stddef.h>

struct reader {
  struct arena arena;
  struct diagnostics *diagnostics;
  const char *folder; /* of the config, without a slash at the end; "": the current one */
  size_t nodes;       /* made so far, aliases counted as often as they are used */
};

/* Report what is wrong at a node: "path: sentence" at the node's place. `path` may be NULL. */
void reader_report(struct reader *reader, enum error_code code, const struct node *node, const char *path,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same at a place of a source; line 0: the source as a whole. */
void reader_report_at(struct reader *reader, enum error_code code, const struct source *source, int line, int column,
                      const char *format, ...) __attribute__((format(printf, 6, 7)));

/* "path.key", or "key" where path is "". */
const char *reader_path(struct reader *reader, const char *path, const char *key);

/* "; did you mean 'x'?" or "". `names` is ended by NULL. */
const char *reader_hint(struct reader *reader, const char *name, const char *const *names);

/* Read the regular file `path`, at most 1 MiB, without hanging on a FIFO or device; a byte-order mark is skipped in
 * source->text, not in *bytes (the whole as read, in the arena). False after a report. */
bool source_read(struct reader *reader, const char *path, struct source *source, const char **bytes);

/* A source of bytes that were read already; they must outlive it. A byte-order mark is skipped. */
void source_of_text(const char *place, const char *bytes, struct source *source);

/* Check that a source is UTF-8 without NUL and control characters. False after a report with line and column. */
bool source_check(struct reader *reader, const struct source *source);

#endif
