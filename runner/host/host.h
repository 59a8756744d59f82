/* The host of plugins: finds, opens and checks shared objects, and keeps a plain description of every scheme in them.
 *
 * A plugin is untrusted to be correct: only regular files are opened, their ELF header is read first, dlopen uses
 * RTLD_NOW | RTLD_LOCAL, the entry is checked field by field before any code of it runs, and it is never closed
 * (thread-local destructors). The floating-point control word is compared after loading and restored.
 */
#ifndef PE_HOST_HOST_H
#define PE_HOST_HOST_H

#include "base/scheme_info.h"
#include "pe/plugin.h"

#include <stdbool.h>

struct scheme {
  struct scheme_info info;
  const pe_scheme *table; /* NULL: the control `none` */
};

struct host;

struct host_options {
  const char *const *directories; /* searched in this order; the first file that has the scheme wins */
  size_t n_directories;
  bool trust_directories; /* accept directories and files that others can write */
  /* Told of every file before it is loaded, so that who watches knows which one crashed or hangs; may be NULL. */
  void (*loading)(void *context, const char *path);
  void *loading_context;
};

/* Make a host; the options are copied. Directories are not read yet; those that do not exist are passed over. */
int host_open(const struct host_options *options, struct host **out, struct error *err);

/* The scheme `id`: the built-in `none`; or, with `plugin` (a path, relative to the current folder; never looked up in
 * system folders; "" is refused), that scheme of that file; or that of the first <directory>/<id>.so, else of any other
 * plugin in the directories, in the order of directories and names. A <directory>/<id>.so that is refused ends the
 * search. NULL with ERROR_CONFIG_NAME (nobody has it; the sentence names who has what, and who was refused) or
 * ERROR_PLUGIN_*. Schemes live as long as the host. [not thread-safe] */
const struct scheme *host_find(struct host *host, const char *id, const char *plugin, struct error *err);

/* Take the file at `path` (as it would be asked for) for refused with this reason, without trying it. 0 or
 * ERROR_MEMORY.
 */
int host_refuse(struct host *host, const char *path, const struct error *reason, struct error *err);

/* Every scheme in the directories that host_find would give for its id, `none` first, then by id. Files that are
 * refused do not stop the others: they are listed in *refused (one sentence each, ended by NULL; may be NULL). Both
 * arrays live as long as the host. [not thread-safe] */
int host_list(struct host *host, const struct scheme *const **out, size_t *count, const char *const **refused,
              struct error *err);

/* Release the host and all descriptions; the plugins themselves stay mapped. NULL is allowed. */
void host_close(struct host *host);

/* The folders that hold pe-run's own plugins, by the place of the running binary: beside it (build tree), and where
 * they are installed relative to it. out[i] are new strings, to be freed; they need not exist. 0 or ERROR_INTERNAL,
 * ERROR_MEMORY. */
enum { HOST_DEFAULT_DIRECTORIES = 2 };
int host_default_directories(char *out[HOST_DEFAULT_DIRECTORIES], struct error *err);

/* The built-in control: no positions, no parameters. */
const struct scheme *host_none(void);

#endif
