#include "jobs/join.h"

#include "base/memory.h"
#include "jobs/decide.h"
#include "jobs/environments.h"
#include "jobs/job_run.h"
#include "jobs/part.h"
#include "jobs/record_digest.h"
#include "jobs/run_file.h"
#include "jobs/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct joining {
  const struct plan *plan;
  const struct join_request *request;
  struct run run;
  struct environments environments;
  struct run_job *jobs;
  bool whole;
};

static int read_job(struct joining *joining, size_t i, struct error *err) {
  const struct join_job *job = &joining->request->jobs[i];
  struct record *record = &joining->run.records[i];
  char *environment = NULL;
  int status = 0;
  switch (job->state) {
  case JOB_IN_PART:
    status = part_read(joining->request->parts, job->key, record, &environment, joining->run.digests[i], err);
    status = status ? status : environments_add(&joining->environments, environment, err);
    free(environment);
    return status;
  case JOB_LOST:
    status = job_record_name(joining->plan, &joining->plan->jobs[i], record, err);
    status = status ? status : job_record_fail(record, job->failure, err);
    break;
  case JOB_MISSING:
    *record = (struct record){.seed = joining->plan->jobs[i].seed, .status = RECORD_NOT_RUN};
    joining->whole = false;
    break;
  }
  return status ? status : record_digest(record, joining->run.digests[i], err);
}

/* Whether the output will give back the record that went into it. */
static int judge_job(struct joining *joining, size_t i, bool *given_back, struct error *err) {
  const struct plan *plan = joining->plan;
  const struct job *job = &plan->jobs[i];
  const struct record *stacked = &joining->run.experiments[job->experiment].schemes[job->scheme];
  struct record record;
  char digest[HASH_TEXT];
  bool single = plan->experiments[job->experiment].info->trains;
  int status = record_unstack(stacked, (size_t)(job->seed - plan->seed), job->seed, single, &record, err);
  status = status ? status : record_digest(&record, digest, err);
  *given_back = !status && !strcmp(digest, joining->run.digests[i]);
  record_free(&record);
  return status;
}

/* Finished jobs are entered by their keys, so that they are found again. */
static int judge_jobs(struct joining *joining, bool *needed, struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < joining->plan->n_jobs; i++) {
    enum record_status record = joining->run.records[i].status;
    bool finished =
        joining->request->jobs[i].state == JOB_IN_PART && (record == RECORD_MEASURED || record == RECORD_UNDEFINED);
    bool given_back = false;
    joining->jobs[i] = (struct run_job){"", ""};
    if (finished) {
      status = judge_job(joining, i, &given_back, err);
      needed[i] = !given_back;
    }
    if (given_back) {
      joining->jobs[i] = (struct run_job){joining->request->jobs[i].key, joining->run.digests[i]};
    }
  }
  return status;
}

static char *show_tables(const struct plan *plan, const struct run *run, const struct table_style *style,
                         struct error *err) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  int status = stream ? 0 : error_set(err, ERROR_MEMORY, "tables: memory is not to be had");
  for (size_t i = 0; !status && i < plan->n_experiments + 2; i++) {
    const struct conclusion *conclusion = i < plan->n_experiments    ? &run->experiments[i].conclusion
                                          : i == plan->n_experiments ? &run->grid
                                                                     : &run->decision.conclusion;
    for (size_t t = 0; !status && t < conclusion->n_tables; t++) {
      const struct table *table = &conclusion->tables[t];
      status = table_rows(table) ? table_show(table, style, stream, err) : 0;
    }
  }
  if (stream && fclose(stream) && !status) {
    status = error_set(err, ERROR_MEMORY, "tables: memory is not to be had");
  }
  if (status) {
    free(text);
    return NULL;
  }
  return text;
}

static int write_output(struct joining *joining, struct error *err) {
  char *environment = environments_text(&joining->environments, err);
  if (!environment) {
    return err->code;
  }
  const struct run_file file = {
      .path = joining->request->output, .whole = joining->whole, .environment = environment, .jobs = joining->jobs};
  int status = run_file_write(joining->plan, &joining->run, &file, err);
  if (!status && joining->plan->decision) {
    status = decide_write_files(joining->plan, &joining->run.decision.conclusion, file.path, err);
  }
  free(environment);
  return status;
}

