#include "plugin_fixture.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_random.h"

static const pe_param *param_at(const pe_scheme *scheme, uint32_t i) {
  return (const pe_param *)(const void *)((const char *)scheme->params + (size_t)i * scheme->param_stride);
}

static const pe_tensor *tensor_at(const pe_scheme *scheme, uint32_t i) {
  return (const pe_tensor *)(const void *)((const char *)scheme->tensors + (size_t)i * scheme->tensor_stride);
}

static void *zeroed(size_t n, size_t size) {
  void *memory = calloc(n ? n : 1, size);
  if (!memory) {
    fail_msg("no memory for %zu x %zu bytes", n, size);
  }
  return memory;
}

static void load_scheme(plugin_fixture *fixture, const char *plugin, const char *id) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGIN_DIR, plugin);
  fixture->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!fixture->library) {
    fail_msg("%s", dlerror());
  }
  const pe_entry *entry = dlsym(fixture->library, PE_ENTRY_SYMBOL);
  if (!entry || entry->magic != PE_ABI_MAGIC || entry->abi_major != PE_ABI_MAJOR) {
    fail_msg("%s has no entry of this ABI", path);
    return;
  }
  for (uint32_t i = 0; i < entry->n_schemes && !fixture->scheme; i++) {
    if (!id || strcmp(entry->schemes[i]->id, id) == 0) {
      fixture->scheme = entry->schemes[i];
    }
  }
  if (!fixture->scheme) {
    fail_msg("%s has no scheme %s", path, id);
  }
}

/* One value from a setting; false with a message where the host would refuse it. */
static bool value_from_setting(const pe_param *param, const plugin_setting *setting, pe_value *value, pe_error *error) {
  *value = (pe_value){.given = 1};
  if (setting->list) {
    bool takes_list =
        param->type == PE_REAL_LIST || (param->type == PE_CHOICE && (param->flags & PE_PARAM_OR_LIST) != 0);
    if (!takes_list || setting->n < param->list_min || setting->n > param->list_max) {
      pe_fail(error, PE_ERR_PARAM, -1, "%s: a list of %zu is not taken", param->key, setting->n);
      return false;
    }
    for (size_t i = 0; i < setting->n; i++) {
      if (!(setting->list[i] >= param->min && setting->list[i] <= param->max)) {
        pe_fail(error, PE_ERR_PARAM, -1, "%s[%zu] = %g is out of range", param->key, i, setting->list[i]);
        return false;
      }
    }
    value->i = -1;
    value->list = setting->list;
    value->n = setting->n;
    return true;
  }
  if (param->type == PE_CHOICE) {
    for (int64_t i = 0; setting->text && param->choices[i]; i++) {
      if (strcmp(param->choices[i], setting->text) == 0) {
        value->i = i;
        return true;
      }
    }
    pe_fail(error, PE_ERR_PARAM, -1, "%s: %s is no choice", param->key, setting->text ? setting->text : "a number");
    return false;
  }
  double low = param->type == PE_BOOL ? 0 : param->min;
  double high = param->type == PE_BOOL ? 1 : param->max;
  bool whole = param->type == PE_BOOL || param->type == PE_INT;
  if (setting->text || param->type == PE_REAL_LIST || !isfinite(setting->number) ||
      !(setting->number >= low && setting->number <= high) || (whole && floor(setting->number) != setting->number)) {
    pe_fail(error, PE_ERR_PARAM, -1, "%s = %g is out of range or of another type", param->key, setting->number);
    return false;
  }
  value->r = setting->number;
  value->i = fabs(setting->number) < 9e18 ? (int64_t)setting->number : 0;
  return true;
}

static bool fill_values(plugin_fixture *fixture, const plugin_request *request, pe_value *values) {
  const pe_scheme *scheme = fixture->scheme;
  for (uint32_t i = 0; i < scheme->n_params; i++) {
    const pe_param *param = param_at(scheme, i);
    values[i] = (pe_value){.given = 0};
    if (!(param->flags & (PE_PARAM_OPTIONAL | PE_PARAM_REQUIRED))) {
      values[i] = param->dflt;
      values[i].given = 1;
      if (param->type == PE_INT) {
        values[i].r = (double)values[i].i;
      }
    }
    for (size_t s = 0; s < request->n_settings; s++) {
      if (strcmp(request->settings[s].key, param->key) == 0 &&
          !value_from_setting(param, &request->settings[s], &values[i], &fixture->error)) {
        return false;
      }
    }
    if ((param->flags & PE_PARAM_REQUIRED) && !values[i].given) {
      pe_fail(&fixture->error, PE_ERR_PARAM, (int64_t)i, "%s must be given", param->key);
      return false;
    }
  }
  return true;
}

