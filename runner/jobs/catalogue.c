#include "jobs/catalogue.h"

#include "base/memory.h"
#include "jobs/messages.h"
#include "jobs/scheme_packet.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOAD_LIMIT = 10, TICK_MS = 100, MOST_PATH = 4096 };

/* A description that was asked for. */
struct entry {
  char *id, *plugin; /* plugin NULL: by the directories */
  struct scheme_info info;
};

/* A plugin that the probe did not survive. */
struct deadly {
  char *path;
  struct error reason;
};

struct catalogue {
  struct host *host; /* in this process; else NULL */
  const struct process_setting *process;
  char **directories;
  size_t n_directories;
  bool trust;
  double load_limit;
  struct process probe;
  bool opening;            /* it has not answered yet that it knows where plugins are */
  char loading[MOST_PATH]; /* the file that the probe is at */
  struct entry **entries;
  size_t n_entries, entries_capacity;
  struct deadly *deadly;
  size_t n_deadly, deadly_capacity;
  bool listed_once;
  const struct scheme_info **listed;
  size_t n_listed;
  char **refused; /* ended by NULL */
};

int catalogue_open(const struct catalogue_setting *setting, struct catalogue **out, struct error *err) {
  struct catalogue *catalogue = memory_new(1, sizeof *catalogue, "the catalogue of schemes", err);
  if (!catalogue) {
    return err->code;
  }
  const struct host_options *plugins = &setting->plugins;
  catalogue->probe.channel.socket = -1;
  catalogue->process = setting->process;
  catalogue->trust = plugins->trust_directories;
  catalogue->load_limit = setting->load_limit > 0 ? setting->load_limit : LOAD_LIMIT;
  int status = setting->process ? 0 : host_open(plugins, &catalogue->host, err);
  if (!status) {
    catalogue->directories = memory_new(plugins->n_directories, sizeof *catalogue->directories, "directories", err);
    status = catalogue->directories ? 0 : (int)err->code;
  }
  for (size_t i = 0; !status && i < plugins->n_directories; i++) {
    catalogue->directories[i] = memory_copy_text(plugins->directories[i], err);
    status = catalogue->directories[i] ? 0 : (int)err->code;
    catalogue->n_directories += !status;
  }
  if (status) {
    catalogue_close(catalogue);
    return status;
  }
  *out = catalogue;
  return 0;
}

static void free_list(struct catalogue *catalogue) {
  for (size_t i = 0; catalogue->refused && catalogue->refused[i]; i++) {
    free(catalogue->refused[i]);
  }
  free(catalogue->refused);
  free(catalogue->listed);
  catalogue->refused = NULL;
  catalogue->listed = NULL;
}

void catalogue_close(struct catalogue *catalogue) {
  if (!catalogue) {
    return;
  }
  catalogue_rest(catalogue);
  host_close(catalogue->host);
  for (size_t i = 0; i < catalogue->n_directories; i++) {
    free(catalogue->directories[i]);
  }
  for (size_t i = 0; i < catalogue->n_entries; i++) {
    scheme_info_clear(&catalogue->entries[i]->info);
    free(catalogue->entries[i]->id);
    free(catalogue->entries[i]->plugin);
    free(catalogue->entries[i]);
  }
  for (size_t i = 0; i < catalogue->n_deadly; i++) {
    free(catalogue->deadly[i].path);
  }
  free_list(catalogue);
  free(catalogue->directories);
  free(catalogue->entries);
  free(catalogue->deadly);
  free(catalogue);
}

struct host *catalogue_host(const struct catalogue *catalogue) {
  return catalogue->host;
}

void catalogue_rest(struct catalogue *catalogue) {
  process_close(&catalogue->probe);
}

void catalogue_put(const struct catalogue *catalogue, struct packet *packet) {
  packet_put_number(packet, catalogue->trust);
  packet_put_number(packet, catalogue->n_directories);
  for (size_t i = 0; i < catalogue->n_directories; i++) {
    packet_put_text(packet, catalogue->directories[i]);
  }
  packet_put_number(packet, catalogue->n_deadly);
  for (size_t i = 0; i < catalogue->n_deadly; i++) {
    packet_put_text(packet, catalogue->deadly[i].path);
    packet_put_error(packet, &catalogue->deadly[i].reason);
  }
}

void catalogue_put_schemes(const struct catalogue *catalogue, struct packet *packet) {
  packet_put_number(packet, catalogue->n_entries);
  for (size_t i = 0; i < catalogue->n_entries; i++) {
    packet_put_text(packet, catalogue->entries[i]->id);
    packet_put_text(packet, catalogue->entries[i]->plugin);
    packet_put_scheme(packet, &catalogue->entries[i]->info);
  }
}

