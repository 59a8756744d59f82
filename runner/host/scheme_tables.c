#include "host/scheme_tables.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/plugin_tables.h"

#include <inttypes.h>
#include <string.h>

/* A string that scheme_info_clear releases. */
static int copy_text(const char *text, const char **out, struct error *err) {
  *out = memory_copy_text(text, err);
  return *out ? 0 : ERROR_MEMORY;
}

static enum key_type key_type_of(int32_t type) {
  switch (type) {
  case PE_BOOL:
    return KEY_BOOL;
  case PE_INT:
    return KEY_INT;
  case PE_REAL:
    return KEY_REAL;
  case PE_CHOICE:
    return KEY_CHOICE;
  default:
    return KEY_REAL_LIST;
  }
}

static int copy_choices(const pe_param *param, struct key_spec *key, struct error *err) {
  size_t count = 0;
  while (param->choices[count]) {
    count++;
  }
  const char **choices = memory_new(count + 1, sizeof *choices, "choices of a parameter", err);
  key->choices = choices;
  if (!choices) {
    return ERROR_MEMORY;
  }
  for (size_t i = 0; i < count; i++) {
    int status = copy_text(param->choices[i], &choices[i], err);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* The default as it would be written in a config. */
static int write_default(const pe_param *param, const char **out, struct error *err) {
  struct text text = {0};
  switch (param->type) {
  case PE_BOOL:
    text_append(&text, param->dflt.i ? "true" : "false");
    break;
  case PE_INT:
    text_printf(&text, "%" PRId64, param->dflt.i);
    break;
  case PE_REAL:
    text_append_double(&text, param->dflt.r);
    break;
  case PE_CHOICE:
    text_append(&text, param->choices[param->dflt.i]);
    break;
  default:
    text_append(&text, "[");
    for (size_t i = 0; i < param->dflt.n; i++) {
      text_append(&text, i ? ", " : "");
      text_append_double(&text, param->dflt.list[i]);
    }
    text_append(&text, "]");
  }
  *out = text_take(&text, err);
  return *out ? 0 : ERROR_MEMORY;
}

static int copy_param(const pe_param *param, struct key_spec *key, struct error *err) {
  bool has_default = !(param->flags & (PE_PARAM_OPTIONAL | PE_PARAM_REQUIRED));
  key->type = key_type_of(param->type);
  key->flags = (param->flags & PE_PARAM_OPTIONAL ? KEY_OPTIONAL : 0u) |
               (param->flags & PE_PARAM_REQUIRED ? KEY_REQUIRED : 0u) |
               (param->flags & PE_PARAM_OR_LIST ? KEY_OR_LIST : 0u);
  key->min = param->min;
  key->max = param->max;
  key->list_min = param->list_min;
  key->list_max = param->list_max;
  int status = copy_text(param->key, &key->key, err);
  if (!status) {
    status = copy_text(param->doc, &key->doc, err);
  }
  if (!status && param->choices) {
    status = copy_choices(param, key, err);
  }
  if (!status && has_default) {
    status = write_default(param, &key->fallback, err);
  }
  return status;
}

static int copy_params(const pe_scheme *scheme, struct key_table *out, struct error *err) {
  int status = copy_text(scheme->id, &out->name, err);
  if (!status) {
    status = copy_text(scheme->title, &out->doc, err);
  }
  if (status) {
    return status;
  }
  struct key_spec *keys = memory_new(scheme->n_params, sizeof *keys, "parameters of a scheme", err);
  out->keys = keys;
  out->count = keys ? scheme->n_params : 0;
  for (size_t i = 0; i < out->count && !status; i++) {
    status = copy_param(plugin_param(scheme, i), &keys[i], err);
  }
  return keys ? status : ERROR_MEMORY;
}

static int copy_tensors(const pe_scheme *scheme, struct scheme_info *out, struct error *err) {
  out->tensors = memory_new(scheme->n_tensors, sizeof *out->tensors, "tensors of a scheme", err);
  if (!out->tensors) {
    return ERROR_MEMORY;
  }
  out->n_tensors = scheme->n_tensors;
  int status = 0;
  for (size_t i = 0; i < out->n_tensors && !status; i++) {
    const pe_tensor *from = plugin_tensor(scheme, i);
    struct scheme_tensor_info *to = &out->tensors[i];
    to->init = from->init;
    to->flags = from->flags;
    to->init_a = from->init_a;
    to->init_b = from->init_b;
    status = copy_text(from->name, &to->name, err);
    if (!status) {
      status = copy_text(from->doc, &to->doc, err);
    }
  }
  return status;
}

int scheme_tables_copy(const pe_entry *entry, const pe_scheme *scheme, const struct plugin_file *file,
                       struct scheme_info *out, struct error *err) {
  *out = (struct scheme_info){.version = scheme->version, .sites = scheme->sites, .traits = scheme->traits};
  memcpy(out->sha256, file->sha256, sizeof out->sha256);
  const struct {
    const char *from;
    const char **to;
  } texts[] = {
      {scheme->id, &out->id},           {scheme->title, &out->title},           {scheme->reference, &out->reference},
      {entry->name, &out->plugin_name}, {entry->version, &out->plugin_version}, {file->path, &out->path}};
  int status = 0;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0] && !status; i++) {
    status = copy_text(texts[i].from, texts[i].to, err);
  }
  if (!status) {
    status = copy_params(scheme, &out->params, err);
  }
  if (!status) {
    status = copy_tensors(scheme, out, err);
  }
  if (status) {
    scheme_info_clear(out);
  }
  return status;
}
