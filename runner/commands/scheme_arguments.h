/* A scheme as the command line writes it, `SCHEME [KEY=VALUE ...]`, made into an instance. KEY is a parameter or a
 * tensor (a list, FILE.h5:/dataset or FILE.npy, relative to the current folder). */
#ifndef PE_COMMANDS_SCHEME_ARGUMENTS_H
#define PE_COMMANDS_SCHEME_ARGUMENTS_H

#include "commands/session.h"
#include "host/instance.h"

struct scheme_arguments {
  const char *id;
  const char *plugin; /* a file to take it from; NULL: the session's directories */
  const char *const *settings;
  size_t n_settings;
};

/* What is read of them. */
struct scheme_choice {
  const struct scheme *scheme;
  struct section *params;
  struct key_value *tensors; /* [n_tensors] KEY_TENSOR values */
  bool quiet;                /* what the plugin has to say is not printed */
};

/* Find the scheme and read KEY=VALUE against its tables. 0; ERROR_CONFIG_* (exit code 2), with a hint where a name is
 * near; ERROR_PLUGIN_*; ERROR_MEMORY. */
int scheme_choose(struct session *session, const struct scheme_arguments *arguments, struct scheme_choice *choice,
                  struct error *err);
void scheme_choice_free(struct scheme_choice *choice);

/* An instance for a shape (struct_size and given are filled in). The tensors are read from their files; those that are
 * not given are seeded. What the plugin has to say goes to stderr. NULL with *err. */
struct instance *scheme_instance(const struct scheme_choice *choice, const pe_shape *shape, uint64_t seed,
                                 struct error *err);

/* The parameters as a JSON object. To be freed; NULL with ERROR_MEMORY. */
char *scheme_parameters(const struct scheme_choice *choice, struct error *err);

#endif
