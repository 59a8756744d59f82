#include "config/plan.h"

#include "base/text.h"
#include "config/paths.h"
#include "config/yaml_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A text that is being written, and the folder that its paths are written for. */
struct printer {
  struct text text;
  const char *folder;             /* NULL: paths as this process uses them */
  const struct path_names *names; /* or as this says; may be NULL */
  struct error *err;              /* of a path that could not be written: text.failed */
};

static void print_path(struct printer *printer, const char *path) {
  if (!printer->folder && !printer->names) {
    yaml_write_text(&printer->text, path);
    return;
  }
  if (printer->text.failed) {
    return;
  }
  char *written = printer->names ? printer->names->name(printer->names->context, path, printer->err)
                                 : path_relative(printer->folder, path, printer->err);
  if (written) {
    yaml_write_text(&printer->text, written);
  } else {
    printer->text.failed = true;
  }
  free(written);
}

static void print_numbers(struct printer *printer, const struct key_value *value) {
  text_append(&printer->text, "[");
  for (size_t i = 0; i < value->count; i++) {
    text_append(&printer->text, i ? ", " : "");
    text_append_double(&printer->text, value->list[i]);
  }
  text_append(&printer->text, "]");
}

static void print_words(struct printer *printer, const struct key_spec *spec, const struct key_value *value) {
  text_append(&printer->text, value->is_list ? "[" : "");
  for (size_t i = 0; i < value->count; i++) {
    text_append(&printer->text, i ? ", " : "");
    if (spec->type == KEY_CHOICE_LIST) {
      yaml_write_text(&printer->text, spec->choices[(size_t)value->list[i]]);
    } else if (spec->type == KEY_PATH_LIST) {
      print_path(printer, value->texts[i]);
    } else {
      yaml_write_text(&printer->text, value->texts[i]);
    }
  }
  text_append(&printer->text, value->is_list ? "]" : "");
}

/* Nested lists, row-major; `at` is the first element. */
static void print_level(struct printer *printer, const struct key_value *value, unsigned level, size_t at,
                        size_t count) {
  if (level >= value->rank || level >= sizeof value->dim / sizeof *value->dim) {
    text_append_double(&printer->text, value->list[at]);
    return;
  }
  size_t each = count / value->dim[level];
  text_append(&printer->text, "[");
  for (size_t i = 0; i < value->dim[level]; i++) {
    text_append(&printer->text, i ? ", " : "");
    print_level(printer, value, level + 1, at + i * each, each);
  }
  text_append(&printer->text, "]");
}

static void print_value(struct printer *printer, const struct key_spec *spec, const struct key_value *value) {
  struct text *text = &printer->text;
  if (value->is_auto) {
    text_append(text, "auto");
    return;
  }
  switch (spec->type) {
  case KEY_BOOL:
    text_append(text, value->integer ? "true" : "false");
    break;
  case KEY_INT:
    if (value->is_list) {
      print_numbers(printer, value);
    } else {
      text_printf(text, "%" PRId64, value->integer);
    }
    break;
  case KEY_REAL:
    if (value->is_list) {
      print_numbers(printer, value);
    } else {
      text_append_double(text, value->real);
    }
    break;
  case KEY_CHOICE:
    if (value->is_list) {
      print_numbers(printer, value);
    } else {
      yaml_write_text(text, value->text);
    }
    break;
  case KEY_TEXT:
    yaml_write_text(text, value->text);
    break;
  case KEY_PATH:
    print_path(printer, value->text);
    break;
  case KEY_INT_LIST:
  case KEY_REAL_LIST:
    print_numbers(printer, value);
    break;
  case KEY_CHOICE_LIST:
  case KEY_TEXT_LIST:
  case KEY_PATH_LIST:
    print_words(printer, spec, value);
    break;
  case KEY_MATRIX:
  case KEY_TENSOR:
    if (value->text) {
      print_path(printer, value->text);
    } else {
      print_level(printer, value, 0, 0, value->count);
    }
    break;
  case KEY_SECTION:
  case KEY_SECTIONS:
  case KEY_ENTRIES:
  case KEY_SWEEP:
    break;
  }
}

