#include "jobs/stack.h"

#include "base/memory.h"
#include "results/packed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char BY_SEED[] = "_by_seed";

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
      if (packed_copy(&added->packed, i * bytes, part->packed, part->packed_first, bytes, err)) {
        return err->code;
      }
    }
  }
  return copy_attributes(&tensor->attributes, true, &added->attributes, err);
}

static bool is_number(const struct attribute *attribute) {
  return attribute && (attribute->kind == ATTRIBUTE_INT || attribute->kind == ATTRIBUTE_REAL);
}

static double number_of(const struct attribute *attribute) {
  return attribute->kind == ATTRIBUTE_INT ? (double)attribute->integer : attribute->real;
}

/* A number that is not the same for every seed, such as a bound that depends on the model, is kept for each of them
 * under <name>_by_seed, NaN where a seed has none. */
static int add_by_seed(const struct record *const *parts, size_t count, const struct attribute *item, double *numbers,
                       struct record *out, struct error *err) {
  char name[RECORD_NAME + sizeof BY_SEED];
  bool same = true;
  for (size_t i = 0; i < count; i++) {
    const struct attribute *other = attributes_find(&parts[i]->attributes, item->name);
    numbers[i] = is_number(other) ? number_of(other) : NAN;
    same = same && (numbers[i] == number_of(item) || !is_number(other));
  }
  snprintf(name, sizeof name, "%s%s", item->name, BY_SEED);
  bool fits = strlen(name) < RECORD_NAME;
  return same || !fits ? 0 : attributes_set_reals(&out->attributes, name, numbers, count, err);
}

static int add_numbers_by_seed(const struct record *const *parts, size_t count, const struct record *first,
                               struct record *out, struct error *err) {
  double *numbers = memory_new(count, sizeof *numbers, "numbers by seed", err);
  int status = numbers ? 0 : (int)err->code;
  for (size_t i = 0; !status && count > 1 && i < first->attributes.count; i++) {
    if (is_number(&first->attributes.items[i])) {
      status = add_by_seed(parts, count, &first->attributes.items[i], numbers, out, err);
    }
  }
  free(numbers);
  return status;
}

int record_stack(const struct record *const *parts, size_t count, struct record *out, struct error *err) {
  *out = (struct record){.status = RECORD_NOT_RUN};
  const struct record *first = NULL;
  for (size_t i = 0; i < count; i++) {
    bool better = !first || (first->status != RECORD_MEASURED && parts[i]->status == RECORD_MEASURED) ||
                  (first->status == RECORD_NOT_RUN && parts[i]->status != RECORD_NOT_RUN);
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
  return status ? status : add_numbers_by_seed(parts, count, first, out, err);
}

/* ---- and back ---- */

static bool is_stacked(const struct tensor *tensor) {
  return tensor->rank > 0 && !strcmp(tensor->axis[0].name, "seed");
}

static int take_tensor(const struct tensor *tensor, uint64_t seed, bool single, struct record *out, struct error *err) {
  bool stacked = !single && is_stacked(tensor);
  struct tensor_spec spec = {.name = tensor->name,
                             .element = tensor->element,
                             .rank = tensor->rank - stacked,
                             .long_name = tensor->long_name,
                             .units = tensor->units,
                             .image = tensor->image,
                             .log_values = tensor->log_values};
  for (unsigned i = 0; i < spec.rank; i++) {
    spec.axis[i] = axis_spec_of(&tensor->axis[i + stacked]);
  }
  size_t slice = 0, count = 1;
  while (stacked && slice < tensor->axis[0].length &&
         (tensor->axis[0].values ? tensor->axis[0].values[slice] : (double)slice) != (double)seed) {
    slice++;
  }
  bool there = !stacked || slice < tensor->axis[0].length;
  for (unsigned i = 0; i < spec.rank; i++) {
    count *= spec.axis[i].length;
  }
  size_t bytes = count * record_element_size(tensor->element);
  spec.lender = there ? tensor : NULL;
  spec.lent_from = slice * bytes;
  struct tensor *added = record_add(out, &spec, err);
  if (!added) {
    return err->code;
  }
  return copy_attributes(&tensor->attributes, true, &added->attributes, err);
}

/* The name that <name>_by_seed stands for; NULL: it is no such name. */
static const char *plain_name(const char *name, char plain[RECORD_NAME]) {
  size_t length = strlen(name), end = strlen(BY_SEED);
  if (length <= end || strcmp(name + length - end, BY_SEED) != 0) {
    return NULL;
  }
  memcpy(plain, name, length - end);
  plain[length - end] = '\0';
  return plain;
}

static int take_attributes(const struct record *stacked, size_t index, struct record *out, struct error *err) {
  char plain[RECORD_NAME];
  int status = 0;
  for (size_t i = 0; !status && i < stacked->attributes.count; i++) {
    const struct attribute *item = &stacked->attributes.items[i];
    const char *name = item->kind == ATTRIBUTE_REAL_LIST ? plain_name(item->name, plain) : NULL;
    const struct attribute *first = name ? attributes_find(&stacked->attributes, name) : NULL;
    if (!first) {
      status = copy_attributes(&(struct attributes){.items = (struct attribute[]){*item}, .count = 1}, true,
                               &out->attributes, err);
    } else if (index < item->count && first->kind == ATTRIBUTE_INT) {
      status = attributes_set_int(&out->attributes, name, (int64_t)item->list[index], err);
    } else if (index < item->count) {
      status = attributes_set_real(&out->attributes, name, item->list[index], err);
    }
  }
  return status;
}

int record_unstack(const struct record *stacked, size_t index, uint64_t seed, bool single, struct record *out,
                   struct error *err) {
  *out = (struct record){.seed = seed, .status = stacked->status, .error = stacked->error};
  memcpy(out->experiment, stacked->experiment, sizeof out->experiment);
  memcpy(out->label, stacked->label, sizeof out->label);
  memcpy(out->title, stacked->title, sizeof out->title);
  memcpy(out->signal, stacked->signal, sizeof out->signal);
  int status = take_attributes(stacked, index, out, err);
  for (size_t i = 0; !status && i < stacked->count; i++) {
    status = take_tensor(&stacked->tensors[i], seed, single, out, err);
  }
  return status;
}
