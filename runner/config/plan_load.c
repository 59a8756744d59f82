#include "config/plan.h"

#include "base/memory.h"
#include "config/keys_read.h"
#include "config/overrides.h"
#include "config/paths.h"
#include "config/plan_parts.h"
#include "config/sweep.h"
#include "config/yaml_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More jobs than anyone has time for: a slip in a sweep or in `seeds`. */
enum { MAX_JOBS = 1000000 };

struct loader {
  struct reader reader;
  const struct plan_request *request;
  struct entry_list schemes, experiments;
  struct node *root;
  struct plan *plan;
  struct section *section; /* the config read against the root table */
};

/* The tree of the config; an empty mapping where there is neither file nor text. NULL after a report. */
static struct node *load_tree(struct loader *loader) {
  struct reader *reader = &loader->reader;
  const struct plan_request *request = loader->request;
  struct error err;
  struct source *source = arena_new(&reader->arena, sizeof *source);
  const char *bytes = request->text ? request->text : "";
  if (!source) {
    return NULL;
  }
  if (request->path && !request->text) {
    if (!source_read(reader, request->path, source, &bytes)) {
      return NULL;
    }
  } else {
    source_of_text(request->path ? request->path : "config", bytes, source);
  }
  if (!source_check(reader, source)) {
    return NULL;
  }
  loader->plan->config_path = memory_copy_text(request->path ? request->path : "", &err);
  loader->plan->config_text = memory_copy_text(bytes, &err);
  char *folder = path_folder(loader->plan->config_path ? loader->plan->config_path : "", &err);
  if (!folder || !loader->plan->config_path || !loader->plan->config_text) {
    free(folder);
    reader->arena.failed = true;
    return NULL;
  }
  reader->folder = arena_printf(&reader->arena, "%s", folder);
  free(folder);
  if (!request->path && !request->text) {
    struct node start = {.source = source, .column = 1};
    return node_new(reader, NODE_MAPPING, &start);
  }
  return tree_parse(reader, source, 0);
}

static bool check_root(struct loader *loader) {
  struct reader *reader = &loader->reader;
  const struct node *root = loader->root;
  if (node_is_null(root)) {
    reader_report_at(reader, ERROR_CONFIG_MISSING, root->source, 0, 0,
                     "the config is empty; it needs model, schemes and experiments");
    return false;
  }
  if (root->kind != NODE_MAPPING) {
    reader_report(reader, ERROR_CONFIG_TYPE, root, NULL, "a config is a mapping (key: value), this is %s",
                  node_kind_name(root));
    return false;
  }
  return true;
}

/* Take a text out of the root section, or a copy of `otherwise`. */
static char *take_text(struct loader *loader, struct section *section, size_t key, const char *otherwise) {
  struct error err;
  char *text = section->values[key].text;
  section->values[key].text = NULL;
  if (!text) {
    text = memory_copy_text(otherwise, &err);
    loader->reader.arena.failed = loader->reader.arena.failed || !text;
  }
  return text;
}

static const char *default_output(struct loader *loader) {
  struct error err;
  const char *path = loader->plan->config_path;
  char *stem = path_stem(path[0] ? path : "pe-run", &err);
  const char *output = arena_printf(&loader->reader.arena, "results/%s.h5", stem ? stem : "");
  loader->reader.arena.failed = loader->reader.arena.failed || !stem;
  free(stem);
  return output;
}

static void read_root(struct loader *loader) {
  struct plan *plan = loader->plan;
  const struct key_table *table = config_root_table();
  struct section *section = keys_read(&loader->reader, table, loader->root, loader->root, "");
  loader->section = section;
  if (!section) {
    return;
  }
  plan->seed = (uint64_t)section_get(section, "seed")->integer;
  const struct key_value *seeds = section_get(section, "seeds");
  plan->n_seeds = seeds->is_auto ? 1 : (uint64_t)seeds->integer;
  for (size_t i = 0; i < table->count; i++) {
    if (!strcmp(table->keys[i].key, "title")) {
      plan->title = take_text(loader, section, i, "");
    } else if (!strcmp(table->keys[i].key, "output")) {
      plan->output = take_text(loader, section, i, default_output(loader));
    } else if (!strcmp(table->keys[i].key, "model")) {
      plan->model = section->values[i].section;
      section->values[i].section = NULL;
    }
  }
}

