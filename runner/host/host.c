#include "host/host.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/plan.h"
#include "host/plugin_file.h"
#include "host/plugin_load.h"
#include "host/plugin_names.h"
#include "host/scheme_tables.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A file that was tried: its schemes, or why it was refused. */
struct plugin {
  char *shown; /* the path as it was asked for */
  char *path;  /* absolute, without links; NULL where it was refused */
  char *stem;  /* found in a directory: the name without .so; else NULL */
  struct error refusal;
  struct scheme *schemes;
  size_t n_schemes;
};

struct host {
  char **directories;
  size_t n_directories;
  bool trust;
  void (*loading)(void *context, const char *path);
  void *loading_context;
  struct plugin **plugins; /* in the order in which they were tried */
  size_t n_plugins, capacity;
  struct plugin **found; /* those of the directories, in search order; NULL before the directories were read */
  size_t n_found, found_capacity;
  char **unreadable; /* [n_unreadable] directories that exist but cannot be read, one sentence each */
  size_t n_unreadable;
  const struct scheme **listed;
  const char **refused;
};

int host_open(const struct host_options *options, struct host **out, struct error *err) {
  struct host *host = memory_new(1, sizeof *host, "the plugin host", err);
  if (!host) {
    return ERROR_MEMORY;
  }
  host->trust = options->trust_directories;
  host->loading = options->loading;
  host->loading_context = options->loading_context;
  host->directories = memory_new(options->n_directories, sizeof *host->directories, "plugin directories", err);
  host->unreadable = memory_new(options->n_directories, sizeof *host->unreadable, "plugin directories", err);
  if (!host->directories || !host->unreadable) {
    goto close_host;
  }
  for (size_t i = 0; i < options->n_directories; i++) {
    host->directories[i] = memory_copy_text(options->directories[i], err);
    if (!host->directories[i]) {
      goto close_host;
    }
    host->n_directories++;
  }
  *out = host;
  return 0;
close_host:
  host_close(host);
  return ERROR_MEMORY;
}

static void plugin_free(struct plugin *plugin) {
  if (!plugin) {
    return;
  }
  for (size_t i = 0; i < plugin->n_schemes; i++) {
    scheme_info_clear(&plugin->schemes[i].info);
  }
  free(plugin->schemes);
  free(plugin->shown);
  free(plugin->path);
  free(plugin->stem);
  free(plugin);
}

void host_close(struct host *host) {
  if (!host) {
    return;
  }
  for (size_t i = 0; i < host->n_directories; i++) {
    free(host->directories[i]);
  }
  for (size_t i = 0; i < host->n_plugins; i++) {
    plugin_free(host->plugins[i]);
  }
  free(host->directories);
  free(host->plugins);
  free(host->found);
  for (size_t i = 0; i < host->n_unreadable; i++) {
    free(host->unreadable[i]);
  }
  free(host->unreadable);
  free(host->listed);
  free(host->refused);
  free(host);
}

/* ---- one file ---- */

static int plugin_describe(struct plugin *plugin, const pe_entry *entry, const struct plugin_file *file,
                           bool changed_fp_state, struct error *err) {
  plugin->schemes = memory_new(entry->n_schemes, sizeof *plugin->schemes, "schemes of a plugin", err);
  if (!plugin->schemes) {
    return ERROR_MEMORY;
  }
  for (size_t i = 0; i < entry->n_schemes; i++) {
    struct scheme *scheme = &plugin->schemes[i];
    int status = scheme_tables_copy(entry, entry->schemes[i], file, &scheme->info, err);
    if (status) {
      return status;
    }
    scheme->table = entry->schemes[i];
    scheme->info.changed_fp_state = changed_fp_state;
    plugin->n_schemes++;
  }
  return 0;
}

static int plugin_open(const struct host *host, struct plugin *plugin, const char *searched, struct error *err) {
  struct plugin_file file;
  int status = plugin_file_check(plugin->shown, searched, host->trust, &file, err);
  if (status) {
    return status;
  }
  if (host->loading) {
    host->loading(host->loading_context, plugin->shown);
  }
  const pe_entry *entry = NULL;
  bool changed_fp_state = false;
  status = plugin_load(file.path, plugin->shown, &entry, &changed_fp_state, err);
  if (!status) {
    status = plugin_describe(plugin, entry, &file, changed_fp_state, err);
    plugin->path = file.path;
    file.path = NULL;
  }
  plugin_file_clear(&file);
  return status;
}

