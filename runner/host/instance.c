#include "host/instance.h"

#include "base/memory.h"
#include "host/instance_parts.h"
#include "host/plugin_names.h"
#include "host/plugin_tables.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a plugin says ---- */

pe_error call_error(void) {
  return (pe_error){.struct_size = sizeof(pe_error), .where = -1};
}

static const char *status_name(pe_status status) {
  static const char *const NAMES[] = {
      "PE_OK",           "PE_ERR_ARGUMENT",    "PE_ERR_PARAM",  "PE_ERR_SHAPE",   "PE_ERR_POS_RANGE",
      "PE_ERR_POS_KIND", "PE_ERR_UNSUPPORTED", "PE_ERR_MEMORY", "PE_ERR_INTERNAL"};
  return status >= 0 && (size_t)status < sizeof NAMES / sizeof NAMES[0] ? NAMES[status]
                                                                        : "a status the contract does not have";
}

int call_failed(const struct instance *instance, const char *call, pe_status status, pe_error *why, struct error *err) {
  const char *id = instance->scheme->info.id;
  why->msg[sizeof why->msg - 1] = '\0';
  plugin_text_clean(why->msg);
  const char *said = why->msg[0] ? why->msg : "it did not say why";
  switch (status) {
  case PE_ERR_PARAM:
  case PE_ERR_SHAPE:
  case PE_ERR_UNSUPPORTED:
    return error_set(err, ERROR_SCHEME_REFUSED, "%s: %s", id, said);
  case PE_ERR_MEMORY:
    return error_set(err, ERROR_MEMORY, "%s: %s: out of memory: %s", id, call, said);
  default:
    return error_set(err, ERROR_SCHEME_FAILED, "%s: %s returned %s (%d): %s", id, call, status_name(status), status,
                     said);
  }
}

static void host_log(void *context, int32_t level, const char *msg) {
  const struct instance *instance = context;
  if (!instance->warn || !msg || level < 1) {
    return;
  }
  char text[512];
  snprintf(text, sizeof text, "%s: %s", instance->scheme->info.id, msg);
  plugin_text_clean(text);
  instance->warn(instance->warn_context, text);
}

/* ---- parameters ---- */

static int64_t truncated(double value) {
  return fabs(value) < 0x1p62 ? (int64_t)value : value > 0 ? INT64_MAX : INT64_MIN;
}

static pe_value value_of_default(const pe_param *param) {
  pe_value value = param->dflt;
  value.given = !(param->flags & PE_PARAM_OPTIONAL);
  value.reserved = 0;
  if (!value.given) {
    return (pe_value){0};
  }
  if (param->type == PE_INT) {
    value.r = (double)value.i;
  } else if (param->type == PE_REAL) {
    value.i = truncated(value.r);
  }
  return value;
}

static pe_value value_of_key(const pe_param *param, const struct key_value *key) {
  pe_value value = {.given = key->given};
  if (!key->given) {
    return value;
  }
  switch (param->type) {
  case PE_REAL:
    value.r = key->real;
    value.i = truncated(key->real);
    break;
  case PE_INT:
    value.i = key->integer;
    value.r = (double)key->integer;
    break;
  case PE_REAL_LIST:
    value.list = key->list;
    value.n = key->count;
    break;
  default:
    value.i = key->integer;
    if (param->type == PE_CHOICE && key->integer < 0) {
      value.list = key->list;
      value.n = key->count;
    }
  }
  return value;
}

static int collect_values(const struct scheme *scheme, const struct section *params, pe_value *values,
                          struct error *err) {
  assert(!params || params->table->count == scheme->table->n_params);
  for (size_t i = 0; i < scheme->table->n_params; i++) {
    const pe_param *param = plugin_param(scheme->table, i);
    if (params) {
      values[i] = value_of_key(param, &params->values[i]);
    } else if (param->flags & PE_PARAM_REQUIRED) {
      return error_set(err, ERROR_SCHEME_REFUSED, "%s: %s must be given", scheme->info.id, param->key);
    } else {
      values[i] = value_of_default(param);
    }
  }
  return 0;
}

/* ---- making one ---- */

static pe_dims *given_dims(const struct instance_request *request, size_t n_tensors, struct error *err) {
  pe_dims *given = memory_new(n_tensors, sizeof *given, "shapes of given tensors", err);
  for (size_t i = 0; given && request->tensors && i < n_tensors; i++) {
    if (request->tensors[i].data) {
      given[i] = request->tensors[i].shape;
    }
  }
  return given;
}

