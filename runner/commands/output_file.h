/* Where --out of a command that reads a scheme and tensors may go. */
#ifndef PE_COMMANDS_OUTPUT_FILE_H
#define PE_COMMANDS_OUTPUT_FILE_H

#include "commands/scheme_arguments.h"
#include "results/replace.h"

/* 0 where `file` may be written: none of `inputs` (each as on the command line, or NULL) and nothing that the scheme is
 * made of (its plugin, files in KEY=VALUE) is that file, and what is there is of `kind`. ERROR_FILE_REFUSED otherwise;
 * ERROR_FILE_WRITE; ERROR_MEMORY. */
int output_file_check(const char *file, enum replace_kind kind, const char *const *inputs, size_t n_inputs,
                      const struct scheme_arguments *scheme, struct error *err);

#endif
