/* fopencookie; stderr is a variable that may be set, as the manual of the GNU C library has it. */
#include "commands/usage.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What argp and getopt have to say, on its way to stderr. */
struct told {
  const char *name; /* what a message begins with, before a colon */
  FILE *to;
};

/* "NAME: message" as "NAME: error[CODE]: message". */
static ssize_t tell(void *context, const char *bytes, size_t count) {
  const struct told *told = context;
  size_t length = strlen(told->name);
  bool message = count > length + 2 && !memcmp(bytes, told->name, length) && !memcmp(bytes + length, ": ", 2);
  size_t before = message ? length + 2 : 0;
  fwrite(bytes, 1, before, told->to);
  if (message) {
    fprintf(told->to, "error[%s]: ", error_id(ERROR_USAGE));
  }
  fwrite(bytes + before, 1, count - before, told->to);
  fflush(told->to);
  return (ssize_t)count; /* what stderr does not take is nobody's concern */
}

void command_parse(const struct argp *argp, int argc, char **argv, void *input) {
  struct told told = {argv[0], stderr};
  FILE *messages = fopencookie(&told, "w", (cookie_io_functions_t){.write = tell});
  argp_err_exit_status = 2;
  if (messages) {
    stderr = messages;
  }
  argp_parse(argp, argc, argv, 0, NULL, input);
  stderr = told.to;
  if (messages) {
    fclose(messages);
  }
}
