#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "host/instance_parts.h"
#include "host/plugin_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "[12][64]", or "nothing" for rank 0. */
static void append_dims(struct text *text, const pe_dims *dims) {
  if (dims->rank == 0) {
    text_append(text, "nothing");
  }
  for (uint32_t axis = 0; axis < dims->rank && axis < 4; axis++) {
    text_printf(text, "[%zu]", dims->dim[axis]);
  }
}

static bool same_dims(const pe_dims *a, const pe_dims *b) {
  return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]);
}

static int wrong_shape(const struct instance *instance, size_t which, const struct tensor_source *source,
                       struct error *err) {
  struct text given = {0}, needed = {0};
  append_dims(&given, &source->shape);
  append_dims(&needed, &instance->dims[which]);
  int status =
      error_set(err, ERROR_FILE_CONTENT, "%s: %s of %s is %s, the scheme needs %s",
                source->from ? source->from : "the config", plugin_tensor(instance->scheme->table, which)->name,
                instance->scheme->info.id, given.data ? given.data : "?", needed.data ? needed.data : "?");
  text_free(&given);
  text_free(&needed);
  return status;
}

/* Elements of a tensor; false where they do not fit into a size_t. */
static bool count_elements(const pe_dims *dims, size_t *count) {
  *count = 1;
  for (uint32_t axis = 0; axis < dims->rank; axis++) {
    if (__builtin_mul_overflow(*count, dims->dim[axis], count)) {
      return false;
    }
  }
  return true;
}

static int ask_shape(struct instance *instance, size_t which, struct error *err) {
  const pe_scheme *table = instance->scheme->table;
  pe_dims dims = {0};
  struct fp_environment before = call_begin();
  pe_status status = table->tensor_shape(instance->plugin, (uint32_t)which, &dims);
  call_end(instance, &before);
  if (status != PE_OK) {
    pe_error why = call_error();
    return call_failed(instance, "tensor_shape", status, &why, err);
  }
  size_t count;
  if (dims.rank > 4 || !count_elements(&dims, &count)) {
    return error_set(err, ERROR_SCHEME_FAILED, "%s: tensor_shape of %s makes no sense: rank %u",
                     instance->scheme->info.id, plugin_tensor(table, which)->name, dims.rank);
  }
  instance->dims[which] = dims;
  return 0;
}

static int copy_given(struct instance *instance, size_t which, const struct tensor_source *source, size_t count,
                      struct error *err) {
  if (!same_dims(&source->shape, &instance->dims[which])) {
    return wrong_shape(instance, which, source, err);
  }
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(source->data[i])) {
      return error_set(err, ERROR_FILE_CONTENT, "%s: element %zu of %s is %g; tensors hold finite numbers",
                       source->from ? source->from : "the config", i,
                       plugin_tensor(instance->scheme->table, which)->name, (double)source->data[i]);
    }
  }
  memcpy(instance->tensors[which], source->data, count * sizeof *source->data);
  return 0;
}

static void seed_tensor(struct instance *instance, const pe_tensor *tensor, const struct rng *rng, size_t count,
                        float *out) {
  double divisor =
      tensor->flags & PE_TENSOR_PER_SQRT_DMODEL && instance->shape.d_model ? sqrt((double)instance->shape.d_model) : 1;
  for (size_t i = 0; i < count; i++) {
    double value = 0;
    if (tensor->init == PE_INIT_CONSTANT) {
      value = tensor->init_a;
    } else if (tensor->init == PE_INIT_NORMAL) {
      value = tensor->init_a + tensor->init_b * rng_normal(rng, i);
    } else if (tensor->init == PE_INIT_UNIFORM) {
      value = tensor->init_a + (tensor->init_b - tensor->init_a) * rng_uniform(rng, i);
    }
    out[i] = (float)(value / divisor);
  }
}

static int make_tensor(struct instance *instance, size_t which, const struct tensor_source *source, struct error *err) {
  const pe_tensor *tensor = plugin_tensor(instance->scheme->table, which);
  int status = ask_shape(instance, which, err);
  if (status) {
    return status;
  }
  const pe_dims *dims = &instance->dims[which];
  bool given = source && source->data;
  if (given && dims->rank == 0) {
    return wrong_shape(instance, which, source, err);
  }
  if (dims->rank == 0 || (!given && (tensor->flags & PE_TENSOR_GIVEN))) {
    instance->dims[which] = (pe_dims){0};
    return 0; /* absent: bound as NULL */
  }
  size_t count;
  count_elements(dims, &count);
  instance->tensors[which] = memory_new(count, sizeof(float), tensor->name, err);
  if (!instance->tensors[which]) {
    return ERROR_MEMORY;
  }
  if (given) {
    return copy_given(instance, which, source, count, err);
  }
  /* Named after scheme and tensor, so that no other scheme in a config changes these numbers. */
  struct text name = {0};
  text_printf(&name, "%s/%s", instance->scheme->info.id, tensor->name);
  char *stream = text_take(&name, err);
  if (!stream) {
    return ERROR_MEMORY;
  }
  struct rng rng = rng_stream(instance->seed, stream);
  free(stream);
  seed_tensor(instance, tensor, &rng, count, instance->tensors[which]);
  return 0;
}

static int bind(struct instance *instance, struct error *err) {
  const float **bound = memory_new(instance->n_tensors, sizeof *bound, "tensor bindings", err);
  if (!bound) {
    return ERROR_MEMORY;
  }
  for (size_t i = 0; i < instance->n_tensors; i++) {
    bound[i] = instance->tensors[i];
  }
  struct fp_environment before = call_begin();
  pe_status status = instance->scheme->table->tensor_bind(instance->plugin, bound);
  call_end(instance, &before);
  free(bound);
  if (status != PE_OK) {
    pe_error why = call_error();
    return call_failed(instance, "tensor_bind", status, &why, err);
  }
  return 0;
}

int instance_bind_tensors(struct instance *instance, const struct tensor_source *sources, struct error *err) {
  size_t n = instance->scheme->table->n_tensors;
  if (n == 0) {
    return 0;
  }
  instance->tensors = memory_new(n, sizeof *instance->tensors, "tensors of a scheme", err);
  instance->dims = instance->tensors ? memory_new(n, sizeof *instance->dims, "tensors of a scheme", err) : NULL;
  if (!instance->dims) {
    return ERROR_MEMORY;
  }
  instance->n_tensors = n;
  for (size_t i = 0; i < n; i++) {
    int status = make_tensor(instance, i, sources ? &sources[i] : NULL, err);
    if (status) {
      return status;
    }
  }
  return bind(instance, err);
}
