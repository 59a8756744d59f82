#include "jobs/board.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

int board_open(const struct plan *plan, struct board *board, struct error *err) {
  *board = (struct board){.plan = plan};
  board->jobs = memory_new(plan->n_jobs, sizeof *board->jobs, "jobs", err);
  return board->jobs ? 0 : (int)err->code;
}

void board_close(struct board *board) {
  for (size_t i = 0; board->jobs && i < board->plan->n_jobs; i++) {
    free(board->jobs[i].why);
  }
  free(board->jobs);
  *board = (struct board){0};
}

void board_fill(struct board *board, const struct parts_folder *folder, const bool *selected, bool others, bool compute,
                bool fresh) {
  for (size_t i = 0; i < board->plan->n_jobs; i++) {
    struct board_job *job = &board->jobs[i];
    bool there = !fresh && (selected[i] || others) && parts_has(folder, job->key);
    bool wanted = (selected[i] && compute) || there;
    job->state = wanted ? BOARD_WAITING : BOARD_LEFT;
    job->wish = !there ? JOB_ANEW : selected[i] && compute ? JOB_UNLESS_KEPT : JOB_ONLY_IF_KEPT;
    board->n_waiting += wanted;
    board->n_wanted += selected[i] || there;
  }
}

/* The job's name, which lives until the next call's; "" without memory. */
static char *name_of(const struct board *board, size_t job) {
  struct error ignored;
  return plan_job_id(board->plan, &board->plan->jobs[job], &ignored);
}

void board_start(struct board *board, size_t job) {
  board->jobs[job].state = BOARD_RUNNING;
  board->n_waiting--;
  board->n_running++;
  while (board->first < board->plan->n_jobs && board->jobs[board->first].state != BOARD_WAITING) {
    board->first++;
  }
}

void board_again(struct board *board, size_t job, enum job_wish wish) {
  board->jobs[job].state = BOARD_WAITING;
  board->jobs[job].wish = wish;
  board->n_running--;
  board->n_waiting++;
  board->first = job < board->first ? job : board->first;
}

static int set_why(struct board_job *job, const struct error *why, struct error *err) {
  free(job->why);
  job->why = memory_new(1, sizeof *job->why, "a job's failure", err);
  if (job->why) {
    *job->why = *why;
  }
  return job->why ? 0 : (int)err->code;
}

/* A job that failed and may be tried again waits. */
static bool tries_again(struct board *board, size_t job) {
  if (board->jobs[job].tries++ < board->retries && !board->stopped) {
    board_again(board, job, JOB_ANEW);
    return true;
  }
  board->n_failed++;
  board->stopped = board->stopped || board->fail_fast;
  return false;
}

static void show(const struct board *board, size_t job, const struct job_outcome *outcome) {
  char *name = name_of(board, job);
  if (name) {
    progress_end(board->progress, name, outcome->kept, outcome->status, &outcome->error);
  }
  free(name);
}

int board_done(struct board *board, size_t job, const struct job_outcome *outcome, struct error *err) {
  struct board_job *at = &board->jobs[job];
  if (outcome->status == RECORD_FAILED && tries_again(board, job)) {
    return 0;
  }
  board->n_running--;
  at->state = outcome->status == RECORD_NOT_RUN ? BOARD_LEFT : BOARD_DONE;
  at->status = outcome->status;
  at->kept = outcome->kept;
  board->n_kept += outcome->kept;
  board->n_computed += at->state == BOARD_DONE && !outcome->kept;
  if (at->state == BOARD_DONE) {
    show(board, job, outcome);
  }
  bool has_reason = outcome->status == RECORD_FAILED || outcome->status == RECORD_UNDEFINED;
  return has_reason ? set_why(at, &outcome->error, err) : 0;
}

int board_lost(struct board *board, size_t job, const struct error *failure, struct error *err) {
  if (tries_again(board, job)) {
    return 0;
  }
  board->n_running--;
  board->jobs[job].state = BOARD_LOST;
  show(board, job, &(struct job_outcome){.status = RECORD_FAILED, .error = *failure});
  return set_why(&board->jobs[job], failure, err);
}

void board_join_jobs(const struct board *board, struct join_job *jobs) {
  for (size_t i = 0; i < board->plan->n_jobs; i++) {
    const struct board_job *from = &board->jobs[i];
    jobs[i] = (struct join_job){.state = from->state == BOARD_DONE   ? JOB_IN_PART
                                         : from->state == BOARD_LOST ? JOB_LOST
                                                                     : JOB_MISSING,
                                .failure = from->why};
    memcpy(jobs[i].key, from->key, sizeof jobs[i].key);
  }
}

size_t board_missing(const struct board *board) {
  size_t done = 0;
  for (size_t i = 0; i < board->plan->n_jobs; i++) {
    done += board->jobs[i].state == BOARD_DONE || board->jobs[i].state == BOARD_LOST;
  }
  return board->n_wanted > done ? board->n_wanted - done : 0;
}
