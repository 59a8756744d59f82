/* The certificate and the linear map of a shift in tables and words. */
#include "experiments/common.h"
#include "experiments/relative_position.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 400, NAME = 32 };

/* The n-th of words that are separated by spaces. */
static void word_at(const char *words, size_t n, char out[NAME]) {
  for (; n > 0; n--) {
    words = strchr(words, ' ') + 1;
  }
  snprintf(out, NAME, "%.*s", (int)strcspn(words, " "), words);
}

/* What a record says of its certificate; seeds are averaged, positions are those of the worst seed. */
struct finding {
  const struct record *record;
  size_t n_stages, n_dtypes, n_shifts;
  const char *stage_names, *dtype_names;
  const struct axis *stage, *shift;
  double spread;
  double *drift, *drift_bound, *fidelity, *fidelity_bound; /* [stage][dtype][shift] */
  double *own;                                             /* [shift] */
  double *longest[2];                                      /* of drift, of fidelity: [stage][dtype] */
  enum certificate_outcome *outcome[2];
};

static void finding_free(struct finding *finding) {
  free(finding->drift);
  free(finding->drift_bound);
  free(finding->fidelity);
  free(finding->fidelity_bound);
  free(finding->own);
  for (size_t i = 0; i < 2; i++) {
    free(finding->longest[i]);
    free(finding->outcome[i]);
  }
}

static int read_longest(struct finding *finding, size_t which, const char *longest_name, const char *outcome_name,
                        struct error *err) {
  const struct tensor *longest = record_find(finding->record, longest_name);
  const struct tensor *outcome = record_find(finding->record, outcome_name);
  size_t count = finding->n_stages * finding->n_dtypes;
  finding->longest[which] = memory_new(count, sizeof(double), longest_name, err);
  finding->outcome[which] =
      finding->longest[which] ? memory_new(count, sizeof **finding->outcome, outcome_name, err) : NULL;
  for (size_t i = 0; finding->outcome[which] && i < longest->count; i++) {
    double value = tensor_value(longest, i), *kept = &finding->longest[which][i % count];
    if (i < count || isnan(value) || value < *kept) {
      *kept = value;
      finding->outcome[which][i % count] = (enum certificate_outcome)(int)tensor_value(outcome, i);
    }
  }
  return finding->outcome[which] ? 0 : (int)err->code;
}

static const char *text_of(const struct tensor *tensor, const char *name) {
  return attributes_find(&tensor->attributes, name)->text;
}

static int read_finding(const struct record *record, struct finding *finding, struct error *err) {
  const struct tensor *drift = record_find(record, "drift_rms");
  const struct axis *axes = drift->axis + (drift->rank - 3);
  size_t count;
  *finding = (struct finding){.record = record,
                              .n_stages = axes[0].length,
                              .n_dtypes = axes[1].length,
                              .n_shifts = axes[2].length,
                              .stage_names = text_of(drift, "stage_names"),
                              .dtype_names = text_of(drift, "dtype_names"),
                              .stage = &axes[0],
                              .shift = &axes[2]};
  double *spread = measure(record, "certificate_spread", &count, err);
  finding->spread = spread ? *spread : NAN;
  free(spread);
  finding->drift = spread ? measure(record, "drift_rms", &count, err) : NULL;
  finding->drift_bound = finding->drift ? measure(record, "drift_bound_rms", &count, err) : NULL;
  finding->fidelity = finding->drift_bound ? measure(record, "fidelity_rms", &count, err) : NULL;
  finding->fidelity_bound = finding->fidelity ? measure(record, "fidelity_bound_rms", &count, err) : NULL;
  finding->own = finding->fidelity_bound ? measure(record, "own_drift_rms", &count, err) : NULL;
  int status = finding->own ? 0 : (int)err->code;
  status = status ? status : read_longest(finding, 0, "drift_longest_position", "drift_outcome", err);
  return status ? status : read_longest(finding, 1, "fidelity_longest_position", "fidelity_outcome", err);
}

/* ---- words ---- */

/* The shift where values [shift] are largest; n where all are NaN. */
static size_t worst_shift(const double *values, size_t n) {
  size_t worst = n;
  for (size_t i = 0; i < n; i++) {
    worst = !isnan(values[i]) && (worst == n || values[i] > values[worst]) ? i : worst;
  }
  return worst;
}