/* A test that misspells a key would otherwise silently test the default. */
static void require_known_names(const pe_scheme *scheme, const plugin_request *request) {
  for (size_t s = 0; s < request->n_settings; s++) {
    bool known = false;
    for (uint32_t i = 0; i < scheme->n_params; i++) {
      known = known || strcmp(request->settings[s].key, param_at(scheme, i)->key) == 0;
    }
    if (!known) {
      fail_msg("scheme %s has no parameter %s", scheme->id, request->settings[s].key);
    }
  }
  for (size_t t = 0; t < request->n_tensors; t++) {
    bool known = false;
    for (uint32_t i = 0; i < scheme->n_tensors; i++) {
      known = known || strcmp(request->tensors[t].name, tensor_at(scheme, i)->name) == 0;
    }
    if (!known) {
      fail_msg("scheme %s has no tensor %s", scheme->id, request->tensors[t].name);
    }
  }
}

static const plugin_tensor *given_tensor(const plugin_request *request, const char *name) {
  for (size_t t = 0; t < request->n_tensors; t++) {
    if (strcmp(request->tensors[t].name, name) == 0) {
      return &request->tensors[t];
    }
  }
  return NULL;
}

static float *seed_tensor(const pe_tensor *tensor, const pe_dims *dims, uint32_t d_model, uint64_t *state) {
  size_t n = 1;
  for (uint32_t axis = 0; axis < dims->rank; axis++) {
    n *= dims->dim[axis];
  }
  float *data = zeroed(n, sizeof *data);
  double scale = (tensor->flags & PE_TENSOR_PER_SQRT_DMODEL) && d_model ? 1 / sqrt(d_model) : 1;
  for (size_t i = 0; i < n; i++) {
    double value = 0;
    if (tensor->init == PE_INIT_CONSTANT) {
      value = tensor->init_a;
    } else if (tensor->init == PE_INIT_UNIFORM) {
      value = test_random(state, tensor->init_a, tensor->init_b);
    } else if (tensor->init == PE_INIT_NORMAL) {
      double radius = sqrt(-2 * log(test_random(state, 0, 1)));
      value = tensor->init_a + tensor->init_b * radius * cos(6.283185307179586 * test_random(state, 0, 1));
    }
    data[i] = (float)(value * scale);
  }
  return data;
}

static bool same_dims(const pe_dims *a, const pe_dims *b) {
  bool same = a->rank == b->rank;
  for (uint32_t axis = 0; same && axis < a->rank; axis++) {
    same = a->dim[axis] == b->dim[axis];
  }
  return same;
}

static pe_status bind_tensors(plugin_fixture *fixture, const plugin_request *request) {
  const pe_scheme *scheme = fixture->scheme;
  uint64_t state = 20011;
  for (uint32_t i = 0; i < scheme->n_tensors; i++) {
    const pe_tensor *tensor = tensor_at(scheme, i);
    pe_status status = scheme->tensor_shape(fixture->instance, i, &fixture->dims[i]);
    if (status != PE_OK) {
      return pe_fail(&fixture->error, status, (int64_t)i, "tensor %s has no shape", tensor->name);
    }
    const plugin_tensor *given = given_tensor(request, tensor->name);
    if (given && !same_dims(&given->dims, &fixture->dims[i])) {
      return pe_fail(&fixture->error, PE_ERR_SHAPE, (int64_t)i, "tensor %s: %zu x %zu given, %zu x %zu needed",
                     tensor->name, given->dims.dim[0], given->dims.dim[1], fixture->dims[i].dim[0],
                     fixture->dims[i].dim[1]);
    }
    if (!given && !(tensor->flags & PE_TENSOR_GIVEN)) {
      fixture->seeded[i] = seed_tensor(tensor, &fixture->dims[i], fixture->shape.d_model, &state);
    }
    fixture->bound[i] = given ? given->data : fixture->seeded[i];
  }
  return scheme->n_tensors ? scheme->tensor_bind(fixture->instance, fixture->bound) : PE_OK;
}