static void print_key(struct printer *printer, unsigned indent, const char *key) {
  text_printf(&printer->text, "%*s", (int)indent, "");
  yaml_write_text(&printer->text, key); /* a key `n` or `on` is a boolean to some readers */
  text_append(&printer->text, ":");
}

static bool has_values(const struct section *section) {
  for (size_t i = 0; i < section->table->count; i++) {
    if (section->values[i].given) {
      return true;
    }
  }
  return false;
}

static void print_section(struct printer *printer, const struct section *section, unsigned indent);

static void print_pair(struct printer *printer, const struct key_spec *spec, const struct key_value *value,
                       unsigned indent) {
  if (!value->given) {
    return;
  }
  print_key(printer, indent, spec->key);
  if (spec->type == KEY_SECTION && !value->is_auto) {
    text_append(&printer->text, has_values(value->section) ? "\n" : " {}\n");
    print_section(printer, value->section, indent + 2);
    return;
  }
  if (spec->type == KEY_SECTIONS) {
    text_append(&printer->text, "\n");
    for (size_t i = 0; i < value->count; i++) {
      text_printf(&printer->text, "%*s-\n", (int)indent + 2, "");
      print_section(printer, value->sections[i], indent + 4);
    }
    return;
  }
  text_append(&printer->text, " ");
  print_value(printer, spec, value);
  text_append(&printer->text, "\n");
}

/* The keys of a section that have values, one a line. */
static void print_section(struct printer *printer, const struct section *section, unsigned indent) {
  for (size_t i = 0; i < section->table->count; i++) {
    print_pair(printer, &section->table->keys[i], &section->values[i], indent);
  }
}

/* The line that an entry starts with. */
static void print_entry(struct printer *printer, const char *id, bool has_keys) {
  text_append(&printer->text, "  -");
  print_key(printer, 1, id);
  text_append(&printer->text, has_keys ? "\n" : " {}\n");
}

static void print_label(struct printer *printer, const char *label) {
  print_key(printer, 4, "label");
  text_append(&printer->text, " ");
  yaml_write_text(&printer->text, label);
  text_append(&printer->text, "\n");
}

static void print_map(struct printer *printer, const struct position_map *map) {
  static const char *const names[] = {[POSITION_OFFSET] = "offset",
                                      [POSITION_DIVIDE] = "divide",
                                      [POSITION_CLAMP] = "clamp",
                                      [POSITION_WRAP] = "wrap",
                                      [POSITION_SHUFFLED] = "shuffled"};
  if (map->kind == POSITION_AS_IS) {
    return;
  }
  text_printf(&printer->text, "    positions: {%s: ", names[map->kind]);
  if (map->kind == POSITION_SHUFFLED) {
    text_append(&printer->text, "true");
  } else if (map->automatic) {
    text_append(&printer->text, "auto");
  } else {
    text_append_double(&printer->text, map->value);
  }
  text_append(&printer->text, "}\n");
}

static void print_file(struct printer *printer, const char *key, const char *path) {
  if (path) {
    print_key(printer, 4, key);
    text_append(&printer->text, " ");
    print_path(printer, path);
    text_append(&printer->text, "\n");
  }
}

static void print_scheme(struct printer *printer, const struct plan_scheme *scheme) {
  bool any = has_values(scheme->params);
  for (size_t i = 0; i < scheme->info->n_tensors; i++) {
    any = any || scheme->tensors[i].given;
  }
  print_entry(printer, scheme->info->id, any);
  print_section(printer, scheme->params, 6);
  for (size_t i = 0; i < scheme->info->n_tensors; i++) {
    struct key_spec spec = {.key = scheme->info->tensors[i].name, .type = KEY_TENSOR};
    print_pair(printer, &spec, &scheme->tensors[i], 6);
  }
  print_label(printer, scheme->label);
  print_map(printer, &scheme->map);
  if (scheme->other_every) {
    text_printf(&printer->text, "    layers: {every: %zu, scheme: ", scheme->other_every);
    yaml_write_text(&printer->text, scheme->other_scheme);
    text_append(&printer->text, "}\n");
  }
  print_file(printer, "plugin", scheme->plugin);
  print_file(printer, "weights", scheme->weights);
}