/* The format of a stage that is the furthest off. */
static size_t worst_dtype(const struct finding *f, size_t stage) {
  size_t worst = 0;
  double most = -1;
  for (size_t dtype = 0; dtype < f->n_dtypes; dtype++) {
    const double *values = f->fidelity + (stage * f->n_dtypes + dtype) * f->n_shifts;
    size_t at = worst_shift(values, f->n_shifts);
    if (at < f->n_shifts && values[at] > most) {
      most = values[at];
      worst = dtype;
    }
  }
  return worst;
}

static void say_bound(double bound, double spread, char out[NAME]) {
  if (isnan(bound)) {
    snprintf(out, NAME, "no bound known");
  } else {
    snprintf(out, NAME, "bound %.2g", bound / spread);
  }
}

/* The shifts at which a format has no number although the scheme has. */
static bool ends_early(const struct finding *f, size_t cell) {
  for (size_t i = 0; i < f->n_shifts; i++) {
    if (isnan(f->drift[cell * f->n_shifts + i]) && !isnan(f->own[i])) {
      return true;
    }
  }
  return false;
}

static void word_stage(const struct finding *f, const struct plan_scheme *scheme, size_t stage, double tolerance,
                       char out[WORDS]) {
  size_t dtype = worst_dtype(f, stage), cell = stage * f->n_dtypes + dtype, base = cell * f->n_shifts;
  enum certificate_outcome drift = f->outcome[0][cell], fidelity = f->outcome[1][cell];
  size_t at = worst_shift(f->drift + base, f->n_shifts), wrong = worst_shift(f->fidelity + base, f->n_shifts);
  char name[NAME], bound[NAME], longest[NAME];
  word_at(f->dtype_names, dtype, name);
  if (at == f->n_shifts || wrong == f->n_shifts) {
    snprintf(out, WORDS, "undefined at every shift");
    return;
  }
  if (!(f->spread > 0)) { /* one sample, and no position tells in it: there is nothing to take a share of */
    snprintf(out, WORDS, "no shares: the scores do not differ (spread 0); in logits, %s drifts by %.2g, is off by %.2g",
             name, f->drift[base + at], f->fidelity[base + wrong]);
    return;
  }
  double moved = f->drift[base + at] / f->spread, off = f->fidelity[base + wrong] / f->spread;
  double shift = f->shift->values[at], to = f->longest[0][cell];
  size_t own_at = worst_shift(f->own, f->n_shifts);
  bool moves = f->own[own_at] > tolerance * f->spread; /* some drift is not NaN, so some own is not */
  say_bound(f->drift_bound[base + at], f->spread, bound);
  snprintf(longest, sizeof longest, isnan(to) ? "no position" : "position %.0f", to);
  if (!scheme->info->sites) {
    snprintf(out, WORDS, "trivially: nothing depends on position (drift %.2g); %s is off by %.2g", moved, name, off);
  } else if (moves && drift != OUTCOME_LIMITED_BY_POSITION) {
    snprintf(out, WORDS,
             "the score itself moves with position, before any rounding: by %.2g at shift %.0f; %s is off by "
             "%.2g",
             f->own[worst_shift(f->own, f->n_shifts)] / f->spread, f->shift->values[worst_shift(f->own, f->n_shifts)],
             name, off);
  } else if (drift == OUTCOME_LIMITED_BY_POSITION) {
    snprintf(out, WORDS, "%s holds to %s, then drifts: by %.2g at shift %.0f (%s)", name, longest, moved, shift, bound);
  } else if (drift == OUTCOME_LIMITED_BY_BOTH) {
    snprintf(out, WORDS, "%s is outside from the first position on, and drifts: by %.2g at shift %.0f (%s)", name,
             moved, shift, bound);
  } else if (drift == OUTCOME_LIMITED_BY_DTYPE) {
    snprintf(out, WORDS, "limited by dtype, no drift: %s is off by %.2g at every shift (%s)", name, moved, bound);
  } else if (drift == OUTCOME_UNDEFINED) {
    snprintf(out, WORDS, "defined to %s; %s is off by %.2g there", longest, name, off);
  } else if (fidelity != OUTCOME_WITHIN) {
    say_bound(f->fidelity_bound[base + wrong], f->spread, bound);
    snprintf(out, WORDS, "no drift (%.2g), but limited by dtype: %s is wrong by %.2g at every shift (%s)", moved, name,
             off, bound);
  } else {
    snprintf(out, WORDS, "holds at every shift: %s drifts by %.2g at most (%s)", name, moved, bound);
  }
}

