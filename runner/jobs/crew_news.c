#include "jobs/crew_parts.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

double crew_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what workers say ---- */

void crew_say(const struct crew *crew, const char *text) {
  progress_say(crew->setting.progress, text);
}

unsigned crew_number_of(const struct crew *crew, const struct hand *hand) {
  return (unsigned)(hand - crew->hands);
}

static void keep_failure(struct crew *crew, const struct error *failure) {
  if (!crew->failure.code) {
    crew->failure = *failure;
  }
  if (crew->board) {
    crew->board->stopped = true;
  }
}

static void job_is_done(struct crew *crew, struct hand *hand, struct packet *body) {
  struct error err;
  struct job_outcome outcome = {.kept = packet_number(body) != 0, .status = (enum record_status)packet_number(body)};
  packet_error(body, &outcome.error);
  outcome.spent = packet_number(body) != 0;
  if (body->failed || outcome.status > RECORD_NOT_RUN) {
    error_set(&outcome.error, ERROR_JOB_CRASHED, "the worker's report is not whole");
    outcome.status = RECORD_FAILED;
    outcome.spent = true;
  }
  hand->jobs_done++;
  progress_rest(crew->setting.progress, crew_number_of(crew, hand));
  if (board_done(crew->board, hand->job, &outcome, &err)) {
    keep_failure(crew, &err);
  }
  if (outcome.spent) {
    hand_dismiss(hand);
  }
}

static void take_answer(struct crew *crew, struct hand *hand, struct message *message) {
  enum ask question = hand_answers(hand);
  if (question == ASK_JOB) {
    job_is_done(crew, hand, &message->body);
  } else if (question > ASK_PLAN) {
    packet_free(&hand->answer);
    hand->answer = message->body;
    hand->answered = true;
    message->body = (struct packet){0};
  }
}

/* What keeps the run from going on; where it is a question's answer, its asker decides. */
static void take_error(struct crew *crew, struct hand *hand, struct packet *body) {
  struct error failure;
  enum ask question = hand_answers(hand);
  packet_error(body, &failure);
  if (question == ASK_JOB) {
    board_again(crew->board, hand->job, JOB_UNLESS_KEPT);
    progress_rest(crew->setting.progress, crew_number_of(crew, hand));
    keep_failure(crew, &failure);
  } else if (question > ASK_PLAN) {
    hand->failure = failure;
    hand->answered = true;
  } else {
    keep_failure(crew, &failure);
  }
}

/* The time so many seconds from now; INFINITY for 0. */
static double in_seconds(double seconds) {
  return seconds > 0 ? crew_now() + seconds : INFINITY;
}

static void take_progress(struct crew *crew, struct hand *hand, struct packet *body) {
  double done = packet_real(body);
  const char *words = packet_text(body);
  if (!hand->started || body->failed || !(done >= 0 && done <= 1)) {
    return;
  }
  if (done >= hand->progressed + LEAST_PROGRESS) {
    hand->progressed = done;
    hand->stalls_at = in_seconds(crew->setting.stall);
  }
  progress_part(crew->setting.progress, crew_number_of(crew, hand), done, words);
}

static void take_message(struct crew *crew, struct hand *hand, struct message *message) {
  const char *text;
  switch (message->type) {
  case TELL_DONE:
    take_answer(crew, hand, message);
    break;
  case TELL_ERROR:
    take_error(crew, hand, &message->body);
    break;
  case TELL_LOADING:
    text = packet_text(&message->body);
    snprintf(hand->loading, sizeof hand->loading, "%s", text ? text : "");
    break;
  case TELL_STARTED:
    hand->started = true;
    hand->deadline = in_seconds(crew->setting.timeout);
    hand->stalls_at = in_seconds(crew->setting.stall);
    hand->progressed = 0;
    break;
  case TELL_PROGRESS:
    take_progress(crew, hand, &message->body);
    break;
  case TELL_NOTE:
    text = packet_text(&message->body);
    crew_say(crew, text ? text : "");
    break;
  default:
    break;
  }
}

/* ---- how workers end ---- */

