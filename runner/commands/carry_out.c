#include "commands/carry_out.h"

#include "base/text.h"
#include "commands/commands.h"
#include "commands/dry_run.h"
#include "commands/without_file.h"
#include "experiments/experiment.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NAMED = 12, BY_SIGNAL = 128 };

/* Jobs that gave no numbers, said once more after the tables, where they are not scrolled away. */
static void tell_failures(const struct execute_summary *summary) {
  if (summary->n_broken) {
    fprintf(stderr, "pe-run: error[%s]: %zu expectation%s did not hold\n", error_id(ERROR_EXPECTATION),
            summary->n_broken, summary->n_broken == 1 ? "" : "s");
  }
  for (size_t i = 0; i < summary->n_failures; i++) {
    const struct execute_failure *failure = &summary->failures[i];
    if (failure->status == RECORD_FAILED) {
      fprintf(stderr, "pe-run: %s failed: error[%s]: %s\n", failure->job, error_id(failure->why.code),
              failure->why.text);
    } else {
      fprintf(stderr, "pe-run: %s undefined: %s\n", failure->job, failure->why.text);
    }
  }
}

/* What is not done, and how to go on. */
static void tell_rest(const struct run_options *o, const struct plan *plan, const struct execute_summary *summary) {
  const struct shard *shard = &o->execute.selection.shard;
  size_t done = summary->n_wanted - summary->n_missing;
  if (summary->signal) {
    fprintf(stderr, "pe-run: stopped by SIG%s: %zu of %zu jobs are done and kept", sigabbrev_np(summary->signal), done,
            summary->n_wanted);
    if (summary->tables) {
      fprintf(stderr, ", also in '%s', which is marked partial", plan->output);
    }
    fprintf(stderr, "; run the same command again to go on\n");
  } else if (o->execute.only_join && summary->n_missing) {
    fprintf(stderr, "pe-run: %zu of %zu jobs are not done yet%s\n", summary->n_missing, summary->n_wanted,
            summary->tables ? "" : ": nothing is joined; --partial joins what is there");
  } else if (summary->n_missing) {
    fprintf(stderr, "pe-run: %zu of %zu jobs were not begun; run the same command again to go on\n", summary->n_missing,
            summary->n_wanted);
  } else if (shard->count && !o->quiet) {
    fprintf(stderr, "pe-run: shard %zu/%zu: its %zu jobs are done; when all shards are, `pe-run join` makes '%s'\n",
            shard->index, shard->count, summary->n_wanted, plan->output);
  }
  if (summary->withheld) {
    fprintf(stderr, "pe-run: '%s' holds an earlier, complete run and is left as it is until this one is whole\n",
            plan->output);
  }
}

/* 0, or ERROR_FILE_WRITE where what was to be shown is lost; a reader who went away (| head) wanted no more. */
static int show_tables(const struct run_options *o, const struct plan *plan, const char *tables, struct error *err) {
  bool failed = fputs(tables, stdout) < 0;
  failed = failed || (o->session.format == TABLE_TERMINAL && printf("%s\n", plan->output) < 0);
  failed = failed || fflush(stdout) != 0;
  return failed && errno != EPIPE
             ? error_set(err, ERROR_FILE_WRITE, "the tables cannot be written to standard output: %s; '%s' has them",
                         strerror(errno), plan->output)
             : 0;
}

static int exit_code(const struct execute_summary *summary) {
  return summary->signal                                                ? BY_SIGNAL + summary->signal
         : summary->n_failed || summary->n_missing || summary->n_broken ? 1
                                                                        : 0;
}

static int execute(struct run_options *o, const struct plan *plan) {
  struct error err = {0};
  struct execute_summary summary = {0};
  enum progress_style style = o->quiet ? PROGRESS_QUIET : isatty(STDERR_FILENO) ? PROGRESS_BAR : PROGRESS_LINES;
  o->execute.progress = progress_new(stderr, style, &err);
  int status = o->execute.progress ? 0 : (int)err.code;
  status = status ? status : o->dry_run ? dry_run(plan, o, &err) : execute_plan(plan, &o->execute, &summary, &err);
  progress_free(o->execute.progress);
  int shown = status || !summary.tables ? 0 : show_tables(o, plan, summary.tables, &err);
  tell_failures(&summary);
  int code = status ? command_fail(&err) : exit_code(&summary);
  if (!status && !o->dry_run) {
    tell_rest(o, plan, &summary);
  }
  if (shown) {
    int lost = command_fail(&err);
    code = code ? code : lost;
  }
  execute_summary_free(&summary);
  return code;
}

/* The plan of a config file, or of a run without one: `extrapolation rope alibi lengths=[128,512]`. `config` holds what
 * the overrides point to. */
static struct plan *load(struct run_options *o, struct session *session, struct without_file *config, int *code) {
  const struct experiment *experiment = experiment_find(o->config);
  if (!experiment || access(o->config, F_OK) == 0) {
    o->execute.overrides = o->overrides;
    o->execute.n_overrides = o->n_overrides;
    return session_plan(session, o->config, NULL, o->overrides, o->n_overrides, code);
  }
  struct error err = {0};
  if (without_file_new(experiment, o->overrides, o->n_overrides, config, &err)) {
    *code = command_fail(&err);
    return NULL;
  }
  o->execute.overrides = (const char *const *)config->overrides;
  o->execute.n_overrides = config->n_overrides;
  struct plan *plan = session_plan(session, NULL, config->text, o->execute.overrides, o->execute.n_overrides, code);
  char *text = plan && !o->quiet ? plan_print(plan, true, &err) : NULL;
  if (text) {
    fprintf(stderr, "# The config of this run; `pe-run run` on it does the same.\n%s", text);
  }
  free(text);
  return plan;
}

int carry_out(struct run_options *o) {
  struct session session;
  struct without_file config = {0};
  o->session.probe = !o->in_process;
  int code = session_open(&o->session, &session);
  struct plan *plan = code ? NULL : load(o, &session, &config, &code);
  if (plan) {
    o->execute.catalogue = session.catalogue;
    o->execute.process = o->in_process ? NULL : &session.process;
    o->execute.style = session_style(&o->session);
    o->execute.selection.only = o->only;
    o->execute.selection.exclude = o->exclude;
    code = execute(o, plan);
  }
  plan_free(plan);
  without_file_free(&config);
  session_close(&session);
  return code;
}