static pe_shape shape_from_request(const plugin_request *request, const pe_dims *given) {
  uint32_t heads = request->n_heads ? request->n_heads : 1;
  return (pe_shape){.struct_size = sizeof(pe_shape),
                    .n_layers = request->n_layers ? request->n_layers : 1,
                    .n_heads = heads,
                    .n_kv_heads = request->n_kv_heads ? request->n_kv_heads : heads,
                    .d_model = request->d_model,
                    .head_dim = request->head_dim,
                    .train_len = request->train_len,
                    .given = given};
}

static void keep_log(void *ctx, int32_t level, const char *message) {
  (void)level;
  plugin_fixture *fixture = ctx;
  snprintf(fixture->logged, sizeof fixture->logged, "%s", message);
}

pe_status plugin_fixture_open(plugin_fixture *fixture, const char *plugin, const plugin_request *request) {
  memset(fixture, 0, sizeof *fixture);
  fixture->host = (pe_host){.struct_size = sizeof(pe_host),
                            .abi_major = PE_ABI_MAJOR,
                            .abi_minor = PE_ABI_MINOR,
                            .ctx = fixture,
                            .log = keep_log};
  fixture->error = (pe_error){.struct_size = sizeof(pe_error), .where = -1};
  fixture->domain = (pe_domain){.struct_size = sizeof(pe_domain),
                                .pos_axes = 1,
                                .min = -INFINITY,
                                .max = INFINITY,
                                .max_distance = INFINITY,
                                .trained_max = NAN};
  load_scheme(fixture, plugin, request->scheme);
  const pe_scheme *scheme = fixture->scheme;
  require_known_names(scheme, request);
  if (scheme->n_tensors > PLUGIN_FIXTURE_TENSORS) {
    fail_msg("scheme %s has %u tensors, this fixture holds %d", scheme->id, scheme->n_tensors, PLUGIN_FIXTURE_TENSORS);
  }
  pe_dims given[PLUGIN_FIXTURE_TENSORS] = {{.rank = 0}};
  for (uint32_t i = 0; i < scheme->n_tensors; i++) {
    const plugin_tensor *tensor = given_tensor(request, tensor_at(scheme, i)->name);
    given[i] = tensor ? tensor->dims : given[i];
  }
  fixture->shape = shape_from_request(request, request->n_tensors ? given : NULL);
  pe_value *values = zeroed(scheme->n_params, sizeof *values);
  pe_status status = PE_ERR_PARAM;
  if (fill_values(fixture, request, values)) {
    status = scheme->create(&fixture->host, &fixture->shape, values, &fixture->instance, &fixture->error);
  }
  free(values);
  fixture->shape.given = NULL;
  if (status == PE_OK && scheme->domain) {
    status = scheme->domain(fixture->instance, &fixture->domain);
  }
  if (status == PE_OK) {
    status = bind_tensors(fixture, request);
  }
  if (status != PE_OK && fixture->instance) {
    scheme->destroy(fixture->instance);
    fixture->instance = NULL;
  }
  return status;
}

void plugin_fixture_require(plugin_fixture *fixture, const char *plugin, const plugin_request *request) {
  pe_status status = plugin_fixture_open(fixture, plugin, request);
  if (status != PE_OK) {
    fail_msg("%s: create gave status %d: %s", plugin, status, fixture->error.msg);
  }
}

void plugin_fixture_close(plugin_fixture *fixture) {
  if (fixture->instance) {
    fixture->scheme->destroy(fixture->instance);
  }
  for (size_t i = 0; i < PLUGIN_FIXTURE_TENSORS; i++) {
    free(fixture->seeded[i]);
  }
  if (fixture->library) {
    dlclose(fixture->library);
  }
  memset(fixture, 0, sizeof *fixture);
}

double plugin_fixture_length(const double *pos, size_t n) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    largest = pos[i] > largest ? pos[i] : largest;
  }
  return floor(largest) + 1;
}

uint32_t plugin_fixture_width(const plugin_fixture *fixture) {
  return fixture->scheme->qk_width ? fixture->scheme->qk_width(fixture->instance) : fixture->shape.head_dim;
}

void *plugin_fixture_scratch(const plugin_fixture *fixture, size_t max_q, size_t max_k) {
  size_t bytes = fixture->scheme->scratch_bytes ? fixture->scheme->scratch_bytes(fixture->instance, max_q, max_k) : 0;
  if (!bytes) {
    return NULL;
  }
  bytes = (bytes + 63) / 64 * 64;
  void *scratch = aligned_alloc(64, bytes);
  if (!scratch) {
    fail_msg("no memory for %zu bytes of scratch", bytes);
    return NULL;
  }
  memset(scratch, 0xff, bytes);
  return scratch;
}