/* ---- the probe ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int probe_start(struct catalogue *catalogue, struct error *err) {
  struct packet packet = {0};
  if (catalogue->probe.id) {
    return 0;
  }
  catalogue->loading[0] = '\0';
  catalogue->opening = true;
  catalogue_put(catalogue, &packet);
  int status = process_start(catalogue->process, &catalogue->probe, err);
  status = status ? status : channel_send(&catalogue->probe.channel, ASK_PLUGINS, &packet, err);
  packet_free(&packet);
  return status;
}

/* The next message of the probe; false where it ended, was spoilt or took too long: then *end says how. */
static bool probe_listen(struct catalogue *catalogue, struct message *message, struct process_end *end, bool *late) {
  struct process *probe = &catalogue->probe;
  double deadline = now() + catalogue->load_limit;
  *late = false;
  for (;;) {
    enum channel_news news = channel_receive(&probe->channel, false, message);
    if (news == CHANNEL_MESSAGE) {
      return true;
    }
    /* What the plugin started may hold the socket open when the probe is gone. */
    if (news == CHANNEL_NOTHING && process_has_ended(probe, end)) {
      process_close(probe);
      return false;
    }
    *late = now() > deadline;
    if (news != CHANNEL_NOTHING || *late) {
      if (news == CHANNEL_CLOSED) {
        /* It is about to end by itself, and how is worth knowing. */
        for (int i = 0; i < 10 && !process_has_ended(probe, end); i++) {
          poll(NULL, 0, TICK_MS / 10);
        }
      }
      if (probe->id) {
        process_kill(probe, end);
      }
      process_close(probe);
      return false;
    }
    poll(&(struct pollfd){.fd = probe->channel.socket, .events = POLLIN}, 1, TICK_MS);
  }
}

/* The plugin that was being loaded is to blame. */
static int blame(struct catalogue *catalogue, const struct process_end *end, bool late, struct error *err) {
  struct error reason;
  char how[160];
  if (!catalogue->loading[0]) {
    return error_set(err, ERROR_INTERNAL, "the process that looks into plugins ended by itself");
  }
  process_end_describe(end, how, sizeof how);
  if (late) {
    error_set(&reason, ERROR_PLUGIN_HUNG, "%s: was not loaded within %g seconds", catalogue->loading,
              catalogue->load_limit);
  } else {
    error_set(&reason, ERROR_PLUGIN_CRASHED, "%s: %s while it was loaded%s", catalogue->loading, how,
              end->by_signal && end->number == SIGBUS ? ": the file is damaged" : "");
  }
  struct deadly *grown = memory_grow(catalogue->deadly, &catalogue->deadly_capacity, catalogue->n_deadly + 1,
                                     sizeof *grown, "refused plugins", err);
  if (!grown) {
    return err->code;
  }
  catalogue->deadly = grown;
  char *path = memory_copy_text(catalogue->loading, err);
  if (!path) {
    return err->code;
  }
  grown[catalogue->n_deadly++] = (struct deadly){path, reason};
  return 0;
}

/* Ask until a probe lives to answer: each one that does not names a plugin that the next one leaves alone. 0, and the
 * answer's body is the caller's; or the probe's error, or ERROR_INTERNAL, ERROR_MEMORY. */
static int probe_ask(struct catalogue *catalogue, uint32_t type, const struct packet *question, struct packet *answer,
                     struct error *err) {
  int status = probe_start(catalogue, err);
  status = status ? status : channel_send(&catalogue->probe.channel, type, question, err);
  while (!status) {
    struct message message;
    struct process_end end = {0};
    bool late;
    if (!probe_listen(catalogue, &message, &end, &late)) {
      status = blame(catalogue, &end, late, err);
      status = status ? status : probe_start(catalogue, err);
      status = status ? status : channel_send(&catalogue->probe.channel, type, question, err);
      continue;
    }
    if (message.type == TELL_DONE && !catalogue->opening) {
      *answer = message.body;
      return 0;
    }
    catalogue->opening = catalogue->opening && message.type != TELL_DONE;
    const char *path = message.type == TELL_LOADING ? packet_text(&message.body) : NULL;
    if (path) {
      snprintf(catalogue->loading, sizeof catalogue->loading, "%s", path);
    } else if (message.type == TELL_ERROR) {
      packet_error(&message.body, err);
      status = (int)err->code;
    }
    packet_free(&message.body);
  }
  return status;
}

/* ---- finding ---- */

static const struct scheme_info *known(const struct catalogue *catalogue, const char *id, const char *plugin) {
  for (size_t i = 0; i < catalogue->n_entries; i++) {
    const struct entry *entry = catalogue->entries[i];
    bool same_plugin = plugin ? entry->plugin && !strcmp(entry->plugin, plugin) : !entry->plugin;
    if (same_plugin && !strcmp(entry->id, id)) {
      return &entry->info;
    }
  }
  return NULL;
}