/* A new plugin of that path, not among the host's yet, for whom there is room. NULL with ERROR_MEMORY. */
static struct plugin *plugin_new(struct host *host, const char *path, struct error *err) {
  struct plugin **grown =
      memory_grow(host->plugins, &host->capacity, host->n_plugins + 1, sizeof *host->plugins, "plugins", err);
  if (!grown) {
    return NULL;
  }
  host->plugins = grown;
  struct plugin *plugin = memory_new(1, sizeof *plugin, "a plugin", err);
  if (!plugin) {
    return NULL;
  }
  plugin->shown = memory_copy_text(path, err);
  if (!plugin->shown) {
    plugin_free(plugin);
    return NULL;
  }
  return plugin;
}

static struct plugin *known_plugin(const struct host *host, const char *path) {
  for (size_t i = 0; i < host->n_plugins; i++) {
    const struct plugin *plugin = host->plugins[i];
    if (!strcmp(plugin->shown, path) || (plugin->path && !strcmp(plugin->path, path))) {
      return host->plugins[i];
    }
  }
  return NULL;
}

/* The plugin at `path`, tried once and remembered; a refusal is in it. NULL with ERROR_MEMORY. */
static struct plugin *host_plugin(struct host *host, const char *path, const char *searched, struct error *err) {
  struct plugin *plugin = known_plugin(host, path);
  if (plugin) {
    return plugin;
  }
  plugin = plugin_new(host, path, err);
  if (!plugin) {
    return NULL;
  }
  struct error refusal = {0};
  int status = plugin_open(host, plugin, searched, &refusal);
  if (status == ERROR_MEMORY) {
    *err = refusal;
    plugin_free(plugin);
    return NULL;
  }
  plugin->refusal = status ? refusal : (struct error){0};
  host->plugins[host->n_plugins++] = plugin;
  return plugin;
}

int host_refuse(struct host *host, const char *path, const struct error *reason, struct error *err) {
  if (known_plugin(host, path)) {
    return 0;
  }
  struct plugin *plugin = plugin_new(host, path, err);
  if (!plugin) {
    return err->code;
  }
  plugin->refusal = *reason;
  host->plugins[host->n_plugins++] = plugin;
  return 0;
}

static const struct scheme *plugin_scheme(const struct plugin *plugin, const char *id) {
  for (size_t i = 0; i < plugin->n_schemes; i++) {
    if (!strcmp(plugin->schemes[i].info.id, id)) {
      return &plugin->schemes[i];
    }
  }
  return NULL;
}

/* ---- the directories ---- */

static char *path_in(const char *directory, const char *name, const char *suffix, struct error *err) {
  struct text path = {0};
  text_printf(&path, "%s/%s%s", directory, name, suffix);
  return text_take(&path, err);
}

static int is_plugin_name(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 3 && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - 3, ".so");
}

/* By bytes: the order must not depend on the locale, as alphasort's does. */
static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int host_read_file(struct host *host, const char *directory, const char *name, struct error *err) {
  char *path = path_in(directory, name, "", err);
  if (!path) {
    return ERROR_MEMORY;
  }
  struct plugin *plugin = host_plugin(host, path, directory, err);
  free(path);
  if (!plugin) {
    return ERROR_MEMORY;
  }
  if (!plugin->stem) {
    plugin->stem = memory_copy_text(name, err);
    if (!plugin->stem) {
      return ERROR_MEMORY;
    }
    plugin->stem[strlen(name) - 3] = '\0';
  }
  for (size_t i = 0; i < host->n_found; i++) {
    if (host->found[i] == plugin) {
      return 0; /* the same directory, named twice */
    }
  }
  struct plugin **grown = memory_grow(host->found, &host->found_capacity, host->n_found + 1, sizeof *host->found,
                                      "plugins of the directories", err);
  if (!grown) {
    return ERROR_MEMORY;
  }
  host->found = grown;
  host->found[host->n_found++] = plugin;
  return 0;
}