pe_status plugin_fixture_embed(plugin_fixture *fixture, double seq_len, size_t n, const double *pos, float *out) {
  size_t width = fixture->shape.d_model;
  pe_rows rows = {.struct_size = sizeof rows,
                  .role = PE_ROLE_EMBED,
                  .n_heads = 1,
                  .seq_len = seq_len > 0 ? seq_len : plugin_fixture_length(pos, n * fixture->domain.pos_axes),
                  .n = n,
                  .pos = pos,
                  .out = out,
                  .out_stride = width,
                  .out_head_stride = n * width};
  void *scratch = plugin_fixture_scratch(fixture, n, n);
  pe_status status = fixture->scheme->embed_add(fixture->instance, &rows, scratch, &fixture->error);
  free(scratch);
  return status;
}

pe_status plugin_fixture_qk(plugin_fixture *fixture, int32_t role, uint32_t n_heads, double seq_len, size_t n,
                            const double *pos, const float *in, float *out) {
  size_t width = plugin_fixture_width(fixture);
  pe_rows rows = {.struct_size = sizeof rows,
                  .role = role,
                  .n_heads = n_heads,
                  .seq_len = seq_len > 0 ? seq_len : plugin_fixture_length(pos, n * fixture->domain.pos_axes),
                  .n = n,
                  .pos = pos,
                  .in = in,
                  .in_stride = fixture->shape.head_dim,
                  .in_head_stride = n * fixture->shape.head_dim,
                  .out = out,
                  .out_stride = width,
                  .out_head_stride = n * width};
  void *scratch = plugin_fixture_scratch(fixture, n, n);
  pe_status status = fixture->scheme->qk_apply(fixture->instance, &rows, scratch, &fixture->error);
  free(scratch);
  return status;
}

pe_status plugin_fixture_bias(plugin_fixture *fixture, uint32_t head, double seq_len, size_t nq, const double *pos_q,
                              size_t nk, const double *pos_k, const float *q, const float *k, float *s) {
  double length_q = plugin_fixture_length(pos_q, nq * fixture->domain.pos_axes);
  double length_k = plugin_fixture_length(pos_k, nk * fixture->domain.pos_axes);
  pe_tile tile = {.struct_size = sizeof tile,
                  .head = head,
                  .seq_len = seq_len > 0 ? seq_len : fmax(length_q, length_k),
                  .nq = nq,
                  .nk = nk,
                  .pos_q = pos_q,
                  .pos_k = pos_k,
                  .q = q,
                  .k = k,
                  .q_stride = plugin_fixture_width(fixture),
                  .k_stride = plugin_fixture_width(fixture),
                  .s = s,
                  .s_stride = nk};
  void *scratch = plugin_fixture_scratch(fixture, nq, nk);
  pe_status status = fixture->scheme->bias_add(fixture->instance, &tile, scratch, &fixture->error);
  free(scratch);
  return status;
}

plugin_derived plugin_fixture_derived(const plugin_fixture *fixture, const char *name, double seq_len) {
  const pe_scheme *scheme = fixture->scheme;
  uint32_t count = scheme->derived_count ? scheme->derived_count(fixture->instance, seq_len) : 0;
  for (uint32_t which = 0; which < count; which++) {
    pe_derived derived = {.name = NULL};
    size_t need = 0;
    if (scheme->derived(fixture->instance, seq_len, which, &derived, NULL, 0, &need) != PE_OK) {
      fail_msg("scheme %s: derived value %u cannot be asked for", scheme->id, which);
    }
    if (strcmp(derived.name, name) != 0) {
      continue;
    }
    plugin_derived found = {.data = zeroed(need, sizeof(double)), .n = need, .dim = {derived.dim[0], derived.dim[1]}};
    if (scheme->derived(fixture->instance, seq_len, which, &derived, found.data, need, &need) != PE_OK ||
        derived.data != found.data || derived.dim[0] * derived.dim[1] != need) {
      fail_msg("scheme %s: derived value %s does not keep its contract", scheme->id, name);
    }
    return found;
  }
  return (plugin_derived){.data = NULL};
}
