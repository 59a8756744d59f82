#include "host/check/check.h"

#include "base/memory.h"
#include "host/check/child.h"
#include "host/check/run.h"
#include "host/check/subject.h"
#include "host/plugin_file.h"
#include "host/plugin_load.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory that a child may take on top of what its parent has. */
#define MEMORY_LIMIT ((size_t)768 << 20)

static const struct check CHECKS[] = {
    {"file", "a regular file for this machine, where only its owner can write", NULL, CHECK_OF_PLUGIN | CHECK_UNLOADED,
     GATE_NONE, GATE_NONE},
    {"load", "it loads with all symbols bound, and its entry and tables are sound", check_load,
     CHECK_OF_PLUGIN | CHECK_UNLOADED, GATE_NONE, GATE_NONE},
    {"load.environment", "loading it leaves the floating-point environment alone", check_load_environment,
     CHECK_OF_PLUGIN, GATE_NONE, GATE_NONE},
    {"load.symbols", "it exports its entry and nothing else", check_symbols,
     CHECK_OF_PLUGIN | CHECK_UNLOADED | CHECK_NO_SANITIZER, GATE_NONE, GATE_NONE},
    {"exit", "a process that has loaded it can end in the ordinary way", check_exit,
     CHECK_OF_PLUGIN | CHECK_EXITS | CHECK_NO_SANITIZER, GATE_NONE, GATE_NONE},
    {"extension", "an id that nobody knows has no extension", check_extension, 0, GATE_NONE, GATE_NONE},
    {"create.defaults", "an instance can be made from the defaults", check_create_defaults, 0, GATE_NONE,
     GATE_INSTANCE},
    {"create.bounds", "every parameter at each of its bounds gets an answer", check_create_bounds, 0, GATE_INSTANCE,
     GATE_NONE},
    {"create.random", "parameters at random in their ranges get an answer", check_create_random, 0, GATE_INSTANCE,
     GATE_NONE},
    {"destroy", "NULL can be destroyed", check_destroy, 0, GATE_NONE, GATE_NONE},
    {"write.bounds", "nothing is written or read outside of what is lent, and inputs are not written", check_bounds, 0,
     GATE_INSTANCE, GATE_BOUNDS},
    {"calls", "every call inside the domain succeeds", check_calls, 0, GATE_BOUNDS, GATE_CALLS},
    {"values", "all results are finite", check_values, 0, GATE_CALLS, GATE_NONE},
    {"write.all", "every element of an output is written", check_written, 0, GATE_CALLS, GATE_NONE},
    {"additive", "EMBED and BIAS add to what is there", check_additive, 0, GATE_CALLS, GATE_NONE},
    {"empty", "a call with nothing in it does nothing", check_empty, 0, GATE_CALLS, GATE_NONE},
    {"scratch", "results do not depend on what scratch held", check_scratch, 0, GATE_CALLS, GATE_NONE},
    {"in_place", "QK gives the same bits in place", check_in_place, 0, GATE_CALLS, GATE_NONE},
    {"strides", "gaps between rows and odd addresses do not change a bit", check_strides, 0, GATE_CALLS, GATE_NONE},
    {"split.rows", "rows give the same bits however they are cut into calls", check_split_rows, 0, GATE_CALLS,
     GATE_NONE},
    {"split.heads", "heads give the same bits however they are cut into calls", check_split_heads, 0, GATE_CALLS,
     GATE_NONE},
    {"split.tiles", "scores give the same bits however they are cut into tiles", check_split_tiles, 0, GATE_CALLS,
     GATE_NONE},
    {"decode", "one token at a time gives the bits of the full run", check_decode, 0, GATE_CALLS, GATE_NONE},
    {"repeat", "the same call and another instance give the same bits", check_repeat, 0, GATE_CALLS, GATE_NONE},
    {"addresses", "results do not depend on where things lie in memory", check_addresses, CHECK_TWICE, GATE_CALLS,
     GATE_NONE},
    {"order", "results do not depend on the calls before", check_order, 0, GATE_CALLS, GATE_NONE},
    {"threads", "several threads on one instance get the bits of one", check_threads, 0, GATE_CALLS, GATE_NONE},
    {"globals", "the plugin's own data does not change", check_globals, CHECK_NO_SANITIZER, GATE_CALLS, GATE_NONE},
    {"tensors", "nothing computed from a tensor's contents is kept", check_tensors, 0, GATE_CALLS, GATE_NONE},
    {"create.shapes", "odd, tiny and missing widths get an answer, and what is taken works", check_create_shapes, 0,
     GATE_CALLS, GATE_NONE},
    {"create.leaks", "instances leave no memory behind", check_create_leaks, CHECK_NO_SANITIZER, GATE_CALLS, GATE_NONE},
    {"domain", "the domain makes sense", check_domain, 0, GATE_INSTANCE, GATE_NONE},
    {"domain.inside", "positions inside the domain have finite results, to its edges", check_domain_inside, 0,
     GATE_CALLS, GATE_NONE},
    {"domain.outside", "positions outside are refused: status, row, sentence, outputs untouched", check_domain_outside,
     0, GATE_CALLS, GATE_NONE},
    {"trait.relative", "PE_TRAIT_RELATIVE: shifted positions give the same scores", check_relative, 0, GATE_CALLS,
     GATE_NONE},
    {"trait.length", "without PE_TRAIT_LENGTH_DEPENDENT the length changes nothing", check_length, 0, GATE_CALLS,
     GATE_NONE},
    {"derived", "derived values are finite, named, and of the size they say", check_derived, 0, GATE_INSTANCE,
     GATE_NONE},
    {"derived.pinned", "derived values are those that the calls work with", check_derived_pinned, 0, GATE_CALLS,
     GATE_NONE},
    {"environment.fp", "calls leave the floating-point environment alone", check_fp_environment, 0, GATE_CALLS,
     GATE_NONE},
    {"environment.process", "locale, signals, descriptors, folder, variables, output and processes are left alone",
     check_process, 0, GATE_CALLS, GATE_NONE},
    {"gradient.rows", "gradients of rows agree with differences", check_gradient_rows, 0, GATE_CALLS, GATE_NONE},
    {"gradient.bias", "gradients of scores agree with differences", check_gradient_bias, 0, GATE_CALLS, GATE_NONE},
};
enum { CHECKS_COUNT = sizeof CHECKS / sizeof CHECKS[0] };

