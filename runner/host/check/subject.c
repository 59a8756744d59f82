#include "host/check/subject.h"

#include "base/memory.h"
#include "host/check/value_set.h"
#include "host/plugin_names.h"
#include "host/plugin_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tensors above this are not made: a parameter at its upper bound may ask for more than the machine has. */
#define MOST_TENSOR_BYTES ((size_t)64 << 20)

const pe_shape *subject_usual_shape(size_t which) {
  static const pe_shape SHAPES[] = {
      {sizeof(pe_shape), 2, 4, 2, 32, 8, 64, NULL},      {sizeof(pe_shape), 2, 2, 2, 32, 16, 64, NULL},
      {sizeof(pe_shape), 2, 4, 4, 256, 64, 128, NULL},   {sizeof(pe_shape), 2, 8, 8, 512, 64, 512, NULL},
      {sizeof(pe_shape), 1, 2, 2, 256, 128, 2048, NULL}, {sizeof(pe_shape), 1, 1, 1, 8, 8, 16, NULL},
  };
  return which < sizeof SHAPES / sizeof SHAPES[0] ? &SHAPES[which] : NULL;
}

size_t subject_heads(const struct subject *subject, int role) {
  return role == PE_ROLE_KEY ? subject->shape.n_kv_heads : subject->shape.n_heads;
}

uint32_t subject_sites(const struct subject *subject) {
  return subject->table->sites & (PE_SITE_EMBED | PE_SITE_QK | PE_SITE_BIAS);
}

size_t subject_scratch_bytes(const struct subject *subject, size_t max_q, size_t max_k) {
  return subject->table->scratch_bytes ? subject->table->scratch_bytes(subject->self, max_q, max_k) : 0;
}

/* ---- creation ---- */

static pe_status create(struct subject *subject, const struct subject_wish *wish, const pe_value *values,
                        pe_error *why) {
  struct check_run *run = subject->run;
  const pe_scheme *table = subject->table;
  struct error err;
  pe_dims *given = memory_new(table->n_tensors, sizeof *given, "shapes of tensors", &err);
  if (!given) {
    check_fail(run, "%s", err.text);
    return PE_ERR_MEMORY;
  }
  if (run->spec.tensor >= 0) {
    given[run->spec.tensor] = run->spec.dims;
  }
  pe_shape shape = wish->shape ? *wish->shape : *subject_usual_shape(run->spec.shape);
  shape.struct_size = sizeof shape;
  subject->shape = shape;
  shape.given = run->spec.tensor >= 0 ? given : NULL;
  static const pe_host HOST = {.struct_size = sizeof(pe_host), .abi_major = PE_ABI_MAJOR, .abi_minor = PE_ABI_MINOR};
  check_stage(run, "create with heads %u, key heads %u, d_model %u, head_dim %u, train_len %g", shape.n_heads,
              shape.n_kv_heads, shape.d_model, shape.head_dim, shape.train_len);
  /* A pointer that create must not touch where it fails. */
  pe_instance *const untouched = (pe_instance *)(void *)given;
  pe_instance *made = untouched;
  *why = (pe_error){.struct_size = sizeof *why, .where = -1};
  pe_status status = table->create(&HOST, &shape, values, &made, why);
  why->msg[sizeof why->msg - 1] = '\0';
  plugin_text_clean(why->msg);
  if (status == PE_OK && (!made || made == untouched)) {
    check_fail(run, "create returned PE_OK and no instance");
    status = PE_ERR_INTERNAL;
  } else if (status != PE_OK && made != untouched) {
    check_fail(run, "create failed with status %d, but has written *out", status);
  } else if (status == PE_OK) {
    subject->self = made;
  }
  free(given);
  return status;
}

/* ---- what it says of itself ---- */

