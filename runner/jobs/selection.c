#include "jobs/selection.h"

#include "base/text.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_SIZE = 2 * RECORD_NAME + 24, MOST_SHARDS = 1000000, MOST_NAMED = 12 };

static bool matches(const char *pattern, const struct plan *plan, const struct job *job) {
  const char *experiment = plan->experiments[job->experiment].label, *label = plan->schemes[job->scheme].label;
  char id[ID_SIZE];
  const char *first = strchr(pattern, '/');
  if (!first) {
    return !fnmatch(pattern, label, 0) || !fnmatch(pattern, experiment, 0);
  }
  if (strchr(first + 1, '/')) {
    snprintf(id, sizeof id, "%s/%s/%" PRIu64, experiment, label, job->seed);
  } else {
    snprintf(id, sizeof id, "%s/%s", experiment, label);
  }
  return !fnmatch(pattern, id, FNM_PATHNAME);
}

static bool matches_any(const char *const *patterns, size_t count, const struct plan *plan, const struct job *job) {
  for (size_t i = 0; i < count; i++) {
    if (matches(patterns[i], plan, job)) {
      return true;
    }
  }
  return false;
}

static int nothing_selected(const struct plan *plan, struct error *err) {
  struct text text = {0};
  for (size_t i = 0; i < plan->n_jobs && i < MOST_NAMED; i++) {
    struct error ignored;
    char *id = plan_job_id(plan, &plan->jobs[i], &ignored);
    text_printf(&text, "%s%s", i ? ", " : "", id ? id : "?");
    free(id);
  }
  error_set(err, ERROR_NOTHING_SELECTED, "no job matches --only and --exclude; there are %s%s",
            text.data ? text.data : "others", plan->n_jobs > MOST_NAMED ? ", ... (pe-run plan --jobs)" : "");
  text_free(&text);
  return (int)err->code;
}

int selection_apply(const struct plan *plan, const struct selection *selection, bool *selected, struct error *err) {
  size_t matching = 0;
  const struct shard *shard = &selection->shard;
  for (size_t i = 0; i < plan->n_jobs; i++) {
    const struct job *job = &plan->jobs[i];
    bool match = (!selection->n_only || matches_any(selection->only, selection->n_only, plan, job)) &&
                 !matches_any(selection->exclude, selection->n_exclude, plan, job);
    selected[i] = match && (!shard->count || matching % shard->count == shard->index);
    matching += match;
  }
  return matching ? 0 : nothing_selected(plan, err);
}

bool shard_read(const char *text, struct shard *shard) {
  char *end;
  if (!isdigit((unsigned char)text[0])) {
    return false;
  }
  unsigned long index = strtoul(text, &end, 10);
  if (*end != '/' || !isdigit((unsigned char)end[1])) {
    return false;
  }
  unsigned long count = strtoul(end + 1, &end, 10);
  if (*end || count > MOST_SHARDS || index >= count) {
    return false;
  }
  *shard = (struct shard){index, count};
  return true;
}