static int host_note_unreadable(struct host *host, const char *directory, const char *reason, struct error *err) {
  struct text sentence = {0};
  text_printf(&sentence, "%s: the plugin folder cannot be read: %s", directory, reason);
  char *whole = text_take(&sentence, err);
  if (!whole) {
    return ERROR_MEMORY;
  }
  host->unreadable[host->n_unreadable++] = whole;
  return 0;
}

static int host_read_directory(struct host *host, const char *directory, struct error *err) {
  struct dirent **names = NULL;
  int count = scandir(directory, &names, is_plugin_name, by_name);
  if (count < 0 && errno == ENOMEM) {
    return error_set(err, ERROR_MEMORY, "%s: no memory to list the plugins", directory);
  }
  if (count < 0) {
    return errno == ENOENT ? 0 : host_note_unreadable(host, directory, strerror(errno), err);
  }
  int status = 0;
  for (int i = 0; i < count; i++) {
    if (!status) {
      status = host_read_file(host, directory, names[i]->d_name, err);
    }
    free(names[i]);
  }
  free(names);
  return status;
}

/* Try every plugin of the directories, once. */
static int host_read_directories(struct host *host, struct error *err) {
  if (host->found) {
    return 0;
  }
  struct plugin **found = memory_new(1, sizeof *found, "plugins of the directories", err);
  if (!found) {
    return ERROR_MEMORY;
  }
  host->found = found;
  host->found_capacity = 1;
  for (size_t i = 0; i < host->n_directories; i++) {
    int status = host_read_directory(host, host->directories[i], err);
    if (status) {
      free(host->found);
      host->found = NULL;
      host->n_found = host->found_capacity = 0;
      for (size_t u = 0; u < host->n_unreadable; u++) {
        free(host->unreadable[u]);
      }
      host->n_unreadable = 0;
      return status;
    }
  }
  return 0;
}

/* Who has `id` among the plugins of the directories: a file of that name comes first. */
static const struct scheme *host_winner(const struct host *host, const char *id) {
  const struct scheme *first = NULL;
  for (size_t i = 0; i < host->n_found; i++) {
    const struct scheme *scheme = plugin_scheme(host->found[i], id);
    if (scheme && !strcmp(host->found[i]->stem, id)) {
      return scheme;
    }
    first = first ? first : scheme;
  }
  return first;
}

/* ---- finding ---- */

static const struct scheme *find_in_file(struct host *host, const char *id, const char *path, struct error *err) {
  struct plugin *plugin = host_plugin(host, path, NULL, err);
  if (!plugin) {
    return NULL;
  }
  if (plugin->refusal.code) {
    *err = plugin->refusal;
    return NULL;
  }
  const struct scheme *scheme = plugin_scheme(plugin, id);
  if (!scheme) {
    struct text has = {0};
    for (size_t i = 0; i < plugin->n_schemes; i++) {
      text_printf(&has, "%s%s", i ? ", " : "", plugin->schemes[i].info.id);
    }
    error_set(err, ERROR_CONFIG_NAME, "%s: has no scheme %s; it has %s", path, id, has.data ? has.data : "others");
    text_free(&has);
  }
  return scheme;
}

/* *scheme = that of the first <directory>/<id>.so; NULL where there is no such file or it has other schemes. */
static int find_by_file_name(struct host *host, const char *id, const struct scheme **scheme, struct error *err) {
  *scheme = NULL;
  for (size_t i = 0; i < host->n_directories && !*scheme; i++) {
    char *path = path_in(host->directories[i], id, ".so", err);
    if (!path) {
      return ERROR_MEMORY;
    }
    struct plugin *plugin = host_plugin(host, path, host->directories[i], err);
    free(path);
    if (!plugin) {
      return ERROR_MEMORY;
    }
    if (plugin->refusal.code && plugin->refusal.code != ERROR_PLUGIN_NOT_FOUND) {
      *err = plugin->refusal;
      return (int)err->code;
    }
    *scheme = plugin_scheme(plugin, id);
  }
  return 0;
}

