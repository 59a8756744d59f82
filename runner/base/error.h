/* Errors: one table of stable codes, one struct that carries code and sentence from where it is known to where it is
 * shown.
 *
 * Fallible functions return 0 or an enum error_code and take a `struct error *` as last argument (the caller's; never
 * NULL). The sentence is made once, with names and values; callers pass it on unchanged. Programmer errors assert.
 */
#ifndef PE_BASE_ERROR_H
#define PE_BASE_ERROR_H

/* X(NAME, id, exit code, title). Ids are stable: never reused, never renumbered. Exit codes: 1 a job failed, 2 usage or
 * config, 3 a plugin was refused, 4 another file, 5 nothing selected, 6 output busy, 70 internal. */
#define ERROR_LIST(X)                                                                                                  \
  X(ERROR_CONFIG_SYNTAX, "E0101", 2, "the config is not valid YAML")                                                   \
  X(ERROR_CONFIG_UNREADABLE, "E0102", 2, "the config cannot be read")                                                  \
  X(ERROR_CONFIG_UNKNOWN_KEY, "E0103", 2, "unknown key")                                                               \
  X(ERROR_CONFIG_DUPLICATE_KEY, "E0104", 2, "a key stands twice")                                                      \
  X(ERROR_CONFIG_TYPE, "E0105", 2, "a value of the wrong type")                                                        \
  X(ERROR_CONFIG_RANGE, "E0106", 2, "a value out of range")                                                            \
  X(ERROR_CONFIG_CHOICE, "E0107", 2, "not one of the allowed words")                                                   \
  X(ERROR_CONFIG_MISSING, "E0108", 2, "a needed key is missing")                                                       \
  X(ERROR_CONFIG_LIMIT, "E0109", 2, "the config is nested too deep or too large")                                      \
  X(ERROR_CONFIG_ENCODING, "E0110", 2, "the config is not clean UTF-8")                                                \
  X(ERROR_CONFIG_DOCUMENTS, "E0111", 2, "the config must be one document")                                             \
  X(ERROR_CONFIG_LABEL, "E0112", 2, "a label that cannot be used")                                                     \
  X(ERROR_CONFIG_CONFLICT, "E0113", 2, "keys that do not go together")                                                 \
  X(ERROR_CONFIG_ALIAS, "E0114", 2, "an alias that cannot be followed")                                                \
  X(ERROR_CONFIG_NAME, "E0115", 2, "unknown scheme or experiment")                                                     \
  X(ERROR_OVERRIDE, "E0116", 2, "a command-line setting that cannot be applied")                                       \
  X(ERROR_CONFIG_JSON, "E0117", 2, "a model's config is not JSON")                                                     \
  X(ERROR_USAGE, "E0201", 2, "wrong use of the command line")                                                          \
  X(ERROR_PLUGIN_NOT_FOUND, "E0301", 3, "the plugin was not found")                                                    \
  X(ERROR_PLUGIN_NOT_A_FILE, "E0302", 3, "the plugin is not a regular file")                                           \
  X(ERROR_PLUGIN_NOT_ELF, "E0303", 3, "the plugin is not a shared object for this machine")                            \
  X(ERROR_PLUGIN_LOAD, "E0304", 3, "the plugin cannot be loaded")                                                      \
  X(ERROR_PLUGIN_NO_ENTRY, "E0305", 3, "the plugin exports no entry")                                                  \
  X(ERROR_PLUGIN_ABI, "E0306", 3, "the plugin was built for another version of the contract")                          \
  X(ERROR_PLUGIN_TABLE, "E0307", 3, "the plugin's tables are not sound")                                               \
  X(ERROR_PLUGIN_UNTRUSTED, "E0308", 3, "the plugin lies where others can write")                                      \
  X(ERROR_PLUGIN_CRASHED, "E0309", 3, "the plugin crashed while it was loaded")                                        \
  X(ERROR_PLUGIN_HUNG, "E0310", 3, "the plugin did not finish loading")                                                \
  X(ERROR_FILE_READ, "E0401", 4, "a file cannot be read")                                                              \
  X(ERROR_FILE_WRITE, "E0402", 4, "a file cannot be written")                                                          \
  X(ERROR_FILE_REFUSED, "E0403", 4, "a file asks for something that is not allowed")                                   \
  X(ERROR_FILE_CONTENT, "E0404", 4, "a file's content does not fit")                                                   \
  X(ERROR_TOKENS, "E0405", 4, "a text cannot be cut into the model's pieces")                                          \
  X(ERROR_EVIDENCE, "E0406", 4, "a results file that cannot serve as evidence")                                        \
  X(ERROR_NOTHING_SELECTED, "E0501", 5, "nothing was selected")                                                        \
  X(ERROR_BUSY, "E0601", 6, "the output is in use by another pe-run")                                                  \
  X(ERROR_SCHEME_REFUSED, "E0701", 1, "the scheme does not go with this model")                                        \
  X(ERROR_SCHEME_FAILED, "E0702", 1, "the scheme failed")                                                              \
  X(ERROR_SCHEME_VALUE, "E0703", 1, "the scheme gave a value that is not a number")                                    \
  X(ERROR_SCHEME_BOUNDS, "E0704", 1, "the scheme wrote outside its buffer")                                            \
  X(ERROR_UNDEFINED, "E0705", 1, "the scheme is not defined here")                                                     \
  X(ERROR_JOB_CRASHED, "E0706", 1, "a job crashed")                                                                    \
  X(ERROR_JOB_TIMEOUT, "E0707", 1, "a job took too long")                                                              \
  X(ERROR_JOB_MEMORY, "E0708", 1, "a job needed too much memory")                                                      \
  X(ERROR_JOB_SETUP, "E0709", 1, "an experiment cannot run on this model")                                             \
  X(ERROR_EXPECTATION, "E0710", 1, "an expectation did not hold")                                                      \
  X(ERROR_MEMORY, "E0901", 70, "out of memory")                                                                        \
  X(ERROR_INTERNAL, "E0902", 70, "an internal error")

enum error_code {
  ERROR_IS_SIGNED = -1, /* no code: makes the enum an int on every compiler, as functions return it */
  ERROR_NONE = 0,
#define X(name, id, exit_code, title) name,
  ERROR_LIST(X)
#undef X
      ERROR_COUNT
};

struct error {
  enum error_code code; /* ERROR_NONE: no error */
  char text[1024];      /* one sentence, UTF-8; cut if longer */
};

/* Fill *err and return `code`, for `return error_set(err, ERROR_X, "...", ...)`. */
int error_set(struct error *err, enum error_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The stable id ("E0101"), the title and the process exit code of an error code; "" and 0 for ERROR_NONE. */
const char *error_id(enum error_code code);
const char *error_title(enum error_code code);
int error_exit_code(enum error_code code);

#endif