static bool ask(struct subject *subject) {
  struct check_run *run = subject->run;
  const pe_scheme *table = subject->table;
  subject->traits = table->traits;
  if (PE_HAS(table, pe_scheme, instance_traits)) {
    check_stage(run, "instance_traits");
    subject->traits = table->instance_traits(subject->self);
  }
  if ((subject->traits & table->traits) != table->traits) {
    check_fail(run, "instance_traits gives 0x%x, which lacks some of the scheme's own 0x%x", subject->traits,
               table->traits);
    return false;
  }
  pe_domain *domain = &subject->domain;
  *domain = (pe_domain){.struct_size = sizeof *domain,
                        .pos_axes = 1,
                        .min = -INFINITY,
                        .max = INFINITY,
                        .max_distance = INFINITY,
                        .trained_max = NAN};
  if (table->domain) {
    check_stage(run, "domain");
    pe_status status = table->domain(subject->self, domain);
    if (status != PE_OK || domain->pos_axes < 1 || domain->pos_axes > SUBJECT_MOST_AXES ||
        !(domain->min <= domain->max) || !(domain->max_distance >= 0)) {
      check_fail(run, "domain makes no sense: status %d, pos_axes %u, min %g, max %g, max_distance %g", status,
                 domain->pos_axes, domain->min, domain->max, domain->max_distance);
      return false;
    }
  }
  subject->axes = domain->pos_axes;
  subject->width = subject->shape.head_dim;
  if ((table->sites & PE_SITE_QK) && table->qk_width) {
    check_stage(run, "qk_width");
    subject->width = table->qk_width(subject->self);
    if (subject->width == 0 || subject->width > 1024 * (size_t)subject->shape.head_dim) {
      check_fail(run, "qk_width is %zu for head_dim %u", subject->width, subject->shape.head_dim);
      return false;
    }
  }
  if (table->score_scale) {
    check_stage(run, "score_scale");
    double scale = table->score_scale(subject->self, 0.25);
    if (!isfinite(scale)) {
      check_fail(run, "score_scale gives %g", scale);
      return false;
    }
  }
  return true;
}

/* ---- tensors ---- */

static bool ask_dims(struct subject *subject, size_t which, size_t *count) {
  pe_dims *dims = &subject->dims[which];
  check_stage(subject->run, "tensor_shape %zu", which);
  pe_status status = subject->table->tensor_shape(subject->self, (uint32_t)which, dims);
  bool sane = status == PE_OK && dims->rank <= 4;
  *count = dims->rank ? 1 : 0;
  for (uint32_t axis = 0; sane && axis < dims->rank; axis++) {
    sane = !__builtin_mul_overflow(*count, dims->dim[axis], count) && *count <= SIZE_MAX / sizeof(float);
  }
  if (!sane) {
    check_fail(subject->run, "tensor_shape of %s makes no sense: status %d, rank %u",
               plugin_tensor(subject->table, which)->name, status, dims->rank);
  }
  return sane;
}

/* Numbers like those the host seeds, so that checks see what runs see; given ones small and positive. */
static void fill(const struct subject *subject, size_t which, size_t count) {
  const pe_tensor *tensor = plugin_tensor(subject->table, which);
  struct rng rng = check_rng(subject->run, tensor->name);
  for (size_t i = 0; i < count; i++) {
    double value = 0;
    if (tensor->flags & PE_TENSOR_GIVEN) {
      value = 0.1 + 0.8 * rng_uniform(&rng, i);
    } else if (tensor->init == PE_INIT_CONSTANT) {
      value = tensor->init_a;
    } else if (tensor->init == PE_INIT_NORMAL) {
      value = tensor->init_a + tensor->init_b * rng_normal(&rng, i);
    } else if (tensor->init == PE_INIT_UNIFORM) {
      value = tensor->init_a + (tensor->init_b - tensor->init_a) * rng_uniform(&rng, i);
    }
    subject->tensors[which][i] = (float)value;
  }
}

/* PE_ERR_MEMORY: a tensor is too large to be made here. */
static pe_status bind_tensors(struct subject *subject) {
  const pe_scheme *table = subject->table;
  struct error err;
  if (table->n_tensors == 0) {
    return PE_OK;
  }
  subject->dims = memory_new(table->n_tensors, sizeof *subject->dims, "tensors", &err);
  subject->tensors = memory_new(table->n_tensors, sizeof *subject->tensors, "tensors", &err);
  if (!subject->dims || !subject->tensors) {
    return PE_ERR_MEMORY;
  }
  for (size_t i = 0; i < table->n_tensors; i++) {
    size_t count;
    if (!ask_dims(subject, i, &count)) {
      return PE_ERR_INTERNAL;
    }
    bool given = subject->run->spec.tensor == (int32_t)i;
    if (subject->dims[i].rank == 0 || (!given && (plugin_tensor(table, i)->flags & PE_TENSOR_GIVEN))) {
      continue;
    }
    if (count > MOST_TENSOR_BYTES / sizeof(float)) {
      return PE_ERR_MEMORY;
    }
    subject->tensors[i] = memory_new(count, sizeof(float), "a tensor", &err);
    if (!subject->tensors[i]) {
      return PE_ERR_MEMORY;
    }
    fill(subject, i, count);
  }
  const float **bound = memory_new(table->n_tensors, sizeof *bound, "tensors", &err);
  if (!bound) {
    return PE_ERR_MEMORY;
  }
  for (size_t i = 0; i < table->n_tensors; i++) {
    bound[i] = subject->tensors[i];
  }
  check_stage(subject->run, "tensor_bind");
  pe_status status = table->tensor_bind(subject->self, bound);
  free(bound); /* the array dies at return; what it points to does not */
  if (status != PE_OK) {
    check_fail(subject->run, "tensor_bind gives status %d", status);
    return PE_ERR_INTERNAL;
  }
  return PE_OK;
}