/* Take over *info, which is emptied. NULL with ERROR_MEMORY; then it is released. */
static const struct scheme_info *remember(struct catalogue *catalogue, const char *id, const char *plugin,
                                          struct scheme_info *info, struct error *err) {
  struct entry **grown = memory_grow(catalogue->entries, &catalogue->entries_capacity, catalogue->n_entries + 1,
                                     sizeof *grown, "schemes", err);
  catalogue->entries = grown ? grown : catalogue->entries;
  struct entry *entry = grown ? memory_new(1, sizeof *entry, "schemes", err) : NULL;
  if (entry) {
    entry->id = memory_copy_text(id, err);
    entry->plugin = entry->id && plugin ? memory_copy_text(plugin, err) : NULL;
  }
  if (!entry || !entry->id || (plugin && !entry->plugin)) {
    scheme_info_clear(info);
    if (entry) {
      free(entry->id);
    }
    free(entry);
    return NULL;
  }
  entry->info = *info;
  *info = (struct scheme_info){0};
  grown[catalogue->n_entries++] = entry;
  return &entry->info;
}

const struct scheme_info *catalogue_find(struct catalogue *catalogue, const char *id, const char *plugin,
                                         struct error *err) {
  if (catalogue->host) {
    const struct scheme *scheme = host_find(catalogue->host, id, plugin, err);
    return scheme ? &scheme->info : NULL;
  }
  if (!plugin && !strcmp(id, host_none()->info.id)) {
    return &host_none()->info;
  }
  const struct scheme_info *found = known(catalogue, id, plugin);
  if (found) {
    return found;
  }
  struct packet question = {0}, answer;
  struct scheme_info info;
  packet_put_text(&question, id);
  packet_put_text(&question, plugin);
  int status = probe_ask(catalogue, ASK_FIND, &question, &answer, err);
  packet_free(&question);
  if (status) {
    return NULL;
  }
  status = packet_scheme(&answer, &info, err);
  packet_free(&answer);
  return status ? NULL : remember(catalogue, id, plugin, &info, err);
}

/* ---- listing ---- */

static int list_here(struct catalogue *catalogue, const char *const **refused, struct error *err) {
  const struct scheme *const *schemes;
  int status = host_list(catalogue->host, &schemes, &catalogue->n_listed, refused, err);
  if (status) {
    return status;
  }
  free(catalogue->listed);
  catalogue->listed = memory_new(catalogue->n_listed, sizeof *catalogue->listed, "the list of schemes", err);
  for (size_t i = 0; catalogue->listed && i < catalogue->n_listed; i++) {
    catalogue->listed[i] = &schemes[i]->info;
  }
  return catalogue->listed ? 0 : (int)err->code;
}

static int take_refused(struct catalogue *catalogue, struct packet *answer, struct error *err) {
  size_t count;
  const char **texts = packet_texts(answer, &count);
  catalogue->refused = texts ? memory_new(count + 1, sizeof *catalogue->refused, "refused plugins", err) : NULL;
  int status = texts ? (catalogue->refused ? 0 : (int)err->code)
                     : error_set(err, ERROR_INTERNAL, "a list of plugins from another process is not whole");
  for (size_t i = 0; !status && i < count; i++) {
    catalogue->refused[i] = memory_copy_text(texts[i], err);
    status = catalogue->refused[i] ? 0 : (int)err->code;
  }
  free(texts);
  return status;
}

static int take_list(struct catalogue *catalogue, struct packet *answer, struct error *err) {
  size_t count = packet_count(answer);
  free_list(catalogue);
  catalogue->listed = memory_new(count + 1, sizeof *catalogue->listed, "the list of schemes", err);
  if (!catalogue->listed) {
    return err->code;
  }
  catalogue->n_listed = 0;
  catalogue->listed[catalogue->n_listed++] = &host_none()->info;
  for (size_t i = 0; i < count; i++) {
    struct scheme_info info;
    if (packet_scheme(answer, &info, err)) {
      return err->code;
    }
    const struct scheme_info *before = known(catalogue, info.id, NULL);
    if (before) {
      scheme_info_clear(&info);
    }
    catalogue->listed[catalogue->n_listed] = before ? before : remember(catalogue, info.id, NULL, &info, err);
    if (!catalogue->listed[catalogue->n_listed++]) {
      return err->code;
    }
  }
  return take_refused(catalogue, answer, err);
}

int catalogue_list(struct catalogue *catalogue, const struct scheme_info *const **out, size_t *count,
                   const char *const **refused, struct error *err) {
  const char *const *here = NULL;
  int status = 0;
  if (catalogue->host) {
    status = list_here(catalogue, &here, err);
  } else if (!catalogue->listed_once) {
    struct packet answer;
    status = probe_ask(catalogue, ASK_LIST, NULL, &answer, err);
    if (!status) {
      status = take_list(catalogue, &answer, err);
      packet_free(&answer);
    }
  }
  if (status) {
    return status;
  }
  catalogue->listed_once = true;
  *out = catalogue->listed;
  *count = catalogue->n_listed;
  if (refused) {
    *refused = catalogue->host ? here : (const char *const *)catalogue->refused;
  }
  return 0;
}
