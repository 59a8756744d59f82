/* What follows from the records of extrapolation: one row a scheme, comparison groups, and the verdict where there is
 * one. */
#include "experiments/divergence.h"
#include "experiments/extrapolation.h"
#include "experiments/literature.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A scheme whose attention hardly changes when its positions are taken away says nothing by being consistent. */
static const double HARDLY = 3;

struct outcome {
  double inside;         /* 97.5 % quantile of window_jsd over windows wholly inside L */
  double beyond;         /* median over all windows at offsets beyond L */
  double first_degraded; /* last position of the first offset whose median exceeds `inside`; NaN: none */
  double signal;         /* position signal, mean of heads */
  double swapped;        /* divergence from the model as trained inside L, mean of heads */
  size_t inside_windows; /* how many (window, offset) pairs inside */
  size_t windows, texts;
  bool any_beyond;
};

/* Mean over heads of values [row][heads]. */
static double mean_of_heads(const double *values, size_t row, size_t heads) {
  return mean(values + row * heads, heads);
}

static int64_t attribute_int(const struct record *record, const char *name) {
  const struct attribute *attribute = attributes_find(&record->attributes, name);
  return attribute ? attribute->integer : 0;
}

static const struct axis *axis_of(const struct record *record, const char *tensor_name, const char *axis_name) {
  const struct tensor *tensor = record_find(record, tensor_name);
  for (unsigned i = 0; tensor && i < tensor->rank; i++) {
    if (!strcmp(tensor->axis[i].name, axis_name)) {
      return &tensor->axis[i];
    }
  }
  return NULL;
}

/* medians [offset]: over windows, of the mean over heads. */
static int window_outcome(const struct record *record, struct outcome *out, double *medians, struct error *err) {
  const struct axis *offset = axis_of(record, "window_jsd", "offset");
  const struct axis *window = axis_of(record, "window_jsd_by_window", "window");
  size_t heads = axis_of(record, "window_jsd", "head")->length;
  size_t count;
  double L = (double)attribute_int(record, "train_length");
  double W = (double)attribute_int(record, "window");
  double *values = measure(record, "window_jsd_by_window", &count, err);
  double *inside = values ? memory_new(offset->length, window->length * sizeof *inside, "windows", err) : NULL;
  double *beyond = inside ? memory_new(offset->length, window->length * sizeof *beyond, "windows", err) : NULL;
  double *row = beyond ? memory_new(window->length, sizeof *row, "windows", err) : NULL;
  size_t n_beyond = 0;
  out->beyond = out->first_degraded = NAN;
  out->windows = window->length;
  for (size_t o = 0; row && o < offset->length; o++) {
    double from = offset->values[o];
    for (size_t w = 0; w < window->length; w++) {
      row[w] = mean_of_heads(values, o * window->length + w, heads);
      if (from > 0 && from + W <= L && !isnan(row[w])) {
        inside[out->inside_windows++] = row[w];
      } else if (from + W > L && !isnan(row[w])) {
        beyond[n_beyond++] = row[w];
      }
    }
    medians[o] = isnan(row[0]) ? NAN : quantile(row, window->length, 0.5);
  }
  if (row) {
    out->inside = quantile(inside, out->inside_windows, 0.975);
    out->beyond = quantile(beyond, n_beyond, 0.5);
    out->any_beyond = n_beyond > 0;
    for (size_t o = 0; o < offset->length; o++) {
      bool degraded = offset->values[o] + W > L && medians[o] > out->inside;
      if (degraded && isnan(out->first_degraded)) {
        out->first_degraded = offset->values[o] + W - 1;
      }
    }
  }
  int status = row ? 0 : (int)err->code;
  free(values);
  free(inside);
  free(beyond);
  free(row);
  return status;
}

static int mean_measure(const struct record *record, const char *name, double *out, struct error *err) {
  size_t count;
  double *values = measure(record, name, &count, err);
  *out = values ? mean(values, count) : NAN;
  free(values);
  return values ? 0 : (int)err->code;
}

static int texts_of(const struct record *record) {
  const struct tensor *text = record_find(record, "window_text");
  double last = 0;
  for (size_t i = 0; text && i < text->count; i++) {
    last = fmax(last, tensor_value(text, i));
  }
  return (int)last + 1;
}