/* ---- what goes in ---- */

/* Positions first, first + step, ... moved into the domain, as many as it has room for. */
static bool choose_positions(struct subject *subject, const struct subject_wish *wish) {
  const pe_domain *domain = &subject->domain;
  double first = wish->first, step = wish->step != 0 ? wish->step : 1;
  if (domain->integer_only) {
    first = floor(first);
    step = step < 1 ? 1 : floor(step);
  }
  size_t n = wish->tokens ? wish->tokens : SUBJECT_TOKENS;
  double least = domain->integer_only ? ceil(domain->min) : domain->min;
  if (first + step * (double)(n - 1) > domain->max) {
    first = floor(domain->max - step * (double)(n - 1));
  }
  first = fmax(first, least);
  double room = fmin(domain->max - first, domain->max_distance);
  if (room < step * (double)(n - 1)) {
    n = (size_t)(room / step) + 1;
  }
  struct error err;
  subject->pos = memory_new_3d(n, subject->axes, 1, sizeof *subject->pos, "positions", &err);
  if (!subject->pos) {
    return false;
  }
  /* Further axes get the same positions in other orders. */
  for (size_t i = 0; i < n; i++) {
    for (size_t axis = 0; axis < subject->axes; axis++) {
      subject->pos[i * subject->axes + axis] = first + step * (double)(i * (axis + 1) % n);
    }
  }
  subject->n = n;
  subject->seq_len = fmax(0, first + step * (double)(n - 1)) + 1;
  return true;
}

static float *random_rows(const struct subject *subject, const char *name, size_t heads, size_t width) {
  struct error err;
  size_t count = heads * subject->n * width;
  float *rows = memory_new(count, sizeof *rows, name, &err);
  struct rng rng = check_rng(subject->run, name);
  for (size_t i = 0; rows && i < count; i++) {
    rows[i] = (float)rng_normal(&rng, i);
  }
  return rows;
}

static bool choose_inputs(struct subject *subject, const struct subject_wish *wish) {
  if (!choose_positions(subject, wish)) {
    return false;
  }
  size_t head_dim = subject->shape.head_dim;
  subject->query = random_rows(subject, "query", subject->shape.n_heads, head_dim);
  subject->key = random_rows(subject, "key", subject->shape.n_kv_heads, head_dim);
  subject->content_q = random_rows(subject, "content query", subject->shape.n_heads, subject->width);
  subject->content_k = random_rows(subject, "content key", subject->shape.n_kv_heads, subject->width);
  return subject->query && subject->key && subject->content_q && subject->content_k;
}

pe_status subject_open(struct check_run *run, const struct subject_wish *wish, struct subject *out, pe_error *why) {
  *out = (struct subject){.run = run, .table = run->table};
  struct value_set defaults = {0};
  struct error err;
  if (!wish->values && value_set_new(run->table, &defaults, &err)) {
    check_fail(run, "%s", err.text);
    return PE_ERR_MEMORY;
  }
  pe_status status = create(out, wish, wish->values ? wish->values : defaults.values, why);
  value_set_free(&defaults);
  if (status == PE_OK) {
    status = ask(out) ? PE_OK : PE_ERR_INTERNAL;
  }
  if (status == PE_OK) {
    status = bind_tensors(out);
  }
  if (status == PE_OK && !choose_inputs(out, wish)) {
    status = PE_ERR_MEMORY;
  }
  if (status == PE_ERR_MEMORY && !why->msg[0]) {
    pe_fail(why, status, -1, "a tensor is too large to be made here");
  }
  return status;
}

bool subject_require(struct check_run *run, const struct subject_wish *wish, struct subject *out) {
  pe_error why;
  pe_status status = subject_open(run, wish, out, &why);
  if (status == PE_OK) {
    return true;
  }
  if (!check_failed(run)) {
    check_skip(run, "no instance to be had: %s", why.msg);
  }
  subject_close(out);
  return false;
}

void subject_close(struct subject *subject) {
  if (subject->self) {
    check_stage(subject->run, "destroy");
    subject->table->destroy(subject->self);
  }
  for (size_t i = 0; subject->tensors && i < subject->table->n_tensors; i++) {
    free(subject->tensors[i]);
  }
  free(subject->tensors);
  free(subject->dims);
  free(subject->pos);
  free(subject->query);
  free(subject->key);
  free(subject->content_q);
  free(subject->content_k);
  *subject = (struct subject){.run = subject->run, .table = subject->table};
}