static void check_model(struct loader *loader) {
  const struct node *node = node_get(loader->root, "model");
  if (!loader->plan->model) {
    return; /* reported, or see need_model */
  }
  model_check(&loader->reader, loader->plan->model, node);
  if (loader->plan->n_seeds > 1 && !model_is_random(loader->plan->model)) {
    reader_report(&loader->reader, ERROR_CONFIG_CONFLICT, node_get(loader->root, "seeds"), "seeds",
                  "several seeds make sense where the model is random (model.random, model.embeddings); this one is "
                  "given");
  }
}

/* How many seeds each experiment has jobs for: what the config says, or else what the experiment asks for. */
static void count_seeds(struct loader *loader) {
  struct plan *plan = loader->plan;
  bool asked = loader->section && section_get(loader->section, "seeds")->is_auto && loader->request->default_seeds &&
               plan->model && model_is_random(plan->model);
  for (size_t i = 0; i < plan->n_experiments; i++) {
    struct plan_experiment *experiment = &plan->experiments[i];
    experiment->n_seeds = !experiment->info || experiment->info->trains ? 1
                          : asked ? loader->request->default_seeds(experiment->info->id)
                                  : plan->n_seeds;
  }
}

static void set_scheme_defaults(struct loader *loader) {
  struct plan *plan = loader->plan;
  for (size_t e = 0; loader->request->scheme_defaults && e < plan->n_experiments; e++) {
    for (size_t s = 0; s < plan->n_schemes; s++) {
      loader->request->scheme_defaults(&plan->experiments[e], plan->schemes[s].info, plan->schemes[s].params);
    }
  }
}

static void check_experiments(struct loader *loader, const struct node *entries) {
  struct plan *plan = loader->plan;
  struct error err = {0};
  for (size_t e = 0; loader->request->experiment_check && e < plan->n_experiments; e++) {
    if (loader->request->experiment_check(plan, &plan->experiments[e], &err)) {
      const char *path = arena_printf(&loader->reader.arena, "experiments.%s", plan->experiments[e].label);
      reader_report(&loader->reader, ERROR_CONFIG_CONFLICT, entries->items[e], path, "%s", err.text);
    }
  }
}

/* Without a model only experiments that train their own can run. */
static void need_model(struct loader *loader) {
  const struct plan *plan = loader->plan;
  const struct key_table *table = config_root_table();
  bool needed = plan->n_experiments == 0;
  for (size_t i = 0; i < plan->n_experiments; i++) {
    needed = needed || !plan->experiments[i].info || !plan->experiments[i].info->trains;
  }
  for (size_t i = 0; needed && !node_get(loader->root, "model") && i < table->count; i++) {
    const struct key_spec *spec = &table->keys[i];
    if (!strcmp(spec->key, "model")) {
      reader_report(&loader->reader, ERROR_CONFIG_MISSING, loader->root, "", "%s is missing (%s); allowed: %s",
                    spec->key, spec->doc, key_allowed(&loader->reader, spec));
    }
  }
}

/* The list of entries, or NULL after a report. */
static const struct node *entries_of(struct loader *loader, const struct entry_list *list) {
  const struct node *entries = node_get(loader->root, list->key);
  if (!entries) {
    return NULL; /* reported as missing */
  }
  if (entries->kind != NODE_LIST || entries->count == 0) {
    reader_report(&loader->reader, ERROR_CONFIG_TYPE, entries, list->key,
                  "is %s; allowed: a list of entries (- name: {key: value})",
                  entries->kind == NODE_LIST || node_is_null(entries) ? "empty" : node_kind_name(entries));
    return NULL;
  }
  return entries;
}

