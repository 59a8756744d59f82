#include "commands/output.h"

#include "commands/commands.h"

#include <string.h>

enum table_format output_format(const char *word, const struct argp_state *state) {
  static const char *const formats[] = {"table", "json", "csv", "md"};
  for (int i = 0; i < 4; i++) {
    if (!strcmp(word, formats[i])) {
      return (enum table_format)i;
    }
  }
  argp_error(state, "--format: '%s' is not one of table, json, csv, md", word);
  return TABLE_TERMINAL;
}

struct table_style output_style(enum table_format format) {
  return (struct table_style){.format = format,
                              .width = command_environment.width,
                              .color = command_environment.width > 0 && !command_environment.no_color};
}