/* "; did you mean rope" in front of the list of all, where one of them is near. */
static void append_known(const struct host *host, const char *id, struct text *text, struct error *err) {
  size_t most = 2, n = 0;
  for (size_t i = 0; i < host->n_found; i++) {
    most += host->found[i]->n_schemes;
  }
  const char **names = memory_new(most, sizeof *names, "names of schemes", err);
  if (!names) {
    return; /* the sentence does without */
  }
  names[n++] = host_none()->info.id;
  for (size_t i = 0; i < host->n_found; i++) {
    for (size_t s = 0; s < host->found[i]->n_schemes; s++) {
      names[n++] = host->found[i]->schemes[s].info.id;
    }
  }
  const char *near = config_nearest(id, names);
  if (near) {
    text_printf(text, "; did you mean %s", near);
  }
  text_append(text, "; there are ");
  for (size_t i = 0; i < n; i++) {
    text_printf(text, "%s%s", i ? ", " : "", names[i]);
  }
  free(names);
}

static void unknown_scheme(const struct host *host, const char *id, struct error *err) {
  struct text text = {0};
  append_known(host, id, &text, err);
  text_append(&text, "; searched: ");
  for (size_t i = 0; i < host->n_directories; i++) {
    text_printf(&text, "%s%s", i ? ", " : "", host->directories[i]);
  }
  text_append(&text, host->n_directories ? "" : "no folder");
  for (size_t i = 0; i < host->n_unreadable; i++) {
    text_printf(&text, "; %s", host->unreadable[i]);
  }
  for (size_t i = 0; i < host->n_found; i++) {
    if (host->found[i]->refusal.code) {
      text_printf(&text, "; refused: %s", host->found[i]->refusal.text);
    }
  }
  error_set(err, ERROR_CONFIG_NAME, "no scheme is called %s%s", id, text.data ? text.data : "");
  text_free(&text);
}

const struct scheme *host_find(struct host *host, const char *id, const char *plugin, struct error *err) {
  if (plugin) {
    return find_in_file(host, id, plugin, err);
  }
  if (!strcmp(id, host_none()->info.id)) {
    return host_none();
  }
  const struct scheme *scheme = NULL;
  /* Anything else could be a path that leads out of the directories. */
  if (plugin_name_is_scheme_id(id) && (find_by_file_name(host, id, &scheme, err) || scheme)) {
    return scheme;
  }
  if (host_read_directories(host, err)) {
    return NULL;
  }
  scheme = host_winner(host, id);
  if (!scheme) {
    unknown_scheme(host, id, err);
  }
  return scheme;
}

/* ---- listing ---- */

static int by_id(const void *a, const void *b) {
  const struct scheme *const *x = a;
  const struct scheme *const *y = b;
  return strcmp((*x)->info.id, (*y)->info.id);
}

static int host_list_schemes(struct host *host, size_t *count, struct error *err) {
  size_t most = 1;
  for (size_t i = 0; i < host->n_found; i++) {
    most += host->found[i]->n_schemes;
  }
  const struct scheme **listed = memory_new(most, sizeof *listed, "the list of schemes", err);
  if (!listed) {
    return ERROR_MEMORY;
  }
  size_t n = 0;
  listed[n++] = host_none();
  for (size_t i = 0; i < host->n_found; i++) {
    for (size_t s = 0; s < host->found[i]->n_schemes; s++) {
      const struct scheme *scheme = &host->found[i]->schemes[s];
      if (host_winner(host, scheme->info.id) == scheme) {
        listed[n++] = scheme;
      }
    }
  }
  qsort(listed + 1, n - 1, sizeof *listed, by_id);
  free(host->listed);
  host->listed = listed;
  *count = n;
  return 0;
}

static int host_list_refused(struct host *host, struct error *err) {
  const char **refused = memory_new(host->n_found + host->n_unreadable + 1, sizeof *refused, "refused plugins", err);
  if (!refused) {
    return ERROR_MEMORY;
  }
  size_t n = 0;
  for (size_t i = 0; i < host->n_unreadable; i++) {
    refused[n++] = host->unreadable[i];
  }
  for (size_t i = 0; i < host->n_found; i++) {
    if (host->found[i]->refusal.code) {
      refused[n++] = host->found[i]->refusal.text;
    }
  }
  free(host->refused);
  host->refused = refused;
  return 0;
}

int host_list(struct host *host, const struct scheme *const **out, size_t *count, const char *const **refused,
              struct error *err) {
  int status = host_read_directories(host, err);
  if (!status) {
    status = host_list_schemes(host, count, err);
  }
  if (!status && refused) {
    status = host_list_refused(host, err);
    *refused = status ? NULL : host->refused;
  }
  if (!status) {
    *out = host->listed;
  }
  return status;
}