size_t check_count(void) {
  return CHECKS_COUNT;
}

struct check_description check_describe(size_t which) {
  return (struct check_description){.id = CHECKS[which].id, .proves = CHECKS[which].proves};
}

const char *check_outcome_name(enum check_outcome outcome) {
  static const char *const NAMES[] = {"pass", "warn", "skip", "fail", "crashed"};
  return NAMES[outcome];
}

/* ---- verdicts, in the child ---- */

static void set_verdict(struct check_run *run, enum check_outcome outcome, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void set_verdict(struct check_run *run, enum check_outcome outcome, const char *format, va_list arguments) {
  struct check_verdict *verdict = run->verdict;
  verdict->outcome = outcome;
  int length = vsnprintf(verdict->text, sizeof verdict->text, format, arguments);
  if (run->variant[0] && length > 0 && (size_t)length < sizeof verdict->text) {
    snprintf(verdict->text + length, sizeof verdict->text - (size_t)length, " (with %s)", run->variant);
  }
}

void check_fail(struct check_run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (run->verdict->outcome != CHECK_FAIL) {
    set_verdict(run, CHECK_FAIL, format, arguments);
  }
  va_end(arguments);
}

void check_warn(struct check_run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (run->verdict->outcome != CHECK_FAIL && run->verdict->outcome != CHECK_WARN) {
    set_verdict(run, CHECK_WARN, format, arguments);
  }
  va_end(arguments);
}

/* A variant that cannot be judged is no reason to skip what the others have shown. */
void check_skip(struct check_run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (run->verdict->outcome == CHECK_PASS && !run->variant[0]) {
    set_verdict(run, CHECK_SKIP, format, arguments);
  }
  va_end(arguments);
}

bool check_failed(const struct check_run *run) {
  return run->verdict->outcome == CHECK_FAIL;
}

void check_stage(struct check_run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(run->stage, CHILD_STAGE, format, arguments);
  va_end(arguments);
  if (run->variant[0] && length > 0 && length < CHILD_STAGE) {
    snprintf(run->stage + length, (size_t)(CHILD_STAGE - length), " (with %s)", run->variant);
  }
}

struct rng check_rng(const struct check_run *run, const char *name) {
  char stream[200];
  snprintf(stream, sizeof stream, "check/%s/%s", run->spec.label, name);
  return rng_stream(run->options->seed, stream);
}

/* ---- one check ---- */

struct task {
  const struct check *check;
  struct check_run run;
  bool in_child;
};

/* Everything that is mapped or allocated from now on lies elsewhere than in the other child. What was freed before is
 * used up, from large blocks to small ones, until one of each size comes from behind the present end of the heap. All
 * stay until the child ends. */
static void move_addresses(void) {
  void *pages = mmap(NULL, (size_t)53 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  (void)pages;
  uintptr_t end = (uintptr_t)sbrk(0);
  enum { LARGEST = 1 << 16, LARGE = 4096, UNIT = 16 };
  for (size_t size = LARGEST; size > 0; size -= size > LARGE ? (size_t)LARGE : (size_t)UNIT) {
    void *volatile block; /* a compiler may leave out a block that nobody reads */
    do {
      block = malloc(size);
    } while (block && (uintptr_t)block < end);
  }
}

static bool load(struct check_run *run) {
  struct error err;
  check_stage(run, "loading");
  if (plugin_load(run->path, run->shown, &run->entry, &run->load_changed_fp, &err)) {
    check_fail(run, "%s", err.text);
    return false;
  }
  run->table = run->entry->schemes[run->spec.scheme];
  return true;
}

static void task_main(void *context, char *stage, void *shared) {
  struct task *task = context;
  struct check_run *run = &task->run;
  struct error err;
  struct guard_table *guards = memory_new(1, sizeof *guards, "guarded memory", &err);
  run->stage = stage;
  run->verdict = shared;
  run->guards = guards;
  if (!guards || (task->in_child && guard_watch(guards, stage, CHILD_STAGE, &run->verdict->touched_guard, &err))) {
    check_fail(run, "%s", err.text);
    free(guards);
    return;
  }
  if (run->attempt > 0) {
    move_addresses();
  }
  if ((task->check->flags & CHECK_UNLOADED) || load(run)) {
    task->check->run(run);
  }
  if (!task->in_child) {
    free(guards);
  }
}

static void judge_end(const struct check *check, const struct child_report *report, const struct child_limits *limits,
                      struct check_verdict *verdict) {
  bool exited = (check->flags & CHECK_EXITS) && report->end == CHILD_EXITED && report->number == 0;
  if (report->end == CHILD_FINISHED || exited || verdict->outcome == CHECK_FAIL) {
    return;
  }
  size_t size = sizeof verdict->text;
  if (verdict->touched_guard) {
    verdict->outcome = CHECK_FAIL;
    snprintf(verdict->text, size, "%s", report->stage);
    return;
  }
  verdict->outcome = CHECK_CRASHED;
  switch (report->end) {
  case CHILD_SIGNAL:
    snprintf(verdict->text, size, "killed by signal %d (%s) in: %s", report->number, strsignal(report->number),
             report->stage);
    break;
  case CHILD_TIMEOUT:
    snprintf(verdict->text, size, "not finished after %g s, in: %s", limits->seconds, report->stage);
    break;
  default:
    snprintf(verdict->text, size, "ended the process, with exit status %d, in: %s", report->number, report->stage);
  }
}

/* Run one check once; *verdict is what is known of it afterwards. */
static int run_once(const struct check *check, const struct check_run *prepared, struct check_verdict *verdict,
                    struct error *err) {
  struct task task = {.check = check, .run = *prepared, .in_child = !prepared->options->in_process};
  double seconds = prepared->options->time_limit > 0        ? prepared->options->time_limit
                   : prepared->options->level == CHECK_DEEP ? 120
                                                            : 10;
  struct child_limits limits = {.seconds = CHECK_SANITIZED ? 10 * seconds : seconds,
                                .memory = CHECK_SANITIZED ? 0 : MEMORY_LIMIT};
  if (!task.in_child) {
    char stage[CHILD_STAGE] = "";
    task_main(&task, stage, verdict);
    return 0;
  }
  struct child_report report;
  int status = child_run(task_main, &task, &limits, verdict, sizeof *verdict, &report, err);
  if (!status) {
    judge_end(check, &report, &limits, verdict);
  }
  return status;
}

static int run_check(const struct check *check, struct check_run *run, struct check_verdict *verdict,
                     struct error *err) {
  *verdict = (struct check_verdict){.outcome = CHECK_PASS};
  run->attempt = 0;
  if ((check->flags & CHECK_NO_SANITIZER) && CHECK_SANITIZED) {
    verdict->outcome = CHECK_SKIP;
    snprintf(verdict->text, sizeof verdict->text, "sanitizers change what it measures");
    return 0;
  }
  int status = run_once(check, run, verdict, err);
  if (status || !(check->flags & CHECK_TWICE) || verdict->outcome != CHECK_PASS || run->options->in_process) {
    return status;
  }
  struct check_verdict again = {.outcome = CHECK_PASS};
  run->attempt = 1;
  status = run_once(check, run, &again, err);
  if (!status && again.outcome != CHECK_PASS) {
    *verdict = again;
  } else if (!status && again.digest != verdict->digest) {
    verdict->outcome = CHECK_FAIL;
    snprintf(verdict->text, sizeof verdict->text,
             "two processes in which the plugin and its instances lie at other addresses get different results");
  }
  return status;
}

/* ---- all of them ---- */

struct session {
  const struct check_options *options;
  void (*report)(void *context, const struct check_result *result);
  void *context;
  struct check_summary *summary;
};

static bool is_wanted(const struct check_options *options, const char *id) {
  if (!options->only) {
    return true;
  }
  size_t length = strlen(options->only);
  return !strncmp(id, options->only, length) && (id[length] == '\0' || id[length] == '.');
}

static void tell(const struct session *session, const struct check *check, const char *scheme,
                 const struct check_verdict *verdict) {
  struct check_result result = {.id = check->id, .proves = check->proves, .outcome = verdict->outcome};
  snprintf(result.scheme, sizeof result.scheme, "%s", scheme);
  snprintf(result.text, sizeof result.text, "%s", verdict->outcome == CHECK_PASS ? "" : verdict->text);
  session->summary->count[result.outcome]++;
  session->report(session->context, &result);
}

/* The file is judged in this process: nothing of the plugin runs. Whether it is worth going on. */
static bool judge_file(const struct session *session, const char *path, struct plugin_file *file) {
  struct error err;
  struct check_verdict verdict = {.outcome = CHECK_PASS};
  if (plugin_file_check(path, NULL, session->options->trust, file, &err)) {
    verdict.outcome = CHECK_FAIL;
    snprintf(verdict.text, sizeof verdict.text, "%.*s", CHECK_TEXT - 1, err.text);
  }
  if (is_wanted(session->options, CHECKS[0].id) || verdict.outcome != CHECK_PASS) {
    tell(session, &CHECKS[0], "", &verdict);
  }
  return verdict.outcome == CHECK_PASS;
}

/* Ids of the checks that stand in the way of others on one subject; NULL: the gate is open. */
struct gates {
  const char *closed_by[GATE_COUNT];
};

/* The gate that is closed in front of this check, or NULL. */
static const char *closed_gate(const struct gates *gates, enum check_gate needs) {
  for (int gate = GATE_INSTANCE; gate <= (int)needs; gate++) {
    if (gates->closed_by[gate]) {
      return gates->closed_by[gate];
    }
  }
  return NULL;
}

static int run_on_subject(const struct session *session, const struct check *check, struct check_run *run,
                          struct gates *gates, struct error *err) {
  struct check_verdict verdict = {.outcome = CHECK_SKIP};
  const char *closed = closed_gate(gates, check->needs);
  int status = 0;
  if (closed) {
    snprintf(verdict.text, sizeof verdict.text, "not to be judged: see %s", closed);
  } else {
    status = run_check(check, run, &verdict, err);
  }
  if (status) {
    return status;
  }
  bool broken = verdict.outcome == CHECK_FAIL || verdict.outcome == CHECK_CRASHED;
  if (check->opens != GATE_NONE && broken) {
    gates->closed_by[check->opens] = check->id;
  }
  tell(session, check, check->flags & CHECK_OF_PLUGIN ? "" : run->spec.label, &verdict);
  return 0;
}

static int run_on_subjects(const struct session *session, const struct check *check, struct check_run *run,
                           const struct check_verdict *found, struct gates *gates, struct error *err) {
  int status = 0;
  uint32_t count = check->flags & CHECK_OF_PLUGIN ? 1 : found->n_specs;
  for (uint32_t i = 0; i < count && !status; i++) {
    run->spec = found->specs[i];
    status = run_on_subject(session, check, run, &gates[i], err);
  }
  return status;
}

static int run_all(const struct session *session, struct check_run *run, struct error *err) {
  static const struct check FIND = {"subjects", "", check_find_subjects, CHECK_OF_PLUGIN, GATE_NONE, GATE_NONE};
  struct check_verdict verdict, *found = memory_new(1, sizeof *found, "schemes under check", err);
  if (!found) {
    return ERROR_MEMORY;
  }
  int status = run_check(&CHECKS[1], run, &verdict, err);
  bool loads = !status && verdict.outcome == CHECK_PASS;
  if (!status && (!loads || is_wanted(session->options, CHECKS[1].id))) {
    tell(session, &CHECKS[1], "", &verdict);
  }
  if (loads) {
    status = run_check(&FIND, run, found, err); /* whatever its verdict: the checks will show what is wrong */
  }
  struct gates gates[CHECK_MOST_SUBJECTS] = {0};
  for (size_t i = 2; loads && i < CHECKS_COUNT && !status; i++) {
    if (is_wanted(session->options, CHECKS[i].id)) {
      status = run_on_subjects(session, &CHECKS[i], run, found, gates, err);
    }
  }
  free(found);
  return status;
}

int check_plugin(const char *path, const struct check_options *options,
                 void (*report)(void *context, const struct check_result *result), void *context,
                 struct check_summary *summary, struct error *err) {
  *summary = (struct check_summary){0};
  bool known = false;
  for (size_t i = 0; i < CHECKS_COUNT; i++) {
    known = known || is_wanted(options, CHECKS[i].id);
  }
  if (!known) {
    return error_set(err, ERROR_USAGE, "no check is called %s", options->only);
  }
  struct session session = {.options = options, .report = report, .context = context, .summary = summary};
  struct plugin_file file;
  if (!judge_file(&session, path, &file)) {
    return 0;
  }
  struct check_run run = {.options = options, .path = file.path, .shown = path, .spec = {.tensor = -1}};
  int status = run_all(&session, &run, err);
  plugin_file_clear(&file);
  return status;
}