/* Where a format ends before the shifts do. */
static void word_ends(const struct finding *f, size_t stage, char out[WORDS]) {
  for (size_t dtype = 0; dtype < f->n_dtypes; dtype++) {
    char name[NAME];
    size_t length = strlen(out);
    if (ends_early(f, stage * f->n_dtypes + dtype)) {
      word_at(f->dtype_names, dtype, name);
      snprintf(out + length, WORDS - length, "; %s has no number at large positions", name);
    }
  }
}

static void word_position(const struct finding *f, size_t which, size_t cell, char out[NAME]) {
  double longest = f->longest[which][cell];
  switch (f->outcome[which][cell]) {
  case OUTCOME_NOT_MEASURED:
  case N_OUTCOMES:
    snprintf(out, NAME, "-");
    return;
  case OUTCOME_WITHIN:
    snprintf(out, NAME, "all");
    return;
  case OUTCOME_LIMITED_BY_DTYPE:
    snprintf(out, NAME, "dtype");
    return;
  case OUTCOME_LIMITED_BY_BOTH:
  case OUTCOME_LIMITED_BY_POSITION:
  case OUTCOME_NOT_INVARIANT:
  case OUTCOME_UNDEFINED:
    break;
  }
  snprintf(out, NAME, isnan(longest) ? "none" : "%.0f", longest);
}

/* ---- tables ---- */

static int add_rows(const struct finding *f, const struct plan_scheme *scheme, double tolerance, struct table *rows,
                    struct error *err) {
  for (size_t stage = 0; stage < f->n_stages; stage++) {
    char name[NAME], words[WORDS];
    if (f->outcome[0][stage * f->n_dtypes] == OUTCOME_NOT_MEASURED) {
      continue;
    }
    word_at(f->stage_names, stage, name);
    int status = table_text(rows, err, "%s", scheme->label);
    status = status ? status : table_text(rows, err, "%s", name);
    for (size_t dtype = 0; !status && dtype < f->n_dtypes; dtype++) {
      char drift[NAME], fidelity[NAME];
      word_position(f, 0, stage * f->n_dtypes + dtype, drift);
      word_position(f, 1, stage * f->n_dtypes + dtype, fidelity);
      status = table_text(rows, err, "%s / %s", drift, fidelity);
    }
    word_stage(f, scheme, stage, tolerance, words);
    word_ends(f, stage, words);
    status = status ? status : table_text(rows, err, "%s", words);
    if (status) {
      return status;
    }
  }
  return 0;
}

static struct table *certificate_table(const struct finding *f, const struct plan_experiment *entry,
                                       struct conclusion *conclusion, struct error *err) {
  const struct section *keys = entry->keys;
  struct table *rows = conclusion_add_table(conclusion, err);
  if (!rows ||
      table_title(rows, err,
                  "%s: longest position within %g of the logits' spread, drift / fidelity, one stage rounded",
                  entry->label, section_get(keys, "tolerance")->real) ||
      table_column(rows, "scheme", "scheme", false, false, err) ||
      table_column(rows, "stage", "stage", false, false, err)) {
    return NULL;
  }
  for (size_t dtype = 0; dtype < f->n_dtypes; dtype++) {
    char name[NAME];
    word_at(f->dtype_names, dtype, name);
    if (table_column(rows, name, name, true, false, err)) {
      return NULL;
    }
  }
  if (table_column(rows, "follows", "what follows (errors in units of the spread, rms)", false, true, err) ||
      table_note(rows, err,
                 "drift: against shift 0 of the same arithmetic; fidelity: against the float64 score. all: at every "
                 "position measured; dtype: limited by dtype at every position alike; none: from the first position "
                 "on") ||
      table_note(rows, err, "%lld pairs of Gaussian queries and keys, distances 0 to %lld; tensors drift_rms ...",
                 (long long)section_get(keys, "samples")->integer,
                 (long long)section_get(keys, "distances")->integer - 1)) {
    return NULL;
  }
  return rows;
}

/* How schemes were run, by their labels. */
struct ways {
  struct text of_input, as_it_is;
};