static int create_with(struct instance *instance, const pe_value *values, const pe_dims *given, struct error *err) {
  const pe_scheme *table = instance->scheme->table;
  pe_shape shape = instance->shape;
  shape.given = given;
  pe_error why = call_error();
  pe_instance *made = NULL;
  struct fp_environment before = call_begin();
  pe_status status = table->create(&instance->host, &shape, values, &made, &why);
  call_end(instance, &before);
  if (status != PE_OK) {
    return call_failed(instance, "create", status, &why, err);
  }
  if (!made) {
    return error_set(err, ERROR_SCHEME_FAILED, "%s: create returned PE_OK and no instance", instance->scheme->info.id);
  }
  instance->plugin = made;
  return 0;
}

static int create(struct instance *instance, const struct instance_request *request, struct error *err) {
  const pe_scheme *table = request->scheme->table;
  int status = 0;
  pe_dims *given = NULL;
  pe_value *values = memory_new(table->n_params, sizeof *values, "parameter values", err);
  if (!values) {
    return ERROR_MEMORY;
  }
  given = given_dims(request, table->n_tensors, err);
  if (!given) {
    status = ERROR_MEMORY;
    goto free_values;
  }
  status = collect_values(request->scheme, request->params, values, err);
  if (!status) {
    status = create_with(instance, values, given, err);
  }
  free(given);
free_values:
  free(values);
  return status;
}

/* Members that a function may be found in only where the plugin's struct is long enough. */
static uint32_t ask_traits(const struct instance *instance) {
  const pe_scheme *table = instance->scheme->table;
  if (!PE_HAS(table, pe_scheme, instance_traits)) {
    return table->traits;
  }
  struct fp_environment before = call_begin();
  uint32_t traits = table->instance_traits(instance->plugin);
  call_end(instance, &before);
  return traits;
}

static int ask_domain(struct instance *instance, struct error *err) {
  const pe_scheme *table = instance->scheme->table;
  pe_domain *domain = &instance->domain;
  if (!table->domain) {
    return 0;
  }
  struct fp_environment before = call_begin();
  pe_status status = table->domain(instance->plugin, domain);
  call_end(instance, &before);
  if (status != PE_OK) {
    pe_error why = call_error();
    return call_failed(instance, "domain", status, &why, err);
  }
  if (domain->pos_axes < 1 || domain->pos_axes > MOST_POSITION_AXES || !(domain->min <= domain->max) ||
      !(domain->max_distance >= 0)) {
    return error_set(err, ERROR_SCHEME_FAILED,
                     "%s: domain makes no sense: pos_axes %u (1 to %d), min %g, max %g, max_distance %g",
                     instance->scheme->info.id, domain->pos_axes, MOST_POSITION_AXES, domain->min, domain->max,
                     domain->max_distance);
  }
  return 0;
}

static int ask_width(struct instance *instance, struct error *err) {
  const pe_scheme *table = instance->scheme->table;
  instance->qk_width = instance->shape.head_dim;
  if (!(table->sites & PE_SITE_QK) || !table->qk_width) {
    return 0;
  }
  struct fp_environment before = call_begin();
  uint32_t width = table->qk_width(instance->plugin);
  call_end(instance, &before);
  /* A width of thousands of heads is a fault, and would be paid for in memory first. */
  if (width == 0 || width > 1024 * (uint64_t)instance->shape.head_dim) {
    return error_set(err, ERROR_SCHEME_FAILED, "%s: qk_width is %u for rows of %u", instance->scheme->info.id, width,
                     instance->shape.head_dim);
  }
  instance->qk_width = width;
  return 0;
}

static int ask_all(struct instance *instance, const struct tensor_source *tensors, struct error *err) {
  const char *id = instance->scheme->info.id;
  instance->traits = ask_traits(instance);
  uint32_t promised = instance->scheme->table->traits;
  if ((instance->traits & promised) != promised) {
    return error_set(err, ERROR_SCHEME_FAILED, "%s: instance_traits 0x%x lacks traits of the scheme, 0x%x", id,
                     instance->traits, promised);
  }
  int status = ask_domain(instance, err);
  if (!status) {
    status = ask_width(instance, err);
  }
  if (!status && !(isfinite(instance_score_scale(instance, 1)))) {
    status = error_set(err, ERROR_SCHEME_FAILED, "%s: score_scale is not a finite number", id);
  }
  return status ? status : instance_bind_tensors(instance, tensors, err);
}

/* A scheme that acts at several sites may do without one of them (a table that is given for one site). */
static int refuse_model(const struct instance *instance, struct error *err) {
  uint32_t sites = instance_sites(instance);
  const char *id = instance->scheme->info.id;
  if (sites == PE_SITE_EMBED && instance->shape.d_model == 0) {
    return error_set(err, ERROR_SCHEME_REFUSED,
                     "%s: acts on embeddings, and there are none: queries and keys are given", id);
  }
  if ((sites & PE_SITE_QK) && instance->shape.head_dim == 0) {
    return error_set(err, ERROR_SCHEME_REFUSED, "%s: acts on queries and keys, and there are none", id);
  }
  return 0;
}

