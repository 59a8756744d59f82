/* The table of the experiment `encoding`, and its curves side by side. */
#include "experiments/encoding.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a record says, each a number or NaN where the scheme has none of the kind. */
struct summary {
  double defined;           /* positions */
  double spread, deviation; /* of the logits: over all places; at one distance */
  double bound;             /* rounding */
  double half, negative;    /* of the kernel */
  double shortest, longest; /* wavelengths */
  double *profile;          /* [n_distances], mean over heads */
  size_t n_distances;
};

/* The only element of a scalar measure; NaN: the record has none. 0 or ERROR_MEMORY. */
static int scalar(const struct record *record, const char *name, double *out, struct error *err) {
  size_t count;
  double *values = measure(record, name, &count, err);
  *out = values ? values[0] : NAN;
  free(values);
  return (int)err->code;
}

/* Smallest and largest number of a measure, NaN left out; NaN: there is none. */
static int range(const struct record *record, const char *name, double *least, double *most, struct error *err) {
  size_t count = 0;
  double *values = measure(record, name, &count, err);
  *least = NAN;
  *most = NAN;
  for (size_t i = 0; values && i < count; i++) {
    *least = fmin(*least, values[i]); /* the other one where one is NaN */
    *most = fmax(*most, values[i]);
  }
  free(values);
  return (int)err->code;
}

static int mean_profile(const struct record *record, struct summary *s, struct error *err) {
  size_t count = 0;
  double *values = measure(record, "profile", &count, err);
  const struct tensor *tensor = record_find(record, "profile");
  if (!values || !tensor) {
    return (int)err->code;
  }
  s->n_distances = tensor->axis[tensor->rank - 1].length;
  s->profile = memory_new(s->n_distances, sizeof *s->profile, "profile", err);
  size_t heads = count / s->n_distances;
  for (size_t i = 0; s->profile && i < count; i++) {
    s->profile[i % s->n_distances] += values[i] / (double)heads;
  }
  free(values);
  return s->profile ? 0 : (int)err->code;
}

static int summarise(const struct record *record, struct summary *s, struct error *err) {
  double ignored;
  size_t count = 0;
  *s = (struct summary){0};
  double *defined = measure(record, "defined", &count, err);
  for (size_t i = 0; defined && i < count; i++) {
    s->defined += defined[i] == 1;
  }
  free(defined);
  int status = (int)err->code;
  status = status ? status : scalar(record, "logit_spread", &s->spread, err);
  status = status ? status : range(record, "profile_deviation", &ignored, &s->deviation, err);
  status = status ? status : scalar(record, "rounding_bound", &s->bound, err);
  status = status ? status : scalar(record, "kernel_half_distance", &s->half, err);
  status = status ? status : scalar(record, "kernel_first_negative", &s->negative, err);
  status = status ? status : range(record, "wavelength", &s->shortest, &s->longest, err);
  return status ? status : mean_profile(record, s, err);
}

static const char *follows(const struct summary *s) {
  if (s->spread <= s->bound) {
    return "positions change nothing: the content alone counts";
  }
  return s->deviation <= s->bound ? "the distance alone counts" : "the place counts, not only the distance";
}

static const char *acts_on(unsigned sites) {
  static const char *const names[] = {
      "nothing", "embedding",         "query and key",         "embedding, query and key",
      "scores",  "embedding, scores", "query and key, scores", "embedding, query and key, scores"};
  return names[sites & (PE_SITE_EMBED | PE_SITE_QK | PE_SITE_BIAS)];
}

static int conclude_row(const struct plan_scheme *scheme, const struct record *record, struct table *rows,
                        struct record *profiles, struct record *kernels, struct error *err) {
  struct summary s;
  int status = summarise(record, &s, err);
  status = status ? status : table_text(rows, err, "%s", scheme->label);
  status = status ? status : table_text(rows, err, "%s", acts_on(scheme->info->sites));
  status = status ? status : table_number(rows, s.defined, err);
  status = status ? status : table_number(rows, s.spread, err);
  status = status ? status : table_number(rows, s.deviation, err);
  status = status ? status : table_number(rows, s.bound, err);
  status = status ? status : table_number(rows, s.half, err);
  status = status ? status : table_number(rows, s.negative, err);
  status = status ? status : table_number(rows, s.shortest, err);
  status = status ? status : table_number(rows, s.longest, err);
  status = status ? status : table_text(rows, err, "%s", follows(&s));
  const struct tensor *profile = record_find(record, "profile");
  if (!status && profile) {
    struct axis_spec axis = axis_spec_of(&profile->axis[profile->rank - 1]);
    status = comparison_add(profiles, scheme, record, &axis, s.profile, "expected logit, mean of heads", NULL, err);
  }
  const struct tensor *kernel = status ? NULL : record_find(record, "kernel");
  if (kernel) {
    size_t count;
    struct axis_spec axis = axis_spec_of(&kernel->axis[kernel->rank - 1]);
    double *values = measure(record, "kernel", &count, err);
    status = values ? comparison_add(kernels, scheme, record, &axis, values, "kernel", NULL, err) : (int)err->code;
    free(values);
  }
  free(s.profile);
  return status;
}

int encoding_conclude(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                      struct conclusion *conclusion, struct error *err) {
  if (!conclusion_add_comparison(conclusion, entry, NULL, "Expected logit of equal tokens, by distance", err) ||
      !conclusion_add_comparison(conclusion, entry, "kernel", "Likeness of two positions, by distance", err)) {
    return err->code;
  }
  struct record *profiles = conclusion->comparisons + conclusion->n_comparisons - 2;
  struct table *rows = conclusion_add_table(conclusion, err);
  if (!rows || table_title(rows, err, "%s: what is the encoding itself?", entry->label) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "acts_on", "acts on", false, false, err) ||
      table_column(rows, "defined", "defined positions", true, false, err) ||
      table_column(rows, "spread", "logit spread", true, false, err) ||
      table_column(rows, "deviation", "at one distance", true, false, err) ||
      table_column(rows, "bound", "rounding bound", true, false, err) ||
      table_column(rows, "half", "kernel 1/2 at", true, false, err) ||
      table_column(rows, "negative", "kernel < 0 at", true, false, err) ||
      table_column(rows, "shortest", "shortest wave", true, false, err) ||
      table_column(rows, "longest", "longest wave", true, false, err) ||
      table_column(rows, "follows", "what follows", false, true, err)) {
    return err->code;
  }
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (!record_has_numbers(records[s]) || !record_find(records[s], "profile") ||
        !record_find(records[s], "rounding_bound")) {
      continue;
    }
    int status = conclude_row(&plan->schemes[s], records[s], rows, profiles, profiles + 1, err);
    if (status) {
      return status;
    }
  }
  return table_note(rows, err,
                    "Logits of a token with itself, no mask. spread: largest difference from the head's mean; at one "
                    "distance: largest standard deviation among places equally far apart (0 where the distance alone "
                    "counts); kernel: likeness of two positions, 1 at distance 0; waves in tokens; - : the scheme has "
                    "none.");
}
