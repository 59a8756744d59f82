/* argv to command. The only place that reads the environment. */
#include "base/version.h"
#include "commands/commands.h"
#include "commands/guard.h"
#include "config/plan.h"
#include "experiments/experiment.h"
#include "jobs/worker.h"

#include <fcntl.h>
#include <hdf5.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

extern char **environ;

struct command_environment command_environment = {.plugin_path = ""};

/* Which part of a parallel job this process is: Slurm's arrays count from SLURM_ARRAY_TASK_MIN, and its tasks, like the
 * ranks of MPI, from 0. */
static void read_shard(void) {
  static const struct {
    const char *index, *first, *count;
  } known[] = {{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"},
               {"OMPI_COMM_WORLD_RANK", NULL, "OMPI_COMM_WORLD_SIZE"},
               {"PMI_RANK", NULL, "PMI_SIZE"},
               {"SLURM_PROCID", NULL, "SLURM_NTASKS"}};
  for (size_t i = 0; i < sizeof known / sizeof *known && !command_environment.shard[0]; i++) {
    const char *index = getenv(known[i].index), *count = getenv(known[i].count);
    const char *first = known[i].first ? getenv(known[i].first) : NULL;
    if (index && count) {
      long from = first ? strtol(first, NULL, 10) : 0;
      snprintf(command_environment.shard, sizeof command_environment.shard, "%ld/%.20s", strtol(index, NULL, 10) - from,
               count);
    }
  }
}

static void read_environment(void) {
  const char *path = getenv("PE_PLUGIN_PATH");
  const char *no_color = getenv("NO_COLOR");
  struct winsize size;
  command_environment.plugin_path = path ? path : "";
  command_environment.variables = (const char *const *)environ;
  read_shard();
  command_environment.no_color = no_color && *no_color;
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    command_environment.width = size.ws_col;
  }
}

static void print_help(FILE *stream) {
  fprintf(stream, "Usage: pe-run CONFIG [key=value ...]\n"
                  "       pe-run EXPERIMENT SCHEME ... [key=value ...]\n"
                  "       pe-run COMMAND [ARGUMENT ...]\n"
                  "A bench for positional encodings: which one holds beyond the training length?\n\n");
  for (const struct command *c = command_table; c->name; c++) {
    fprintf(stream, "  %-10s %s\n", c->name, c->summary);
  }
  fprintf(stream, "\n`pe-run COMMAND --help` tells more. CONFIG is a YAML file: see configs/.\n");
}

/* "pe-run plan" as argv[0], so that messages and --help name the command. */
static int run_command(const struct command *command, int argc, char **argv) {
  char name[64];
  snprintf(name, sizeof name, "pe-run %s", command->name);
  argv[0] = name;
  return command->run(argc, argv);
}

/* The command or experiment that a word is nearest to which is neither one of them nor a path nor a file that is there;
 * or NULL. */
static const char *near_command(const char *word) {
  enum { MOST = 64 };
  const char *names[MOST + 1];
  const struct experiment_info *const *experiments = experiment_infos();
  size_t count = 0;
  if (strpbrk(word, "./=") || word[0] == '-' || access(word, F_OK) == 0) {
    return NULL;
  }
  for (const struct command *c = command_table; c->name && count < MOST; c++) {
    names[count++] = c->name;
  }
  for (size_t i = 0; experiments[i] && count < MOST; i++) {
    if (!strcmp(experiments[i]->id, word)) {
      return NULL;
    }
    names[count++] = experiments[i]->id;
  }
  names[count] = NULL;
  return config_nearest(word, names);
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return 2;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_help(stdout);
    return 0;
  }
  if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
    printf("pe-run %s\n", pe_run_version());
    return 0;
  }
  for (const struct command *c = command_table; c->name; c++) {
    if (!strcmp(argv[1], c->name)) {
      bool guard = guard_wanted(c->name) && !command_environment.guarded;
      return guard ? guard_run(argc, argv) : run_command(c, argc - 1, argv + 1);
    }
  }
  const char *near = near_command(argv[1]);
  if (near) {
    fprintf(stderr, "pe-run: error[%s]: there is no command, experiment or file '%s'; did you mean '%s'?\n",
            error_id(ERROR_USAGE), argv[1], near);
    return error_exit_code(ERROR_USAGE);
  }
  /* pe-run CONFIG ... is pe-run run CONFIG ... */
  return run_command(&command_table[0], argc, argv);
}

/* Descriptors 0 to 2 are always something, so that no file that is opened becomes one of them. What is written to a
 * closed one fails, as it should. */
static void hold_standard_files(void) {
  for (int file = 0; file <= STDERR_FILENO; file++) {
    if (fcntl(file, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != file) {
      _Exit(70);
    }
  }
}

/* Whether whoever read stdout has gone. */
static bool reader_is_gone(void) {
  struct pollfd file = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&file, 1, 0) == 1 && (file.revents & POLLERR);
}

/* What was written to stdout has to arrive. A closed pipe (| head) is the reader's choice. */
static int end_output(int code) {
  int lost = error_exit_code(ERROR_FILE_WRITE);
  if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_is_gone() || code == lost) { /* told already */
    return code;
  }
  fprintf(stderr, "pe-run: error[%s]: standard output cannot be written\n", error_id(ERROR_FILE_WRITE));
  return code ? code : lost;
}

int main(int argc, char **argv) {
  hold_standard_files();
  H5dont_atexit();          /* must be the first call: the library's exit handler crashes after a failed write */
  setlocale(LC_CTYPE, "");  /* for the width of text; never LC_NUMERIC */
  signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of write(), not a death */
  signal(SIGPIPE, SIG_IGN);
  if (argc == 3 && !strcmp(argv[1], PROCESS_COMMAND)) {
    return worker_main(strtol(argv[2], NULL, 10));
  }
  read_environment();
  bool guarded = argc > 3 && !strcmp(argv[1], GUARDED_COMMAND);
  if (guarded && !guard_enter(argv[2])) {
    return 70;
  }
  command_environment.guarded = guarded;
  int code = guarded ? dispatch(argc - 2, argv + 2) : dispatch(argc, argv);
  code = end_output(code);
  if (guarded) {
    guard_done(code);
  }
  return code;
}