/* The verdict in words, with its reason. */
static void word_verdict(const struct record *record, const struct outcome *o, char *out, size_t size) {
  enum scheme_role role = record_role(record);
  const struct tensor *defined = record_find(record, "defined");
  const struct axis *length = axis_of(record, "defined", "length");
  double last_defined = NAN;
  bool undefined = false;
  for (size_t i = 0; i < length->length; i++) {
    if (tensor_value(defined, defined->count - length->length + i) > 0) {
      last_defined = fmax(isnan(last_defined) ? 0 : last_defined, length->values[i]);
    } else {
      undefined = true;
    }
  }
  const char *limit = undefined ? "; undefined beyond" : "";
  char where[48] = "";
  if (undefined) {
    snprintf(where, sizeof where, isnan(last_defined) ? " 0" : " %.0f", last_defined);
  }
  if (role == ROLE_CONTROL) {
    snprintf(out, size, "control: no positions");
  } else if (role == ROLE_SWAPPED_IN) {
    snprintf(out, size, "no verdict: swapped in without retraining%s%s", limit, where);
  } else if (role == ROLE_UNTRAINED) {
    snprintf(out, size, "no verdict: untrained weights%s%s", limit, where);
  } else if (o->inside_windows == 0 || o->windows < EXTRAPOLATION_MIN_WINDOWS || o->texts < EXTRAPOLATION_MIN_TEXTS) {
    snprintf(out, size, "no verdict: %zu windows of %zu texts (needs %d of %d)%s%s", o->windows, o->texts,
             EXTRAPOLATION_MIN_WINDOWS, EXTRAPOLATION_MIN_TEXTS, limit, where);
  } else if (!o->any_beyond) {
    snprintf(out, size, "nothing measured beyond L%s%s", limit, where);
  } else if (o->signal < HARDLY * o->inside) {
    snprintf(out, size, "hardly encodes position (signal %.2g, floor %.2g)%s%s", o->signal, o->inside, limit, where);
  } else if (o->beyond <= o->inside || isnan(o->first_degraded)) {
    snprintf(out, size, "holds: windows beyond L are as those inside%s%s", limit, where);
  } else {
    snprintf(out, size, "degrades from position %.0f%s%s", o->first_degraded, limit, where);
  }
}

/* out [length]: mean over heads of a measure by length. */
static double *by_length(const struct record *record, const char *name, size_t n_lengths, struct error *err) {
  size_t count;
  double *values = measure(record, name, &count, err);
  double *out = values ? memory_new(n_lengths, sizeof *out, name, err) : NULL;
  for (size_t i = 0; out && i < n_lengths; i++) {
    out[i] = mean_of_heads(values, i, count / n_lengths);
  }
  free(values);
  return out;
}

/* The value at the first length beyond L, or NaN. */
static double first_beyond(const struct axis *length, const double *values, double L) {
  for (size_t i = 0; values && i < length->length; i++) {
    if (length->values[i] >= 2 * L) {
      return values[i];
    }
  }
  return NAN;
}

static double defined_up_to(const struct record *record, const char *flag) {
  const struct tensor *tensor = record_find(record, flag);
  const struct axis *length = axis_of(record, flag, "length");
  double last = 0;
  for (size_t i = 0; i < length->length; i++) {
    if (tensor_value(tensor, tensor->count - length->length + i) > 0) {
      last = fmax(last, length->values[i]);
    }
  }
  return last;
}

/* What the literature claims beyond the training length; of a mapped scheme it is not said there. */
static const char *claimed(const struct plan_scheme *scheme) {
  return scheme->map.kind == POSITION_AS_IS ? literature_word_name(literature_of(scheme->info->id)->word) : "-";
}

struct groups {
  struct record *truncation, *to_trained, *mass, *windows;
};

static int add_group(struct record *group, const struct plan_scheme *scheme, const struct record *record,
                     const struct axis *from, const double *values, const char *what, const char *units,
                     struct error *err) {
  struct axis_spec axis = axis_spec_of(from);
  return comparison_add(group, scheme, record, &axis, values, what, units, err);
}

static int conclude_row(const struct plan_scheme *scheme, const struct record *record, const struct groups *groups,
                        struct table *rows, struct error *err) {
  const struct axis *length = axis_of(record, "defined", "length");
  const struct axis *offset = axis_of(record, "window_jsd", "offset");
  double L = (double)attribute_int(record, "train_length");
  struct outcome o = {.inside = NAN, .beyond = NAN, .first_degraded = NAN, .signal = NAN, .swapped = NAN};
  int status = 0;
  double *medians = NULL;
  if (offset) {
    medians = memory_new(offset->length, sizeof *medians, "medians", err);
    status = medians ? window_outcome(record, &o, medians, err) : (int)err->code;
    status = status ? status : mean_measure(record, "position_signal", &o.signal, err);
    status = status ? status : mean_measure(record, "swapped_in", &o.swapped, err);
    status = status
                 ? status
                 : add_group(groups->windows, scheme, record, offset, medians, "window divergence, median", "nat", err);
    o.texts = (size_t)texts_of(record);
  }
  free(medians);
  double *truncation = status ? NULL : by_length(record, "truncation_jsd", length->length, err);
  double *to_trained = truncation ? by_length(record, "jsd_to_trained", length->length, err) : NULL;
  double *mass = to_trained ? by_length(record, "mass_beyond", length->length, err) : NULL;
  status = status ? status : (mass ? 0 : (int)err->code);
  if (!status) {
    char text[160];
    word_verdict(record, &o, text, sizeof text);
    double defined = defined_up_to(record, "defined");
    double trained = defined_up_to(record, "trained");
    status = table_text(rows, err, "%s", scheme->label);
    status = status ? status : table_text(rows, err, "%s", scheme_role_name(record_role(record)));
    status = status ? status : table_text(rows, err, "%s", claimed(scheme));
    status = status ? status : table_number(rows, defined, err);
    status = status ? status : table_number(rows, trained, err);
    status = status ? status : table_number(rows, o.signal, err);
    status = status ? status : table_number(rows, o.inside, err);
    status = status ? status : table_number(rows, o.beyond, err);
    status = status ? status : table_number(rows, first_beyond(length, truncation, L), err);
    status = status ? status : table_number(rows, first_beyond(length, to_trained, L), err);
    status = status ? status : table_number(rows, first_beyond(length, mass, L), err);
    status = status ? status : table_text(rows, err, "%s", text);
  }
  status = status
               ? status
               : add_group(groups->truncation, scheme, record, length, truncation, "truncation divergence", "nat", err);
  status = status ? status
                  : add_group(groups->to_trained, scheme, record, length, to_trained,
                              "divergence from the trained model", "nat", err);
  status = status ? status : add_group(groups->mass, scheme, record, length, mass, "attention beyond L", "1", err);
  free(truncation);
  free(to_trained);
  free(mass);
  return status;
}