static void print_experiment(struct printer *printer, const struct plan_experiment *experiment) {
  print_entry(printer, experiment->info->id, has_values(experiment->keys));
  print_section(printer, experiment->keys, 6);
  print_label(printer, experiment->label);
  print_file(printer, "weights", experiment->weights);
}

/* Whether an experiment has other seeds than the config's number would give. */
static bool seeds_differ(const struct plan *plan) {
  for (size_t i = 0; i < plan->n_experiments; i++) {
    const struct plan_experiment *experiment = &plan->experiments[i];
    if (experiment->info && !experiment->info->trains && experiment->n_seeds != plan->n_seeds) {
      return true;
    }
  }
  return false;
}

static void print_plan(struct printer *printer, const struct plan *plan, bool with_output) {
  struct text *text = &printer->text;
  text_append(text, "title: ");
  yaml_write_text(text, plan->title);
  text_printf(text, "\nseed: %" PRIu64 "\n", plan->seed);
  if (seeds_differ(plan)) {
    text_append(text, "seeds: auto\n");
  } else {
    text_printf(text, "seeds: %" PRIu64 "\n", plan->n_seeds);
  }
  if (with_output) {
    text_append(text, "output: ");
    yaml_write_text(text, plan->output);
    text_append(text, "\n");
  }
  if (plan->model) {
    text_append(text, "model:\n");
    print_section(printer, plan->model, 2);
  }
  text_append(text, "schemes:\n");
  for (size_t i = 0; i < plan->n_schemes; i++) {
    if (!plan->schemes[i].implied) { /* listed, it would run in every experiment */
      print_scheme(printer, &plan->schemes[i]);
    }
  }
  text_append(text, "experiments:\n");
  for (size_t i = 0; i < plan->n_experiments; i++) {
    print_experiment(printer, &plan->experiments[i]);
  }
  text_append(text, plan->n_expectations ? "expect:\n" : "");
  for (size_t i = 0; i < plan->n_expectations; i++) {
    text_append(text, "  - ");
    yaml_write_text(text, plan->expectations[i].text);
    text_append(text, "\n");
  }
  if (plan->decision) {
    text_append(text, "decision:\n");
    print_section(printer, plan->decision->keys, 2);
  }
}

char *plan_print(const struct plan *plan, bool with_output, struct error *err) {
  char *folder = path_folder(plan->config_path, err);
  if (!folder) {
    return NULL;
  }
  struct printer printer = {.folder = with_output ? NULL : folder, .err = err};
  print_plan(&printer, plan, with_output);
  free(folder);
  return text_take(&printer.text, err);
}

char *plan_print_piece(const struct plan *plan, enum plan_piece piece, size_t index, const struct path_names *names,
                       struct error *err) {
  struct printer printer = {.names = names, .err = err};
  *err = (struct error){0};
  switch (piece) {
  case PIECE_MODEL:
    if (plan->model) {
      print_section(&printer, plan->model, 2);
    }
    break;
  case PIECE_SCHEME:
    print_scheme(&printer, &plan->schemes[index]);
    break;
  case PIECE_EXPERIMENT:
    print_experiment(&printer, &plan->experiments[index]);
    break;
  case PIECE_DECISION:
    if (plan->decision) {
      print_section(&printer, plan->decision->keys, 2);
    }
    break;
  }
  struct error reason = *err;
  char *text = text_take(&printer.text, err);
  if (!text && reason.code) {
    *err = reason;
  }
  return text;
}
