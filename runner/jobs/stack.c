#include "jobs/stack.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int copy_attributes(const struct attributes *from, bool with_seed, struct attributes *to, struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < from->count; i++) {
    const struct attribute *item = &from->items[i];
    if (!with_seed && !strcmp(item->name, "seed")) {
      continue;
    }
    switch (item->kind) {
    case ATTRIBUTE_TEXT:
      status = attributes_set_text(to, item->name, item->text, err);
      break;
    case ATTRIBUTE_INT:
      status = attributes_set_int(to, item->name, item->integer, err);
      break;
    case ATTRIBUTE_REAL:
      status = attributes_set_real(to, item->name, item->real, err);
      break;
    case ATTRIBUTE_REAL_LIST:
      status = attributes_set_reals(to, item->name, item->list, item->count, err);
      break;
    }
  }
  return status;
}

static bool same_shape(const struct tensor *a, const struct tensor *b) {
  if (a->rank != b->rank || a->element != b->element) {
    return false;
  }
  for (unsigned i = 0; i < a->rank; i++) {
    if (a->axis[i].length != b->axis[i].length) {
      return false;
    }
  }
  return true;
}

/* Whether every measured part has this tensor in this shape, and there is room for one more axis. */
static bool can_stack(const struct record *const *parts, size_t count, const struct tensor *tensor) {
  if (count < 2 || tensor->rank >= RECORD_MAX_RANK) {
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    const struct tensor *other = record_find(parts[i], tensor->name);
    if (other && !same_shape(tensor, other)) {
      return false;
    }
  }
  return true;
}

static int add_tensor(const struct record *const *parts, size_t count, const struct tensor *tensor, const double *seeds,
                      struct record *out, struct error *err) {
  bool stack = can_stack(parts, count, tensor);
  struct tensor_spec spec = {.name = tensor->name,
                             .element = tensor->element,
                             .rank = tensor->rank + (stack ? 1 : 0),
                             .long_name = tensor->long_name,
                             .units = tensor->units,
                             .image = tensor->image,
                             .log_values = tensor->log_values};
  if (stack) {
    spec.axis[0] = (struct axis_spec){.name = "seed", .length = count, .values = seeds};
  }
  for (unsigned i = 0; i < tensor->rank; i++) {
    spec.axis[i + (stack ? 1 : 0)] = axis_spec_of(&tensor->axis[i]);
  }
  struct tensor *added = record_add(out, &spec, err);
  if (!added) {
    return err->code;
  }
  size_t bytes = tensor->count ? added->count / (stack ? count : 1) * record_element_size(tensor->element) : 0;
  for (size_t i = 0; i < (stack ? count : 1); i++) {
    const struct tensor *part = stack ? record_find(parts[i], tensor->name) : tensor;
    if (part) {
      memcpy((char *)added->data + i * bytes, part->data, bytes);
    }
  }
  return copy_attributes(&tensor->attributes, true, &added->attributes, err);
}

int record_stack(const struct record *const *parts, size_t count, struct record *out, struct error *err) {
  *out = (struct record){.status = RECORD_NOT_RUN};
  const struct record *first = NULL;
  for (size_t i = 0; i < count; i++) {
    bool better = !first || (first->status != RECORD_MEASURED && parts[i]->status == RECORD_MEASURED);
    first = better ? parts[i] : first;
  }
  if (!first) {
    return 0;
  }
  memcpy(out->experiment, first->experiment, sizeof out->experiment);
  memcpy(out->label, first->label, sizeof out->label);
  memcpy(out->title, first->title, sizeof out->title);
  memcpy(out->signal, first->signal, sizeof out->signal);
  out->seed = first->seed;
  out->status = first->status;
  out->error = first->error;
  double *seeds = memory_new(count, sizeof *seeds, "seeds", err);
  int status = seeds ? copy_attributes(&first->attributes, count == 1, &out->attributes, err) : (int)err->code;
  for (size_t i = 0; seeds && i < count; i++) {
    seeds[i] = (double)parts[i]->seed;
  }
  for (size_t i = 0; !status && i < first->count; i++) {
    status = add_tensor(parts, count, &first->tensors[i], seeds, out, err);
  }
  free(seeds);
  return status;
}