static void make_jobs(struct loader *loader) {
  struct plan *plan = loader->plan;
  struct error err;
  size_t most;
  uint64_t seeds = 0;
  for (size_t e = 0; e < plan->n_experiments; e++) {
    seeds += plan->experiments[e].n_seeds;
  }
  if (__builtin_mul_overflow((size_t)seeds, plan->n_schemes, &most) || most > MAX_JOBS) {
    reader_report_at(&loader->reader, ERROR_CONFIG_LIMIT, loader->root->source, 0, 0,
                     "experiments x schemes x seeds, %zu x %zu x %llu, are more than %d jobs", plan->n_experiments,
                     plan->n_schemes, (unsigned long long)plan->n_seeds, MAX_JOBS);
    return;
  }
  plan->jobs = memory_new(most, sizeof *plan->jobs, "jobs", &err);
  if (!plan->jobs) {
    loader->reader.arena.failed = true;
    return;
  }
  for (size_t e = 0; e < plan->n_experiments; e++) {
    for (size_t s = 0; s < plan->n_schemes; s++) {
      if (plan->schemes[s].implied && !plan->experiments[e].info->wants_control) {
        continue;
      }
      for (uint64_t seed = 0; seed < plan->experiments[e].n_seeds; seed++) {
        plan->jobs[plan->n_jobs++] = (struct job){.experiment = e, .scheme = s, .seed = plan->seed + seed};
      }
    }
  }
}

/* A section out of the root section: the plan's from here on. */
static struct section *take_section(struct section *root, const char *key) {
  for (size_t i = 0; i < root->table->count; i++) {
    if (!strcmp(root->table->keys[i].key, key)) {
      struct section *section = root->values[i].section;
      root->values[i].section = NULL;
      return section;
    }
  }
  return NULL;
}

static void fill_plan(struct loader *loader) {
  struct reader *reader = &loader->reader;
  loader->root = load_tree(loader);
  if (!loader->root || !check_root(loader) || !entries_normalise(reader, loader->root)) {
    return;
  }
  overrides_apply(reader, loader->root, &loader->schemes, &loader->experiments, loader->request->overrides,
                  loader->request->n_overrides);
  read_root(loader);
  check_model(loader);
  sweep_expand(reader, loader->root, &loader->schemes, &loader->experiments);
  const struct node *schemes = entries_of(loader, &loader->schemes);
  const struct node *experiments = entries_of(loader, &loader->experiments);
  if (schemes) {
    schemes_read(reader, loader->request, &loader->schemes, schemes, loader->plan);
  }
  if (experiments) {
    experiments_read(reader, loader->request, &loader->experiments, experiments, loader->plan);
    count_seeds(loader);
  }
  need_model(loader);
  if (schemes && experiments && loader->plan->schemes) {
    control_add(reader, loader->request, loader->root, loader->plan);
  }
  if (loader->section && schemes && experiments) {
    expectations_read(reader, section_get(loader->section, "expect"), node_get(loader->root, "expect"), loader->plan);
  }
  if (loader->section && schemes && experiments && section_get(loader->section, "decision")->given) {
    decision_read(reader, take_section(loader->section, "decision"), node_get(loader->root, "decision"), loader->plan);
  }
  if (!diagnostics_any(reader->diagnostics) && !reader->arena.failed) {
    set_scheme_defaults(loader);
    check_experiments(loader, experiments);
    make_jobs(loader);
  }
}

/* The ids of the experiments, ended by NULL, in the arena. */
static const char *const *experiment_ids(struct reader *reader, const struct plan_request *request) {
  size_t count = 0;
  while (request->experiments[count]) {
    count++;
  }
  const char **ids = arena_array(&reader->arena, count + 1, sizeof *ids);
  for (size_t i = 0; ids && i < count; i++) {
    ids[i] = request->experiments[i]->id;
  }
  return ids;
}

struct plan *plan_load(const struct plan_request *request, struct diagnostics *diagnostics) {
  struct loader loader = {.reader = {.diagnostics = diagnostics, .folder = ""}, .request = request};
  struct error err;
  const char *const *ids = experiment_ids(&loader.reader, request);
  loader.plan = memory_new(1, sizeof *loader.plan, "plan", &err);
  if (ids && loader.plan) {
    loader.schemes = (struct entry_list){
        .key = "schemes", .what = "scheme", .siblings = config_scheme_entry_table(), .ids = request->schemes.ids};
    loader.experiments = (struct entry_list){
        .key = "experiments", .what = "experiment", .siblings = config_experiment_entry_table(), .ids = ids};
    fill_plan(&loader);
  }
  if (!ids || !loader.plan || loader.reader.arena.failed) {
    diagnostics->out_of_memory = true;
  }
  section_free(loader.section);
  arena_free(&loader.reader.arena);
  if (diagnostics_any(diagnostics)) {
    plan_free(loader.plan);
    return NULL;
  }
  return loader.plan;
}
