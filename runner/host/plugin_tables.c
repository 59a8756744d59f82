#include "host/plugin_tables.h"

#include "host/plugin_names.h"

#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* More rows than any scheme has: a count above is garbage, not a table. */
enum { MOST_ROWS = 1024 };

#define COVERS(type, member, size) ((size) >= offsetof(type, member) + sizeof(((type *)0)->member))

/* Where in the plugin a sentence points to. */
struct place {
  const char *path;
  const char *scheme; /* its id; NULL before it is known */
  size_t index;       /* of the scheme */
  bool newer;         /* the plugin's minor version is above this host's: bits unknown here are its right */
};

const pe_param *plugin_param(const pe_scheme *scheme, size_t which) {
  return (const pe_param *)(const void *)((const char *)scheme->params + which * scheme->param_stride);
}

const pe_tensor *plugin_tensor(const pe_scheme *scheme, size_t which) {
  return (const pe_tensor *)(const void *)((const char *)scheme->tensors + which * scheme->tensor_stride);
}

static int unsound(const struct place *place, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int unsound(const struct place *place, struct error *err, const char *format, ...) {
  char what[600];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  if (place->scheme) {
    return error_set(err, ERROR_PLUGIN_TABLE, "%s: scheme %s: %s", place->path, place->scheme, what);
  }
  return error_set(err, ERROR_PLUGIN_TABLE, "%s: scheme %zu: %s", place->path, place->index, what);
}

static int check_line(const struct place *place, const char *what, const char *text, struct error *err) {
  if (!text) {
    return unsound(place, err, "%s is NULL", what);
  }
  if (!plugin_text_is_line(text)) {
    return unsound(place, err, "%s is not one line of clean UTF-8 of at most 1000 bytes", what);
  }
  return 0;
}

static int check_bits(const struct place *place, const char *what, uint32_t bits, uint32_t known, struct error *err) {
  if ((bits & ~known) && !place->newer) {
    return unsound(place, err, "%s have bits that version %u.%u of the contract does not know: 0x%x", what,
                   PE_ABI_MAJOR, PE_ABI_MINOR, bits & ~known);
  }
  return 0;
}

/* ---- parameters ---- */

static bool in_bounds(const pe_param *param, double value) {
  return isfinite(value) && value >= param->min && value <= param->max;
}

static int check_bounds(const struct place *place, const pe_param *param, struct error *err) {
  if (!(param->min <= param->max)) {
    return unsound(place, err, "parameter %s: its bounds are min %g and max %g; min <= max is needed", param->key,
                   param->min, param->max);
  }
  if (param->type == PE_INT) {
    bool whole = (isinf(param->min) || param->min == floor(param->min)) &&
                 (isinf(param->max) || param->max == floor(param->max));
    if (!whole) {
      return unsound(place, err, "parameter %s: the bounds %g and %g of a PE_INT must be whole numbers", param->key,
                     param->min, param->max);
    }
  }
  return 0;
}

static int check_list_bounds(const struct place *place, const pe_param *param, struct error *err) {
  if (param->list_min > param->list_max || param->list_max == 0) {
    return unsound(place, err,
                   "parameter %s: list_min is %zu, list_max %zu; list_min <= list_max, list_max >= 1 is needed",
                   param->key, param->list_min, param->list_max);
  }
  return 0;
}

static int check_choices(const struct place *place, const pe_param *param, size_t *count, struct error *err) {
  if (!param->choices || !param->choices[0]) {
    return unsound(place, err, "parameter %s: a PE_CHOICE without choices", param->key);
  }
  size_t n = 0;
  for (; param->choices[n]; n++) {
    if (n == MOST_ROWS) {
      return unsound(place, err, "parameter %s: its choices are not ended by NULL", param->key);
    }
    if (!param->choices[n][0] || !plugin_text_is_line(param->choices[n])) {
      return unsound(place, err, "parameter %s: choice %zu is no word", param->key, n);
    }
    for (size_t before = 0; before < n; before++) {
      if (!strcmp(param->choices[before], param->choices[n])) {
        return unsound(place, err, "parameter %s: the choice %s stands twice", param->key, param->choices[n]);
      }
    }
  }
  *count = n;
  return 0;
}

static int default_outside(const struct place *place, const pe_param *param, double value, struct error *err) {
  return unsound(place, err, "parameter %s: the default %g is not in [%g, %g]", param->key, value, param->min,
                 param->max);
}

static int check_list_default(const struct place *place, const pe_param *param, struct error *err) {
  const pe_value *value = &param->dflt;
  if (value->n < param->list_min || value->n > param->list_max) {
    return unsound(place, err, "parameter %s: the default has %zu elements, %zu to %zu are allowed", param->key,
                   value->n, param->list_min, param->list_max);
  }
  if (value->n && !value->list) {
    return unsound(place, err, "parameter %s: the default's list is NULL, its n is %zu", param->key, value->n);
  }
  for (size_t i = 0; i < value->n; i++) {
    if (!in_bounds(param, value->list[i])) {
      return default_outside(place, param, value->list[i], err);
    }
  }
  return 0;
}

static int check_default(const struct place *place, const pe_param *param, size_t n_choices, struct error *err) {
  switch (param->type) {
  case PE_BOOL:
    return param->dflt.i == 0 || param->dflt.i == 1
               ? 0
               : unsound(place, err, "parameter %s: the default of a PE_BOOL is %lld", param->key,
                         (long long)param->dflt.i);
  case PE_INT:
    return in_bounds(param, (double)param->dflt.i) ? 0 : default_outside(place, param, (double)param->dflt.i, err);
  case PE_REAL:
    return in_bounds(param, param->dflt.r) ? 0 : default_outside(place, param, param->dflt.r, err);
  case PE_CHOICE:
    return param->dflt.i >= 0 && (uint64_t)param->dflt.i < n_choices
               ? 0
               : unsound(place, err, "parameter %s: the default is choice %lld of %zu", param->key,
                         (long long)param->dflt.i, n_choices);
  default:
    return check_list_default(place, param, err);
  }
}

static int check_param_key(const struct place *place, const pe_scheme *scheme, size_t which, struct error *err) {
  const pe_param *param = plugin_param(scheme, which);
  if (!param->key) {
    return unsound(place, err, "parameter %zu: its key is NULL", which);
  }
  if (!plugin_name_is_key(param->key, true)) {
    return unsound(place, err, "parameter %zu: its key does not match [a-z][a-z0-9_]{0,63}", which);
  }
  if (plugin_name_is_reserved_key(param->key)) {
    return unsound(place, err, "parameter %s: the word has a meaning of its own in a config", param->key);
  }
  for (size_t before = 0; before < which; before++) {
    if (!strcmp(plugin_param(scheme, before)->key, param->key)) {
      return unsound(place, err, "parameter %s stands twice", param->key);
    }
  }
  return check_line(place, "the doc of a parameter", param->doc, err);
}

static int check_param(const struct place *place, const pe_scheme *scheme, size_t which, struct error *err) {
  int status = check_param_key(place, scheme, which, err);
  if (status) {
    return status;
  }
  const pe_param *param = plugin_param(scheme, which);
  if (param->type < PE_BOOL || param->type > PE_REAL_LIST) {
    return unsound(place, err, "parameter %s: its type is %d, which version %u.%u of the contract does not know",
                   param->key, param->type, PE_ABI_MAJOR, PE_ABI_MINOR);
  }
  enum { EITHER = PE_PARAM_OPTIONAL | PE_PARAM_REQUIRED };
  status = check_bits(place, "the flags of a parameter", param->flags, EITHER | PE_PARAM_OR_LIST, err);
  if (status) {
    return status;
  }
  if ((param->flags & EITHER) == EITHER) {
    return unsound(place, err, "parameter %s: both optional and required", param->key);
  }
  bool or_list = (param->flags & PE_PARAM_OR_LIST) != 0;
  if (or_list && param->type != PE_CHOICE) {
    return unsound(place, err, "parameter %s: PE_PARAM_OR_LIST goes with PE_CHOICE alone", param->key);
  }
  size_t n_choices = 0;
  if (param->type == PE_CHOICE) {
    status = check_choices(place, param, &n_choices, err);
  } else if (param->choices) {
    status = unsound(place, err, "parameter %s: choices, but it is no PE_CHOICE", param->key);
  }
  bool is_list = or_list || param->type == PE_REAL_LIST;
  if (!status && (is_list || param->type == PE_INT || param->type == PE_REAL)) {
    status = check_bounds(place, param, err);
  }
  if (!status && is_list) {
    status = check_list_bounds(place, param, err);
  }
  if (!status && !(param->flags & EITHER)) {
    status = check_default(place, param, n_choices, err);
  }
  return status;
}

static int check_params(const struct place *place, const pe_scheme *scheme, struct error *err) {
  if (scheme->n_params == 0) {
    return 0;
  }
  if (!scheme->params || scheme->n_params > MOST_ROWS) {
    return unsound(place, err, "params is %s, n_params is %u", scheme->params ? "set" : "NULL", scheme->n_params);
  }
  if (scheme->param_stride < sizeof(pe_param) || scheme->param_stride % alignof(pe_param)) {
    return unsound(place, err, "param_stride is %u, a pe_param takes %zu bytes", scheme->param_stride,
                   sizeof(pe_param));
  }
  for (size_t i = 0; i < scheme->n_params; i++) {
    int status = check_param(place, scheme, i, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* ---- tensors ---- */

static int check_tensor_name(const struct place *place, const pe_scheme *scheme, size_t which, struct error *err) {
  const pe_tensor *tensor = plugin_tensor(scheme, which);
  if (!tensor->name) {
    return unsound(place, err, "tensor %zu: its name is NULL", which);
  }
  if (!plugin_name_is_key(tensor->name, false)) {
    return unsound(place, err, "tensor %zu: its name does not match [A-Za-z][A-Za-z0-9_]{0,63}", which);
  }
  if (plugin_name_is_reserved_key(tensor->name)) {
    return unsound(place, err, "tensor %s: the word has a meaning of its own in a config", tensor->name);
  }
  for (size_t before = 0; before < which; before++) {
    if (!strcmp(plugin_tensor(scheme, before)->name, tensor->name)) {
      return unsound(place, err, "tensor %s stands twice", tensor->name);
    }
  }
  for (size_t i = 0; i < scheme->n_params; i++) {
    if (!strcmp(plugin_param(scheme, i)->key, tensor->name)) {
      return unsound(place, err, "%s is the name of a parameter and of a tensor", tensor->name);
    }
  }
  return check_line(place, "the doc of a tensor", tensor->doc, err);
}

static int check_tensor(const struct place *place, const pe_scheme *scheme, size_t which, struct error *err) {
  int status = check_tensor_name(place, scheme, which, err);
  if (status) {
    return status;
  }
  const pe_tensor *tensor = plugin_tensor(scheme, which);
  if (tensor->init < PE_INIT_ZERO || tensor->init > PE_INIT_UNIFORM) {
    return unsound(place, err, "tensor %s: its init is %d, which version %u.%u of the contract does not know",
                   tensor->name, tensor->init, PE_ABI_MAJOR, PE_ABI_MINOR);
  }
  if (!isfinite(tensor->init_a) || !isfinite(tensor->init_b) ||
      (tensor->init == PE_INIT_NORMAL && tensor->init_b < 0) ||
      (tensor->init == PE_INIT_UNIFORM && tensor->init_b < tensor->init_a)) {
    return unsound(place, err, "tensor %s: init_a is %g, init_b %g", tensor->name, tensor->init_a, tensor->init_b);
  }
  return check_bits(place, "the flags of a tensor", tensor->flags, PE_TENSOR_GIVEN | PE_TENSOR_PER_SQRT_DMODEL, err);
}

static int check_tensors(const struct place *place, const pe_scheme *scheme, struct error *err) {
  if (scheme->n_tensors == 0) {
    return 0;
  }
  if (!scheme->tensors || scheme->n_tensors > MOST_ROWS) {
    return unsound(place, err, "tensors is %s, n_tensors is %u", scheme->tensors ? "set" : "NULL", scheme->n_tensors);
  }
  if (scheme->tensor_stride < sizeof(pe_tensor) || scheme->tensor_stride % alignof(pe_tensor)) {
    return unsound(place, err, "tensor_stride is %u, a pe_tensor takes %zu bytes", scheme->tensor_stride,
                   sizeof(pe_tensor));
  }
  for (size_t i = 0; i < scheme->n_tensors; i++) {
    int status = check_tensor(place, scheme, i, err);
    if (status) {
      return status;
    }
  }
  return scheme->tensor_shape && scheme->tensor_bind ? 0
                                                     : unsound(place, err, "%s is NULL, but there are tensors",
                                                               scheme->tensor_shape ? "tensor_bind" : "tensor_shape");
}

/* ---- the scheme ---- */

static int check_site(const struct place *place, bool named, bool present, const char *site, const char *function,
                      struct error *err) {
  if (named && !present) {
    return unsound(place, err, "sites names %s, but %s is NULL", site, function);
  }
  if (!named && present) {
    return unsound(place, err, "%s is set, but sites does not name %s", function, site);
  }
  return 0;
}

static int check_functions(const struct place *place, const pe_scheme *scheme, struct error *err) {
  if (!scheme->create || !scheme->destroy) {
    return unsound(place, err, "%s is NULL", scheme->create ? "destroy" : "create");
  }
  if (!scheme->derived_count != !scheme->derived) {
    return unsound(place, err, "%s is set, but %s is NULL", scheme->derived ? "derived" : "derived_count",
                   scheme->derived ? "derived_count" : "derived");
  }
  int status = check_site(place, scheme->sites & PE_SITE_EMBED, scheme->embed_add, "PE_SITE_EMBED", "embed_add", err);
  if (!status) {
    status = check_site(place, scheme->sites & PE_SITE_QK, scheme->qk_apply, "PE_SITE_QK", "qk_apply", err);
  }
  if (!status) {
    status = check_site(place, scheme->sites & PE_SITE_BIAS, scheme->bias_add, "PE_SITE_BIAS", "bias_add", err);
  }
  return status;
}

static int check_sites_and_traits(const struct place *place, const pe_scheme *scheme, struct error *err) {
  enum { SITES = PE_SITE_EMBED | PE_SITE_QK | PE_SITE_BIAS };
  enum { TRAITS = PE_TRAIT_RELATIVE | PE_TRAIT_CONTENT | PE_TRAIT_CAUSAL_ONLY | PE_TRAIT_LENGTH_DEPENDENT };
  int status = check_bits(place, "sites", scheme->sites, SITES, err);
  if (!status && !(scheme->sites & SITES)) {
    status = unsound(place, err, "sites is 0x%x: it acts nowhere that this pe-run knows of", scheme->sites);
  }
  if (!status) {
    status = check_bits(place, "traits", scheme->traits, TRAITS, err);
  }
  if (!status && (scheme->traits & PE_TRAIT_CONTENT) && !(scheme->sites & PE_SITE_BIAS)) {
    status = unsound(place, err, "PE_TRAIT_CONTENT goes with PE_SITE_BIAS alone");
  }
  return status;
}

static int check_scheme_id(struct place *place, const pe_scheme *scheme, struct error *err) {
  if (!scheme->id) {
    return unsound(place, err, "its id is NULL");
  }
  if (!plugin_name_is_scheme_id(scheme->id)) {
    return unsound(place, err, "its id does not match [A-Za-z][A-Za-z0-9_]{0,63}");
  }
  place->scheme = scheme->id;
  if (plugin_name_is_reserved_id(scheme->id)) {
    return unsound(place, err, "the id has a meaning of its own in results");
  }
  int status = check_line(place, "its title", scheme->title, err);
  return status ? status : check_line(place, "its reference", scheme->reference, err);
}

static int check_scheme(struct place *place, const pe_scheme *scheme, struct error *err) {
  if (!scheme) {
    return unsound(place, err, "it is NULL");
  }
  /* Up to bias_add everything belongs to the first version; what follows is read only where it is there. */
  if (!COVERS(pe_scheme, bias_add, scheme->struct_size)) {
    return unsound(place, err, "its struct_size is %u; version %u.%u of the contract needs at least %zu bytes",
                   scheme->struct_size, PE_ABI_MAJOR, PE_ABI_MINOR,
                   offsetof(pe_scheme, bias_add) + sizeof scheme->bias_add);
  }
  int status = check_scheme_id(place, scheme, err);
  if (!status) {
    status = check_sites_and_traits(place, scheme, err);
  }
  if (!status) {
    status = check_functions(place, scheme, err);
  }
  if (!status) {
    status = check_params(place, scheme, err);
  }
  return status ? status : check_tensors(place, scheme, err);
}

/* ---- the entry ---- */

static int check_version(const char *path, const pe_entry *entry, struct error *err) {
  if (entry->magic != PE_ABI_MAGIC) {
    return error_set(err, ERROR_PLUGIN_ABI, "%s: the magic of %s is 0x%08x, 0x%08x is needed: not a pe-run plugin",
                     path, PE_ENTRY_SYMBOL, entry->magic, PE_ABI_MAGIC);
  }
  /* The first four members never move, so these two are there in every version. */
  if (entry->abi_major != PE_ABI_MAJOR) {
    return error_set(
        err, ERROR_PLUGIN_ABI,
        "%s: built for version %u.%u of the plugin contract, this pe-run has %u.%u; build it again with this "
        "pe-run's pe/plugin.h",
        path, entry->abi_major, entry->abi_minor, PE_ABI_MAJOR, PE_ABI_MINOR);
  }
  if (!COVERS(pe_entry, n_schemes, entry->struct_size)) {
    return error_set(err, ERROR_PLUGIN_ABI,
                     "%s: the struct_size of %s is %u (built for version %u.%u of the plugin contract); this pe-run, "
                     "with version %u.%u, needs at least %zu bytes",
                     path, PE_ENTRY_SYMBOL, entry->struct_size, entry->abi_major, entry->abi_minor, PE_ABI_MAJOR,
                     PE_ABI_MINOR, offsetof(pe_entry, n_schemes) + sizeof entry->n_schemes);
  }
  return 0;
}

static int check_entry_text(const char *path, const char *what, const char *text, struct error *err) {
  if (!text || !plugin_text_is_line(text)) {
    return error_set(err, ERROR_PLUGIN_TABLE, "%s: the plugin's %s is %s", path, what,
                     text ? "not one line of clean UTF-8 of at most 1000 bytes" : "NULL");
  }
  return 0;
}

int plugin_tables_check(const char *path, const pe_entry *entry, struct error *err) {
  int status = check_version(path, entry, err);
  if (!status) {
    status = check_entry_text(path, "name", entry->name, err);
  }
  if (!status) {
    status = check_entry_text(path, "version", entry->version, err);
  }
  if (status) {
    return status;
  }
  if (!entry->schemes || entry->n_schemes == 0 || entry->n_schemes > MOST_ROWS) {
    return error_set(err, ERROR_PLUGIN_TABLE, "%s: schemes is %s, n_schemes is %u; 1 to %d schemes are needed", path,
                     entry->schemes ? "set" : "NULL", entry->n_schemes, MOST_ROWS);
  }
  for (size_t i = 0; i < entry->n_schemes; i++) {
    struct place place = {.path = path, .index = i, .newer = entry->abi_minor > PE_ABI_MINOR};
    status = check_scheme(&place, entry->schemes[i], err);
    if (status) {
      return status;
    }
    for (size_t before = 0; before < i; before++) {
      if (!strcmp(entry->schemes[before]->id, entry->schemes[i]->id)) {
        return unsound(&place, err, "the id stands twice in this plugin");
      }
    }
  }
  return 0;
}