static void describe_death(const struct crew *crew, const struct hand *hand, const struct process_end *end, bool late,
                           bool spoilt, struct error *failure) {
  const struct plan *plan = crew->board->plan;
  const struct scheme_info *info = plan->schemes[plan->jobs[hand->job].scheme].info;
  char how[160], who[400];
  process_end_describe(end, how, sizeof how);
  snprintf(who, sizeof who, "%.64s%s%.256s%s", info->id, info->path[0] ? " (" : "", info->path,
           info->path[0] ? ")" : "");
  if (late && crew_now() > hand->deadline) {
    error_set(failure, ERROR_JOB_TIMEOUT, "%s: took longer than %g seconds (--timeout)", who, crew->setting.timeout);
  } else if (late) {
    error_set(failure, ERROR_JOB_TIMEOUT, "%s: made no progress for %g seconds (--stall)", who, crew->setting.stall);
  } else if (spoilt) {
    error_set(failure, ERROR_JOB_CRASHED, "%s: wrote into files that are pe-run's own", who);
  } else if (!end->by_signal && end->number == WORKER_CUT_OFF) {
    error_set(failure, ERROR_JOB_CRASHED, "%s: closed files that are pe-run's own", who);
  } else if (end->by_signal && end->number == SIGKILL) {
    error_set(failure, ERROR_JOB_MEMORY, "%s: was killed, as the system does when memory runs out", who);
  } else {
    error_set(failure, ERROR_JOB_CRASHED, "%s: %s", who, how);
  }
}

/* A worker that had no fault of its own until now may have been spoilt by an earlier job: then the job gets a worker to
 * itself. One that died of looking at an earlier part computes the job instead. */
static void job_has_ended_its_worker(struct crew *crew, struct hand *hand, const struct process_end *end, bool late,
                                     bool spoilt) {
  struct error failure, err;
  struct board_job *job = &crew->board->jobs[hand->job];
  progress_rest(crew->setting.progress, crew_number_of(crew, hand));
  if (!hand->started && job->wish != JOB_ANEW) {
    crew_say(crew, "a part that was kept cannot be read without a crash: its job is computed again");
    board_again(crew->board, hand->job, JOB_ANEW);
    return;
  }
  if (!late && hand->jobs_done && !job->alone) {
    job->alone = true;
    board_again(crew->board, hand->job, JOB_ANEW);
    return;
  }
  describe_death(crew, hand, end, late, spoilt, &failure);
  if (board_lost(crew->board, hand->job, &failure, &err)) {
    keep_failure(crew, &err);
  }
}

static void hand_has_ended(struct crew *crew, struct hand *hand, const struct process_end *end, bool late,
                           bool spoilt) {
  enum ask question = (enum ask)0;
  for (size_t i = 0; i < hand->n_pending; i++) {
    question = hand->pending[i] > question ? hand->pending[i] : question;
  }
  struct error failure;
  char how[160];
  process_end_describe(end, how, sizeof how);
  if (question == ASK_JOB) {
    job_has_ended_its_worker(crew, hand, end, late, spoilt);
    hand_dismiss(hand);
    return;
  }
  hand_dismiss(hand);
  error_set(&failure, ERROR_INTERNAL, "a worker %s before it had a job", how);
  if (question > ASK_PLAN) {
    hand->failure = failure;
    snprintf(hand->failure.text, sizeof hand->failure.text, "%s", how);
    hand->answered = true;
  } else if (question) {
    keep_failure(crew, &failure);
  }
}

void crew_look_at(struct crew *crew, struct hand *hand) {
  struct process_end end = {0};
  struct message message;
  enum channel_news news = CHANNEL_NOTHING;
  /* A message may dismiss the hand. */
  while (hand->process.id && (news = channel_receive(&hand->process.channel, false, &message)) == CHANNEL_MESSAGE) {
    take_message(crew, hand, &message);
    packet_free(&message.body);
  }
  if (!hand->process.id) {
    return;
  }
  if (news == CHANNEL_CLOSED) {
    /* It ends by itself in a moment, and how is worth knowing. */
    for (int i = 0; i < TICK_MS && !process_has_ended(&hand->process, &end); i++) {
      poll(NULL, 0, 1);
    }
    if (hand->process.id) {
      process_kill(&hand->process, &end);
      end = (struct process_end){.number = WORKER_CUT_OFF};
    }
    hand_has_ended(crew, hand, &end, false, false);
  } else if (news == CHANNEL_SPOILT) {
    process_kill(&hand->process, &end);
    hand_has_ended(crew, hand, &end, false, true);
  } else if (process_has_ended(&hand->process, &end)) {
    hand_has_ended(crew, hand, &end, false, false);
  } else if (hand_is_busy(hand) && crew_now() > fmin(hand->deadline, hand->stalls_at)) {
    process_kill(&hand->process, &end);
    hand_has_ended(crew, hand, &end, true, false);
  }
}