static void add_label(struct text *labels, const char *label) {
  text_printf(labels, "%s%s", labels->length ? ", " : "", label);
}

static void collect_way(const struct finding *f, const struct plan_scheme *scheme, struct ways *ways) {
  const struct attribute *way = attributes_find(&f->record->attributes, "certificate");
  if (way && strstr(way->text, "without content")) {
    add_label(&ways->of_input, scheme->label);
  }
  if (scheme->info->sites && way && strstr(way->text, "as it is")) {
    add_label(&ways->as_it_is, scheme->label);
  }
}

static int note_labels(struct text *labels, const char *note, struct table *rows, struct error *err) {
  bool any = labels->length > 0;
  char *text = text_take(labels, err);
  int status = text ? 0 : (int)err->code;
  if (any && text) {
    status = table_note(rows, err, "%s: %s", text, note);
  }
  free(text);
  return status;
}

static int note_ways(struct ways *ways, struct table *rows, struct error *err) {
  int input =
      note_labels(&ways->of_input, "of PE(m) . PE(n), the part of the score that content has no share in", rows, err);
  int as_it_is = note_labels(&ways->as_it_is,
                             "run as it is, being more than inv_freq and pairs; only what enters and "
                             "leaves it is rounded",
                             rows, err);
  return input ? input : as_it_is;
}

/* ---- comparisons ---- */

static size_t find_word(const char *words, const char *word, size_t count) {
  char name[NAME];
  for (size_t i = 0; i < count; i++) {
    word_at(words, i, name);
    if (!strcmp(name, word)) {
      return i;
    }
  }
  return count;
}

static bool has_certificate(const struct record *record) {
  return record_has_numbers(record) && record_find(record, "drift_outcome");
}

/* One variable of comparison_drift_<dtype> and of comparison_longest_position_<dtype>. */
static int compare_scheme(const struct finding *f, const struct plan_scheme *scheme, size_t dtype, size_t stage,
                          struct record *drift, struct record *longest, struct error *err) {
  struct axis_spec shift = axis_spec_of(f->shift), stages = axis_spec_of(f->stage);
  double *values = memory_new(f->n_shifts + f->n_stages, sizeof *values, "comparison", err);
  int status = values ? 0 : (int)err->code;
  for (size_t i = 0; values && i < f->n_shifts; i++) {
    bool known = stage < f->n_stages && f->spread > 0;
    values[i] = known ? f->drift[(stage * f->n_dtypes + dtype) * f->n_shifts + i] / f->spread : NAN;
  }
  for (size_t i = 0; values && i < f->n_stages; i++) {
    values[f->n_shifts + i] = f->longest[0][i * f->n_dtypes + dtype];
  }
  if (!status && drift) {
    status = comparison_add(drift, scheme, f->record, &shift, values, "drift / spread", "1", err);
  }
  status = status ? status
                  : comparison_add(longest, scheme, f->record, &stages, values + f->n_shifts, "longest position",
                                   "tokens", err);
  struct tensor *tensor = status ? NULL : record_find(longest, scheme->label);
  status = status ? status : attributes_set_text(&tensor->attributes, "stage_names", f->stage_names, err);
  free(values);
  return status;
}

static int compare_dtype(const struct plan *plan, const struct plan_experiment *entry,
                         const struct record *const *records, const struct finding *first, size_t dtype,
                         struct conclusion *conclusion, struct error *err) {
  char name[NAME], drift_name[64], longest_name[64], title[160];
  size_t stage = find_word(first->stage_names, "position", first->n_stages);
  word_at(first->dtype_names, dtype, name);
  snprintf(drift_name, sizeof drift_name, "drift_%s", name);
  snprintf(longest_name, sizeof longest_name, "longest_position_%s", name);
  snprintf(title, sizeof title, "Drift of the score with positions in %s", name);
  if (stage < first->n_stages && !conclusion_add_comparison(conclusion, entry, drift_name, title, err)) {
    return err->code;
  }
  snprintf(title, sizeof title, "Longest position without drift, one stage in %s", name);
  struct record *longest = conclusion_add_comparison(conclusion, entry, longest_name, title, err);
  if (!longest) {
    return err->code;
  }
  struct record *drift = stage < first->n_stages ? longest - 1 : NULL;
  for (size_t s = 0; s < plan->n_schemes; s++) {
    struct finding f;
    if (!has_certificate(records[s])) {
      continue;
    }
    int status = read_finding(records[s], &f, err);
    status = status ? status : compare_scheme(&f, &plan->schemes[s], dtype, stage, drift, longest, err);
    finding_free(&f);
    if (status) {
      return status;
    }
  }
  return 0;
}