static int refuse_map(const struct instance *instance, struct error *err) {
  static const char *const NAMES[] = {
      [POSITION_DIVIDE] = "divide", [POSITION_CLAMP] = "clamp", [POSITION_WRAP] = "wrap"};
  const struct position_map *map = &instance->map;
  bool has_length = map->kind == POSITION_DIVIDE || map->kind == POSITION_CLAMP || map->kind == POSITION_WRAP;
  if (has_length && map->automatic && !(instance->shape.train_len > 0)) {
    return error_set(err, ERROR_SCHEME_REFUSED, "%s: positions: %s: auto needs the training length, which is not known",
                     instance->scheme->info.id, NAMES[map->kind]);
  }
  assert(!has_length || map->automatic || map->value > 0);
  return 0;
}

static struct instance *instance_blank(const struct instance_request *request, struct error *err) {
  struct instance *instance = memory_new(1, sizeof *instance, "a scheme instance", err);
  if (!instance) {
    return NULL;
  }
  instance->changed_fp_state = memory_new(1, sizeof *instance->changed_fp_state, "a scheme instance", err);
  if (!instance->changed_fp_state) {
    free(instance);
    return NULL;
  }
  atomic_init(instance->changed_fp_state, false);
  instance->scheme = request->scheme;
  instance->shape = request->shape;
  instance->shape.struct_size = sizeof instance->shape;
  instance->shape.given = NULL;
  instance->map = request->map;
  instance->seed = request->seed;
  instance->warn = request->warn;
  instance->warn_context = request->warn_context;
  instance->qk_width = request->shape.head_dim;
  instance->domain = (pe_domain){.struct_size = sizeof(pe_domain),
                                 .pos_axes = 1,
                                 .min = -INFINITY,
                                 .max = INFINITY,
                                 .max_distance = INFINITY,
                                 .trained_max = NAN};
  instance->host = (pe_host){.struct_size = sizeof(pe_host),
                             .abi_major = PE_ABI_MAJOR,
                             .abi_minor = PE_ABI_MINOR,
                             .ctx = instance,
                             .log = host_log};
  return instance;
}

struct instance *instance_new(const struct instance_request *request, struct error *err) {
  assert(request->shape.n_layers >= 1 && request->shape.n_heads >= 1 && request->shape.n_kv_heads >= 1);
  struct instance *instance = instance_blank(request, err);
  if (!instance) {
    return NULL;
  }
  int status = refuse_model(instance, err);
  if (!status) {
    status = refuse_map(instance, err);
  }
  if (!status && request->scheme->table) {
    status = create(instance, request, err);
    if (!status) {
      status = ask_all(instance, request->tensors, err);
    }
  }
  if (status) {
    instance_free(instance);
    return NULL;
  }
  return instance;
}

void instance_free(struct instance *instance) {
  if (!instance) {
    return;
  }
  if (instance->plugin) {
    struct fp_environment before = call_begin();
    instance->scheme->table->destroy(instance->plugin);
    call_end(instance, &before);
  }
  for (size_t i = 0; instance->tensors && i < instance->n_tensors; i++) {
    free(instance->tensors[i]);
  }
  free(instance->tensors);
  free(instance->dims);
  free(instance->changed_fp_state);
  free(instance);
}

/* ---- what it is ---- */

const struct scheme *instance_scheme(const struct instance *instance) {
  return instance->scheme;
}

const struct position_map *instance_map(const struct instance *instance) {
  return &instance->map;
}

uint32_t instance_sites(const struct instance *instance) {
  return instance->scheme->table ? instance->scheme->table->sites & (PE_SITE_EMBED | PE_SITE_QK | PE_SITE_BIAS) : 0;
}

uint32_t instance_traits(const struct instance *instance) {
  return instance->traits;
}

pe_domain instance_domain(const struct instance *instance) {
  return instance->domain;
}

size_t instance_qk_width(const struct instance *instance) {
  return instance->qk_width;
}

bool instance_changed_fp_state(const struct instance *instance) {
  return atomic_load_explicit(instance->changed_fp_state, memory_order_relaxed);
}

double instance_score_scale(const struct instance *instance, double fallback) {
  const pe_scheme *table = instance->scheme->table;
  if (!table || !table->score_scale) {
    return fallback;
  }
  struct fp_environment before = call_begin();
  double scale = table->score_scale(instance->plugin, fallback);
  call_end(instance, &before);
  return scale;
}

const float *instance_tensor(const struct instance *instance, size_t which, pe_dims *shape) {
  assert(which < instance->n_tensors);
  if (shape) {
    *shape = instance->dims[which];
  }
  return instance->tensors[which];
}
