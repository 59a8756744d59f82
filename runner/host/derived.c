/* Values that follow from a scheme's parameters. */
#include "base/memory.h"
#include "host/instance_parts.h"
#include "host/plugin_names.h"

#include <stdlib.h>
#include <string.h>

size_t instance_derived_count(const struct instance *instance, double seq_len) {
  const pe_scheme *table = instance->scheme->table;
  if (!table || !table->derived_count) {
    return 0;
  }
  struct fp_environment before = call_begin();
  uint32_t count = table->derived_count(instance->plugin, seq_len);
  call_end(instance, &before);
  return count;
}

static int ask_derived(const struct instance *instance, double seq_len, size_t which, pe_derived *out, double *buffer,
                       size_t length, size_t *need, struct error *err) {
  struct fp_environment before = call_begin();
  pe_status status =
      instance->scheme->table->derived(instance->plugin, seq_len, (uint32_t)which, out, buffer, length, need);
  call_end(instance, &before);
  if (status != PE_OK) {
    pe_error why = call_error();
    return call_failed(instance, "derived", status, &why, err);
  }
  return 0;
}

static int judge_derived(const struct instance *instance, size_t which, const pe_derived *value, size_t need,
                         struct error *err) {
  const char *id = instance->scheme->info.id;
  if (!value->name || !plugin_name_is_key(value->name, false)) {
    return error_set(err, ERROR_SCHEME_FAILED, "%s: derived value %zu has no name that matches [A-Za-z][A-Za-z0-9_]*",
                     id, which);
  }
  size_t count;
  if ((value->rank != 1 && value->rank != 2) || (value->rank == 1 && value->dim[1] != 1) ||
      __builtin_mul_overflow(value->dim[0], value->dim[1], &count) || count != need) {
    return error_set(err, ERROR_SCHEME_FAILED, "%s: derived value %s: rank %u, %zu x %zu elements, but it needs %zu",
                     id, value->name, value->rank, value->dim[0], value->dim[1], need);
  }
  return 0;
}

int instance_derived(const struct instance *instance, double seq_len, size_t which, pe_derived *out, double **data,
                     struct error *err) {
  pe_derived value = {0};
  size_t need = 0;
  int status = ask_derived(instance, seq_len, which, &value, NULL, 0, &need, err);
  if (!status) {
    status = judge_derived(instance, which, &value, need, err);
  }
  if (status) {
    return status;
  }
  double *buffer = memory_new(need, sizeof *buffer, value.name, err);
  if (!buffer) {
    return ERROR_MEMORY;
  }
  size_t again = 0;
  status = ask_derived(instance, seq_len, which, &value, buffer, need, &again, err);
  if (!status && again != need) {
    status = error_set(err, ERROR_SCHEME_FAILED, "%s: derived value %s needs %zu elements, then %zu",
                       instance->scheme->info.id, value.name, need, again);
  }
  if (status) {
    free(buffer);
    return status;
  }
  value.data = buffer;
  *out = value;
  *data = buffer;
  return 0;
}

int instance_derived_named(const struct instance *instance, double seq_len, const char *name, pe_derived *out,
                           double **data, struct error *err) {
  *data = NULL;
  size_t count = instance_derived_count(instance, seq_len);
  for (size_t which = 0; which < count; which++) {
    pe_derived value = {0};
    size_t need = 0;
    int status = ask_derived(instance, seq_len, which, &value, NULL, 0, &need, err);
    if (status) {
      return status;
    }
    if (value.name && !strcmp(value.name, name)) {
      return instance_derived(instance, seq_len, which, out, data, err);
    }
  }
  return 0;
}