static int join(struct joining *joining, struct join_answer *answer, struct error *err) {
  const struct plan *plan = joining->plan;
  joining->run.records = memory_new(plan->n_jobs, sizeof *joining->run.records, "records", err);
  joining->run.digests =
      joining->run.records ? memory_new(plan->n_jobs, sizeof *joining->run.digests, "digests", err) : NULL;
  joining->jobs = joining->run.digests ? memory_new(plan->n_jobs, sizeof *joining->jobs, "jobs", err) : NULL;
  answer->needed = joining->jobs ? memory_new(plan->n_jobs, sizeof *answer->needed, "jobs", err) : NULL;
  int status = answer->needed ? 0 : (int)err->code;
  for (size_t i = 0; !status && i < plan->n_jobs; i++) {
    status = read_job(joining, i, err);
  }
  status = status ? status : run_conclude(plan, &joining->run, err);
  answer->n_broken = joining->run.n_broken;
  status = status ? status : judge_jobs(joining, answer->needed, err);
  status = status ? status : write_output(joining, err);
  if (!status && joining->request->tables) {
    answer->text = show_tables(plan, &joining->run, &joining->request->style, err);
    status = answer->text ? 0 : (int)err->code;
  }
  return status;
}

int join_parts(const struct plan *plan, const struct join_request *request, struct join_answer *answer,
               struct error *err) {
  struct joining joining = {.plan = plan, .request = request, .whole = true};
  *answer = (struct join_answer){.n_jobs = plan->n_jobs};
  int status = join(&joining, answer, err);
  if (status) {
    join_answer_free(answer);
  }
  run_free(plan, &joining.run);
  environments_free(&joining.environments);
  free(joining.jobs);
  return status;
}

void join_answer_free(struct join_answer *answer) {
  free(answer->text);
  free(answer->needed);
  *answer = (struct join_answer){0};
}

/* ---- in messages ---- */

void packet_put_join(struct packet *packet, const struct join_request *request, size_t n_jobs) {
  static const struct error none = {0};
  packet_put_text(packet, request->parts);
  packet_put_text(packet, request->output);
  packet_put_number(packet, request->tables);
  packet_put_number(packet, request->style.format);
  packet_put_number(packet, (uint64_t)request->style.width);
  packet_put_number(packet, request->style.color);
  for (size_t i = 0; i < n_jobs; i++) {
    const struct join_job *job = &request->jobs[i];
    packet_put_number(packet, job->state);
    packet_put_bytes(packet, job->key, sizeof job->key);
    if (job->state == JOB_LOST) {
      packet_put_error(packet, job->failure ? job->failure : &none);
    }
  }
}

/* Jobs and, behind them, their failures, in one block. */
static struct join_job *take_jobs(struct packet *packet, size_t n_jobs) {
  struct error ignored;
  struct join_job *jobs = memory_new(n_jobs, sizeof *jobs + sizeof(struct error), "jobs", &ignored);
  struct error *failures = jobs ? (struct error *)(void *)(jobs + n_jobs) : NULL;
  for (size_t i = 0; jobs && i < n_jobs; i++) {
    jobs[i].state = (enum job_state)packet_number(packet);
    const char *key = packet_bytes(packet, sizeof jobs[i].key);
    if (key) {
      memcpy(jobs[i].key, key, sizeof jobs[i].key);
      jobs[i].key[sizeof jobs[i].key - 1] = '\0';
    }
    if (jobs[i].state == JOB_LOST) {
      packet_error(packet, &failures[i]);
      jobs[i].failure = &failures[i];
    }
  }
  return jobs;
}

bool packet_join(struct packet *packet, struct join_request *request, size_t n_jobs) {
  request->parts = packet_text(packet);
  request->output = packet_text(packet);
  request->tables = packet_number(packet) != 0;
  request->style.format = (enum table_format)packet_number(packet);
  request->style.width = (int)packet_number(packet);
  request->style.color = packet_number(packet) != 0;
  struct join_job *jobs = take_jobs(packet, n_jobs);
  request->jobs = jobs;
  if (packet->failed || !request->parts || !request->output || !jobs) {
    free(jobs);
    request->jobs = NULL;
    return false;
  }
  return true;
}

void packet_put_join_answer(struct packet *packet, const struct join_answer *answer) {
  packet_put_text(packet, answer->text);
  packet_put_number(packet, answer->n_broken);
  packet_put_bytes(packet, answer->needed, answer->n_jobs * sizeof *answer->needed);
}

bool packet_join_answer(struct packet *packet, struct join_answer *answer, size_t n_jobs) {
  struct error ignored;
  *answer = (struct join_answer){.n_jobs = n_jobs};
  const char *text = packet_text(packet);
  answer->n_broken = (size_t)packet_number(packet);
  const unsigned char *needed = packet_bytes(packet, n_jobs);
  answer->text = text ? memory_copy_text(text, &ignored) : NULL;
  answer->needed = needed ? memory_new(n_jobs, sizeof *answer->needed, "jobs", &ignored) : NULL;
  for (size_t i = 0; answer->needed && i < n_jobs; i++) {
    answer->needed[i] = needed[i] != 0;
  }
  if (!answer->needed || (text && !answer->text)) {
    join_answer_free(answer);
    return false;
  }
  return true;
}
