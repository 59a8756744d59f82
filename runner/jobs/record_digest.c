#include "jobs/record_digest.h"

#include "results/printable.h"

#include <stdlib.h>
#include <string.h>

struct digesting {
  struct hash *hash;
  struct error *err;
  bool failed;
};

static void add_number(struct digesting *d, uint64_t number) {
  hash_add(d->hash, &number, sizeof number);
}

static void add_real(struct digesting *d, double real) {
  hash_add(d->hash, &real, sizeof real);
}

/* As a file holds it, which is always UTF-8. */
static void add_text(struct digesting *d, const char *text) {
  char *clean = d->failed ? NULL : printable_utf8(text, d->err);
  d->failed = !clean;
  if (clean) {
    add_number(d, strlen(clean));
    hash_add(d->hash, clean, strlen(clean));
  }
  free(clean);
}

static void add_text_or(struct digesting *d, const char *text, const char *otherwise) {
  add_text(d, text[0] ? text : otherwise);
}

static void add_attribute(struct digesting *d, const struct attribute *attribute) {
  add_text(d, attribute->name);
  add_number(d, attribute->kind);
  switch (attribute->kind) {
  case ATTRIBUTE_TEXT:
    add_text(d, attribute->text);
    break;
  case ATTRIBUTE_INT:
    add_number(d, (uint64_t)attribute->integer);
    break;
  case ATTRIBUTE_REAL:
    add_real(d, attribute->real);
    break;
  case ATTRIBUTE_REAL_LIST:
    add_number(d, attribute->count);
    hash_add(d->hash, attribute->list, attribute->count * sizeof *attribute->list);
    break;
  }
}

static void add_attributes(struct digesting *d, const struct attributes *attributes) {
  for (size_t i = 0; i < attributes->count; i++) {
    /* The meanings of flags: a file has the usual ones where the record has none. */
    if (strncmp(attributes->items[i].name, "flag_", 5) != 0) {
      add_attribute(d, &attributes->items[i]);
    }
  }
}

static void add_axis(struct digesting *d, const struct axis *axis) {
  add_text(d, axis->name);
  add_number(d, axis->length);
  for (size_t i = 0; i < axis->length; i++) {
    add_real(d, axis->values ? axis->values[i] : (double)i);
  }
  add_number(d, axis->log_values);
  add_text_or(d, axis->long_name, axis->name);
  add_text_or(d, axis->units, "1");
}

static void add_tensor(struct digesting *d, const struct tensor *tensor) {
  add_text(d, tensor->name);
  add_number(d, tensor->element);
  add_number(d, tensor->rank);
  for (unsigned i = 0; i < tensor->rank; i++) {
    add_axis(d, &tensor->axis[i]);
  }
  hash_add(d->hash, tensor->data, tensor->count * record_element_size(tensor->element));
  add_text_or(d, tensor->long_name, tensor->name);
  add_text_or(d, tensor->units, "1");
  add_number(d, tensor->image && tensor->rank >= 2);
  add_number(d, tensor->log_values);
  add_attributes(d, &tensor->attributes);
}

int record_digest(const struct record *record, char digest[HASH_TEXT], struct error *err) {
  struct digesting d = {.hash = hash_new(err), .err = err};
  if (!d.hash) {
    return err->code;
  }
  add_text(&d, record->experiment);
  add_text(&d, record->label);
  add_text_or(&d, record->title, record->label);
  add_number(&d, record->seed);
  add_number(&d, record->status);
  add_text(&d, error_id(record->error.code));
  add_text(&d, record->error.code ? record->error.text : "");
  add_attributes(&d, &record->attributes);
  for (size_t i = 0; i < record->count; i++) {
    add_tensor(&d, &record->tensors[i]);
  }
  struct error reason = *err;
  int status = hash_finish(d.hash, digest, err);
  if (d.failed) {
    *err = reason;
    return err->code;
  }
  return status;
}