static int conclude_stages(const struct plan *plan, const struct plan_experiment *entry,
                           const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  struct table *rows = NULL;
  struct ways ways = {0};
  size_t n_dtypes = 0, first = plan->n_schemes;
  double tolerance = section_get(entry->keys, "tolerance")->real;
  int status = 0;
  for (size_t s = 0; !status && s < plan->n_schemes; s++) {
    struct finding f;
    if (!has_certificate(records[s])) {
      continue;
    }
    status = read_finding(records[s], &f, err);
    if (!status && !rows) {
      first = s;
      n_dtypes = f.n_dtypes;
      rows = certificate_table(&f, entry, conclusion, err);
      status = rows ? 0 : (int)err->code;
    }
    status = status ? status : add_rows(&f, &plan->schemes[s], tolerance, rows, err);
    if (!status) {
      collect_way(&f, &plan->schemes[s], &ways);
    }
    finding_free(&f);
  }
  int noted = rows ? note_ways(&ways, rows, err) : 0;
  status = status ? status : noted;
  for (size_t dtype = 0; !status && dtype < n_dtypes; dtype++) {
    struct finding f;
    status = read_finding(records[first], &f, err);
    status = status ? status : compare_dtype(plan, entry, records, &f, dtype, conclusion, err);
    finding_free(&f);
  }
  return status;
}

/* ---- the linear map ---- */

static int add_map_row(const struct plan_scheme *scheme, const struct record *record, struct table *rows,
                       struct error *err) {
  static const char *const names[] = {"shift_map_residual", "shift_map_bound", "shift_map_rotation_distance",
                                      "shift_map_orthogonality"};
  double most[4] = {NAN, NAN, NAN, NAN};
  bool within = true;
  int status = table_text(rows, err, "%s", scheme->label);
  double *all[4] = {0};
  size_t count = 0;
  for (size_t i = 0; !status && i < 4; i++) {
    all[i] = measure(record, names[i], &count, err);
    status = all[i] ? 0 : (int)err->code;
    for (size_t j = 0; all[i] && j < count; j++) {
      most[i] = fmax(most[i], all[i][j]);
      within = within && (i != 1 || !(all[0][j] > all[1][j]));
    }
    status = status ? status : table_number(rows, most[i], err);
  }
  for (size_t i = 0; i < 4; i++) {
    free(all[i]);
  }
  return status ? status
                : table_text(rows, err, "%s",
                             isnan(most[0]) ? "undefined at every shift"
                             : within       ? "a shift is linear: one matrix per shift, the same at every position"
                                            : "no one matrix per shift");
}

static int conclude_map(const struct plan *plan, const struct plan_experiment *entry,
                        const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  struct table *rows = NULL;
  for (size_t s = 0; s < plan->n_schemes; s++) {
    if (!record_has_numbers(records[s]) || !record_find(records[s], "shift_map_residual")) {
      continue;
    }
    if (!rows) {
      rows = conclusion_add_table(conclusion, err);
      if (!rows || table_title(rows, err, "%s: PE(p + k) = M_k PE(p), over all shifts k", entry->label) ||
          table_column(rows, "scheme", "scheme", false, false, err) ||
          table_column(rows, "residual", "largest residual", true, false, err) ||
          table_column(rows, "bound", "rounding bound", true, false, err) ||
          table_column(rows, "rotation", "|M_k - rotation|", true, false, err) ||
          table_column(rows, "orthogonality", "|M_k' M_k - I|", true, false, err) ||
          table_column(rows, "follows", "what follows", false, true, err)) {
        return err->code;
      }
    }
    int status = add_map_row(&plan->schemes[s], records[s], rows, err);
    if (status) {
      return status;
    }
  }
  return 0;
}

int conclude_certificate(const struct plan *plan, const struct plan_experiment *entry,
                         const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  int status = conclude_map(plan, entry, records, conclusion, err);
  return status ? status : conclude_stages(plan, entry, records, conclusion, err);
}
