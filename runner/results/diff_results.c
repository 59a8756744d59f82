#include "results/diff_results.h"

#include "results/diff_text.h"
#include "results/read_results.h"
#include "results/show_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of a number among all numbers of its type: neighbours are 1 apart, -0 and 0 are the same. */
static double place_f32(float value) {
  int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? -(double)(bits & INT32_MAX) : (double)bits;
}

static int64_t place_f64(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? -(bits & INT64_MAX) : bits;
}

static double ulps_between(enum element element, double a, double b) {
  if (element == ELEMENT_F32) {
    return fabs(place_f32((float)a) - place_f32((float)b));
  }
  if (element == ELEMENT_F64) {
    int64_t from = place_f64(a), to = place_f64(b);
    return from < to ? (double)((uint64_t)to - (uint64_t)from) : (double)((uint64_t)from - (uint64_t)to);
  }
  return NAN;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

struct tensor_difference tensor_compare(const struct tensor *a, const struct tensor *b) {
  struct tensor_difference most = {0};
  bool real = a->element == ELEMENT_F32 || a->element == ELEMENT_F64;
  most.ulps = real ? 0 : NAN;
  for (size_t i = 0; i < a->count; i++) {
    double x = tensor_value(a, i), y = tensor_value(b, i);
    if (x == y || (isnan(x) && isnan(y))) {
      continue;
    }
    most.different++;
    if (isnan(x) || isnan(y) || isinf(x) || isinf(y)) {
      most.absolute = most.relative = most.scaled = INFINITY;
      most.ulps = real ? INFINITY : NAN;
      continue;
    }
    double apart = fabs(x - y), size = larger(fabs(x), fabs(y));
    most.absolute = larger(most.absolute, apart);
    most.relative = larger(most.relative, apart / size);
    most.scaled = larger(most.scaled, apart / larger(1, size));
    most.ulps = real ? larger(most.ulps, ulps_between(a->element, x, y)) : NAN;
  }
  return most;
}

/* Why two tensors of one name cannot be compared element by element; NULL where they can. */
static const char *unlike(const struct tensor *a, const struct tensor *b) {
  if (a->element != b->element) {
    return "of another type";
  }
  if (a->rank != b->rank) {
    return "of another shape";
  }
  for (unsigned i = 0; i < a->rank; i++) {
    const struct axis *x = &a->axis[i], *y = &b->axis[i];
    if (x->length != y->length) {
      return "of another shape";
    }
    if (strcmp(x->name, y->name) != 0) {
      return "along another axis";
    }
    for (size_t k = 0; k < x->length; k++) {
      if ((x->values ? x->values[k] : (double)k) != (y->values ? y->values[k] : (double)k)) {
        return "at other places on an axis";
      }
    }
  }
  return NULL;
}

static int add_row(struct results_diff *diff, const struct record *record, const struct tensor *tensor,
                   const struct tensor_difference *difference, const char *remark, struct error *err) {
  struct table *table = &diff->tensors;
  struct tensor_difference none = {.absolute = NAN, .relative = NAN, .ulps = NAN};
  const struct tensor_difference *shown = difference ? difference : &none;
  int failed = table_text(table, err, "%s/%s/%s", record->experiment, record->label, tensor->name);
  failed = failed ? failed : table_number(table, difference ? (double)difference->different : NAN, err);
  failed = failed ? failed : table_number(table, (double)tensor->count, err);
  failed = failed ? failed : table_number(table, shown->absolute, err);
  failed = failed ? failed : table_number(table, shown->relative, err);
  failed = failed ? failed : table_number(table, shown->ulps, err);
  return failed ? failed : table_text(table, err, "%s", remark);
}

static int compare_tensor(struct results_diff *diff, const struct record *record, const struct tensor *a,
                          const struct tensor *b, double tolerance, bool all, struct error *err) {
  const char *why = b ? unlike(a, b) : "only in the first";
  if (why) {
    diff->unmatched++;
    return add_row(diff, record, a, NULL, why, err);
  }
  struct tensor_difference difference = tensor_compare(a, b);
  bool apart = difference.scaled > tolerance;
  diff->compared++;
  diff->apart += apart;
  if (!difference.different && !all) {
    return 0;
  }
  const char *remark = apart ? "apart" : difference.different ? "within the tolerance" : "equal";
  return add_row(diff, record, a, &difference, remark, err);
}

static int compare_attribute(struct results_diff *diff, const char *where, const struct attribute *a,
                             const struct attribute *b, struct error *err) {
  char place[5 * RECORD_NAME];
  snprintf(place, sizeof place, "%s: %s", where, a ? a->name : b->name);
  char *x = show_attribute(a, err);
  char *y = x ? show_attribute(b, err) : NULL;
  int failed = y ? diff_text(&diff->facts, place, x, y, err) : (int)err->code;
  free(x);
  free(y);
  return failed;
}

static int compare_attributes(struct results_diff *diff, const char *where, const struct attributes *a,
                              const struct attributes *b, struct error *err) {
  int failed = 0;
  for (size_t i = 0; !failed && i < a->count; i++) {
    failed = compare_attribute(diff, where, &a->items[i], attributes_find(b, a->items[i].name), err);
  }
  for (size_t i = 0; !failed && i < b->count; i++) {
    if (!attributes_find(a, b->items[i].name)) {
      failed = compare_attribute(diff, where, NULL, &b->items[i], err);
    }
  }
  return failed;
}

static int compare_facts(struct results_diff *diff, const struct record *a, const struct record *b, struct error *err) {
  char where[3 * RECORD_NAME], place[4 * RECORD_NAME];
  snprintf(where, sizeof where, "%s/%s", a->experiment, a->label);
  snprintf(place, sizeof place, "%s: status", where);
  int failed = diff_text(&diff->facts, place, record_status_name(a->status), record_status_name(b->status), err);
  snprintf(place, sizeof place, "%s: error", where);
  failed = failed ? failed : diff_text(&diff->facts, place, a->error.text, b->error.text, err);
  char seed_a[24], seed_b[24];
  snprintf(seed_a, sizeof seed_a, "%llu", (unsigned long long)a->seed);
  snprintf(seed_b, sizeof seed_b, "%llu", (unsigned long long)b->seed);
  snprintf(place, sizeof place, "%s: seed", where);
  failed = failed ? failed : diff_text(&diff->facts, place, seed_a, seed_b, err);
  return failed ? failed : compare_attributes(diff, where, &a->attributes, &b->attributes, err);
}

static int only_in_second(struct results_diff *diff, const struct record *a, const struct record *b,
                          struct error *err) {
  int failed = 0;
  for (size_t i = 0; !failed && i < b->count; i++) {
    if (!a || !record_find(a, b->tensors[i].name)) {
      diff->unmatched++;
      failed = add_row(diff, b, &b->tensors[i], NULL, "only in the second", err);
    }
  }
  return failed;
}

static int compare_record(struct results_diff *diff, const struct record *a, const struct record *b, double tolerance,
                          bool all, struct error *err) {
  int failed = 0;
  for (size_t i = 0; !failed && i < a->count; i++) {
    const struct tensor *other = b ? record_find(b, a->tensors[i].name) : NULL;
    failed = compare_tensor(diff, a, &a->tensors[i], other, tolerance, all, err);
  }
  if (!b) {
    char place[3 * RECORD_NAME];
    snprintf(place, sizeof place, "%s/%s", a->experiment, a->label);
    return failed ? failed : diff_text(&diff->facts, place, record_status_name(a->status), "", err);
  }
  failed = failed ? failed : only_in_second(diff, a, b, err);
  return failed ? failed : compare_facts(diff, a, b, err);
}

static int compare_texts(struct results_diff *diff, const struct results_file *a, const struct results_file *b,
                         struct error *err) {
  int failed = diff_text(&diff->facts, "title", a->title ? a->title : "", b->title ? b->title : "", err);
  failed = failed ? failed : diff_text(&diff->facts, "status", a->status, b->status, err);
  char place[2 * RECORD_NAME];
  for (size_t i = 0; !failed && i < a->n_texts; i++) {
    const struct results_text *other = results_find_text(b, a->texts[i].name);
    snprintf(place, sizeof place, "run/%s", a->texts[i].name);
    failed = diff_text(&diff->facts, place, a->texts[i].text, other ? other->text : "", err);
  }
  for (size_t i = 0; !failed && i < b->n_texts; i++) {
    snprintf(place, sizeof place, "run/%s", b->texts[i].name);
    failed = results_find_text(a, b->texts[i].name) ? 0 : diff_text(&diff->facts, place, "", b->texts[i].text, err);
  }
  return failed;
}

static int start_tables(struct results_diff *diff, struct error *err) {
  struct table *tensors = &diff->tensors, *facts = &diff->facts;
  int failed = table_title(tensors, err, "Numbers");
  failed = failed ? failed : table_column(tensors, "path", "path", false, false, err);
  failed = failed ? failed : table_column(tensors, "different", "different", true, false, err);
  failed = failed ? failed : table_column(tensors, "elements", "of", true, false, err);
  failed = failed ? failed : table_column(tensors, "absolute", "absolute", true, false, err);
  failed = failed ? failed : table_column(tensors, "relative", "relative", true, false, err);
  failed = failed ? failed : table_column(tensors, "ulps", "ulps", true, false, err);
  failed = failed ? failed : table_column(tensors, "remark", "remark", false, true, err);
  failed = failed ? failed : table_title(facts, err, "Plan, provenance and statuses");
  failed = failed ? failed : table_column(facts, "path", "where", false, true, err);
  failed = failed ? failed : table_column(facts, "first", "in the first", false, true, err);
  return failed ? failed : table_column(facts, "second", "in the second", false, true, err);
}

int results_compare(const struct results_file *a, const struct results_file *b, double tolerance, bool all,
                    struct results_diff *diff, struct error *err) {
  *diff = (struct results_diff){0};
  int failed = start_tables(diff, err);
  for (size_t e = 0; !failed && e < a->n_experiments; e++) {
    const struct results_experiment *experiment = &a->experiments[e];
    for (size_t i = 0; !failed && i < experiment->count; i++) {
      const struct record *record = experiment->records[i];
      failed = compare_record(diff, record, results_find(b, experiment->label, record->label), tolerance, all, err);
    }
  }
  for (size_t e = 0; !failed && e < b->n_experiments; e++) {
    const struct results_experiment *experiment = &b->experiments[e];
    for (size_t i = 0; !failed && i < experiment->count; i++) {
      const struct record *record = experiment->records[i];
      bool in_both = results_find(a, experiment->label, record->label) != NULL;
      failed = in_both ? 0 : only_in_second(diff, NULL, record, err);
    }
  }
  return failed ? failed : compare_texts(diff, a, b, err);
}

void results_diff_free(struct results_diff *diff) {
  table_free(&diff->tensors);
  table_free(&diff->facts);
}
