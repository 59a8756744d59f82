#include "jobs/local.h"

#include "jobs/crew.h"

#include <stdlib.h>

static void tell_progress(void *progress, double done, const char *words) {
  progress_part(progress, 0, done, words);
}

static void tell_note(void *progress, const char *text) {
  progress_say(progress, text);
}

static int do_job(struct workshop *workshop, struct board *board, size_t i, struct error *err) {
  const struct job_report report = {NULL, tell_progress, tell_note, board->progress};
  struct job_outcome outcome;
  char *name = plan_job_id(board->plan, &board->plan->jobs[i], err);
  if (!name) {
    return err->code;
  }
  board_start(board, i);
  progress_start(board->progress, 0, name);
  free(name);
  int status = workshop_job(workshop, i, board->jobs[i].key, board->jobs[i].wish, &report, &outcome, err);
  progress_rest(board->progress, 0);
  return status ? status : board_done(board, i, &outcome, err);
}

int local_jobs(struct workshop *workshop, struct board *board, struct signals *signals, struct error *err) {
  int status = 0;
  while (!status && board->n_waiting && !board->stopped) {
    if (atomic_load(&signals->first)) {
      return CREW_INTERRUPTED;
    }
    size_t i = board->first;
    while (board->jobs[i].state != BOARD_WAITING) {
      i++;
    }
    status = do_job(workshop, board, i, err);
  }
  return !status && atomic_load(&signals->first) ? CREW_INTERRUPTED : status;
}