/* What stands under the table: how far a swap alone moves attention, and what the columns are. */
static int add_notes(const struct plan *plan, const struct record *const *records, struct table *rows, double L,
                     struct error *err) {
  int status = table_note(
      rows, err,
      "Divergences in nats, mean of heads. inside: 97.5 %% quantile over windows wholly inside L = "
      "%.0f (the floor); beyond: median over windows that reach past L; 2 L: at the first "
      "length of at least 2 L. claimed: what the literature says beyond the training length (pe-run list has the "
      "sources).",
      L);
  double least = INFINITY;
  double most = 0;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    double swapped = NAN;
    if (record_has_numbers(records[s]) && record_role(records[s]) == ROLE_SWAPPED_IN &&
        record_find(records[s], "swapped_in")) {
      status = mean_measure(records[s], "swapped_in", &swapped, err);
    }
    if (!isnan(swapped)) {
      least = fmin(least, swapped);
      most = fmax(most, swapped);
    }
  }
  if (!status && most > 0) {
    status =
        table_note(rows, err,
                   "Swapped in: inside the training length the attention of these schemes already differs from the "
                   "model's own by %.2g to %.2g. Their rows show what the mechanism does to these logits, not how a "
                   "model trained with it behaves.",
                   least, most);
  }
  return status;
}

int extrapolation_conclude(const struct plan *plan, const struct plan_experiment *entry,
                           const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  /* Groups are made before pointers into the list are taken: it moves when it grows. */
  static const struct {
    const char *measure, *title;
  } group_table[] = {
      {NULL, "Truncation divergence by length: does more context change what the last tokens look at?"},
      {"jsd_to_trained", "Divergence from the model as trained, by length"},
      {"mass_beyond", "Attention of the last tokens beyond the training length, by length"},
      {"window_jsd", "Divergence of a window of tokens against the same at positions 0 ..., by offset"},
  };
  for (size_t i = 0; i < 4; i++) {
    if (!conclusion_add_comparison(conclusion, entry, group_table[i].measure, group_table[i].title, err)) {
      return err->code;
    }
  }
  struct record *first = conclusion->comparisons + conclusion->n_comparisons - 4;
  struct groups groups = {first, first + 1, first + 2, first + 3};
  struct table *rows = conclusion_add_table(conclusion, err);
  if (!rows || table_title(rows, err, "%s: what happens past the training length?", entry->label) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "role", "role", false, false, err) ||
      table_column(rows, "claimed", "claimed", false, false, err) ||
      table_column(rows, "defined", "defined to", true, false, err) ||
      table_column(rows, "trained", "trained to", true, false, err) ||
      table_column(rows, "signal", "position signal", true, false, err) ||
      table_column(rows, "inside", "window, inside", true, false, err) ||
      table_column(rows, "beyond", "window, beyond", true, false, err) ||
      table_column(rows, "truncation", "truncation, 2 L", true, false, err) ||
      table_column(rows, "to_trained", "to trained, 2 L", true, false, err) ||
      table_column(rows, "mass_beyond", "mass beyond, 2 L", true, false, err) ||
      table_column(rows, "follows", "what follows", false, true, err)) {
    return err->code;
  }
  double L = 0;
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (!record_has_numbers(records[s]) || !record_find(records[s], "defined")) {
      continue;
    }
    L = (double)attribute_int(records[s], "train_length");
    int status = conclude_row(&plan->schemes[s], records[s], &groups, rows, err);
    if (status) {
      return status;
    }
  }
  return add_notes(plan, records, rows, L, err);
}
