/* argv to command. The only place that reads the environment. */
#include "base/version.h"
#include "commands/commands.h"

#include <hdf5.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct command_environment command_environment = {.plugin_path = ""};

static void read_environment(void) {
  const char *path = getenv("PE_PLUGIN_PATH");
  const char *no_color = getenv("NO_COLOR");
  struct winsize size;
  command_environment.plugin_path = path ? path : "";
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
      return run_command(c, argc - 1, argv + 1);
    }
  }
  /* pe-run CONFIG ... is pe-run run CONFIG ... */
  return run_command(&command_table[0], argc, argv);
}

int main(int argc, char **argv) {
  H5dont_atexit(); /* must be the first call: the library's exit handler crashes after a failed write */
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  setlocale(LC_CTYPE, "");  /* for the width of text; never LC_NUMERIC */
  signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of write(), not a death */
  signal(SIGPIPE, SIG_IGN);
  read_environment();
  int code = dispatch(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    /* A closed pipe (| head) is the reader's choice; anything else is lost output. */
    return code ? code : 4;
  }
  return code;
}
