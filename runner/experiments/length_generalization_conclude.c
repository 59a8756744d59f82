/* What follows from the trained models: absolute losses and changes against L in two tables that are never merged,
 * verdicts for schemes that learned, pairs of schemes over the same seeds. */
#include "experiments/length_generalization.h"

#include "base/memory.h"
#include "base/text.h"
#include "experiments/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CONFIDENCE = 0.95;
static const double COMPETENT_ACCURACY = 0.9;

/* The measures of all schemes of the plan that have numbers. */
struct entry {
  const struct plan_scheme *scheme;
  const struct record *record;
  const double *loss;     /* [seeds][lengths] */
  const double *accuracy; /* [seeds][lengths] of a task, or NULL */
  bool competent;
};

struct field {
  struct entry *entries;
  size_t n, seeds, n_lengths, at; /* at: index of L */
  const struct axis *length;
  double L, margin, smallest; /* margin: of learned; smallest: change that counts */
  bool is_task;
};

static const double *data_of(const struct record *record, const char *name) {
  const struct tensor *tensor = record_find(record, name);
  return tensor ? tensor->data : NULL;
}

/* Values of one length over the seeds; of - what there is at L where `change`. */
static void over_seeds(const struct field *f, const double *values, size_t length, bool change, double *out) {
  for (size_t seed = 0; seed < f->seeds; seed++) {
    const double *row = values + seed * f->n_lengths;
    out[seed] = row[length] - (change ? row[f->at] : 0);
  }
}

static double mean_at(const struct field *f, const double *values, size_t length) {
  double sum = 0;
  for (size_t seed = 0; seed < f->seeds; seed++) {
    sum += values[seed * f->n_lengths + length] / (double)f->seeds;
  }
  return sum;
}

static int gather(const struct plan *plan, const struct plan_experiment *entry, const struct record *const *records,
                  struct field *f, struct error *err) {
  *f = (struct field){.margin = section_get(entry->keys, "margin")->real,
                      .smallest = section_get(entry->keys, "smallest_change")->real};
  f->entries = memory_new(plan->n_schemes, sizeof *f->entries, "schemes", err);
  double best = INFINITY;
  for (size_t s = 0; f->entries && s < plan->n_schemes; s++) {
    const struct tensor *loss = record_has_numbers(records[s]) ? record_find(records[s], "loss") : NULL;
    const struct attribute *L = loss ? attributes_find(&records[s]->attributes, "train_length") : NULL;
    if (!L) {
      continue;
    }
    f->seeds = loss->axis[0].length;
    f->length = &loss->axis[1];
    f->n_lengths = f->length->length;
    f->L = (double)L->integer;
    for (f->at = 0; f->length->values[f->at] != f->L;) {
      f->at++;
    }
    struct entry *e = &f->entries[f->n++];
    *e = (struct entry){&plan->schemes[s], records[s], loss->data, data_of(records[s], "accuracy"), false};
    f->is_task = e->accuracy != NULL;
    best = fmin(best, mean_at(f, e->loss, f->at));
  }
  for (size_t i = 0; i < f->n; i++) {
    struct entry *e = &f->entries[i];
    e->competent = f->is_task ? mean_at(f, e->accuracy, f->at) >= COMPETENT_ACCURACY
                              : mean_at(f, e->loss, f->at) <= best + f->margin;
  }
  return f->entries ? 0 : ERROR_MEMORY;
}

/* ---- comparison groups ---- */

/* The labels of the schemes that learned at L, for those who read the file. */
static int name_learned(const struct field *f, struct attributes *attributes, struct error *err) {
  struct text text = {0};
  for (size_t i = 0; i < f->n; i++) {
    if (f->entries[i].competent) {
      text_printf(&text, "%s%s", text.length ? " " : "", f->entries[i].scheme->label);
    }
  }
  char *labels = text_take(&text, err);
  int status = labels ? attributes_set_text(attributes, "learned", labels, err) : (int)err->code;
  free(labels);
  return status;
}

static int add_group(const struct field *f, const char *tensor, const char *measure_name, const char *title,
                     const char *units, bool change, const struct plan_experiment *entry, struct conclusion *conclusion,
                     struct error *err) {
  struct record *group = conclusion_add_comparison(conclusion, entry, measure_name, title, err);
  double *values = group ? memory_new(f->n_lengths, sizeof *values, title, err) : NULL;
  int status = values ? 0 : ERROR_MEMORY;
  struct axis_spec axis = {.name = "length",
                           .length = f->n_lengths,
                           .values = f->length->values,
                           .log_values = true,
                           .long_name = "context length",
                           .units = "tokens"};
  for (size_t i = 0; !status && i < f->n; i++) {
    const double *data = data_of(f->entries[i].record, tensor);
    for (size_t t = 0; data && t < f->n_lengths; t++) {
      values[t] = mean_at(f, data, t) - (change ? mean_at(f, data, f->at) : 0);
    }
    status = comparison_add(group, f->entries[i].scheme, f->entries[i].record, &axis, data ? values : NULL, title,
                            units, err);
    struct tensor *added = status ? NULL : record_find(group, f->entries[i].scheme->label);
    status = added ? attributes_set_int(&added->attributes, "learned_at_L", f->entries[i].competent, err) : status;
  }
  status = status ? status : attributes_set_real(&group->attributes, "train_length", f->L, err);
  status = status ? status : attributes_set_real(&group->attributes, "margin", f->margin, err);
  status = status ? status : attributes_set_real(&group->attributes, "smallest_change", f->smallest, err);
  status = status ? status : name_learned(f, &group->attributes, err);
  free(values);
  return status;
}

static int add_groups(const struct field *f, const struct plan_experiment *entry, struct conclusion *conclusion,
                      struct error *err) {
  int status = f->is_task ? add_group(f, "accuracy", NULL, "accuracy by length", "1", false, entry, conclusion, err)
                          : add_group(f, "loss", NULL, "loss on the same targets by context length", "nat", false,
                                      entry, conclusion, err);
  status = status ? status
                  : add_group(f, "loss", "change", "change of the loss against L by length", "nat", true, entry,
                              conclusion, err);
  if (f->is_task) {
    return status ? status : add_group(f, "loss", "loss", "loss by length", "nat", false, entry, conclusion, err);
  }
  status = status ? status
                  : add_group(f, "loss_windows", "windows", "loss over windows without overlap by length", "nat", false,
                              entry, conclusion, err);
  return status ? status
                : add_group(f, "loss_sliding", "sliding", "loss of sliding windows by length", "nat", false, entry,
                            conclusion, err);
}

/* ---- tables ---- */

static int length_columns(const struct field *f, struct table *table, struct error *err) {
  int status = table_column(table, "scheme", "scheme", false, false, err);
  for (size_t t = 0; !status && t < f->n_lengths; t++) {
    char name[32], heading[32];
    snprintf(name, sizeof name, "at_%.0f", f->length->values[t]);
    snprintf(heading, sizeof heading, "%.0f%s", f->length->values[t], t == f->at ? " (L)" : "");
    status = table_column(table, name, heading, true, false, err);
  }
  return status;
}

/* One number a length. */
static int length_row(const struct field *f, struct table *table, const struct entry *e, const double *values,
                      bool change, struct error *err) {
  int status = table_text(table, err, "%s", e->scheme->label);
  for (size_t t = 0; !status && t < f->n_lengths; t++) {
    double value = values ? mean_at(f, values, t) - (change ? mean_at(f, values, f->at) : 0) : NAN;
    status = isnan(value) ? table_number(table, value, err)
                          : table_number_as(table, value, err, change ? "%+.3f" : "%.3f", value);
  }
  return status;
}

/* What becomes of a scheme's loss beyond L, by the t intervals of the change against L over the seeds. */
struct course_beyond {
  double degrades, by; /* first length from which the whole interval lies above the smallest change; the change there */
  double undecided;    /* first length before that where it holds the smallest change */
  double undefined;    /* first length without a value */
  double holds;        /* last length before those at which the whole interval lies below the smallest change, from L */
};

static int look_beyond(const struct field *f, const struct entry *e, struct course_beyond *out, struct error *err) {
  double *change = memory_new(f->seeds, sizeof *change, "changes", err);
  if (!change) {
    return ERROR_MEMORY;
  }
  *out = (struct course_beyond){NAN, NAN, NAN, NAN, f->L};
  for (size_t t = f->at + 1; t < f->n_lengths; t++) {
    over_seeds(f, e->loss, t, true, change);
    struct interval interval = student_interval(change, f->seeds, CONFIDENCE);
    double length = f->length->values[t];
    if (isnan(interval.mean)) {
      out->undefined = isnan(out->undefined) ? length : out->undefined;
    } else if (isnan(out->degrades) && interval.mean - interval.half > f->smallest) {
      out->degrades = length;
      out->by = interval.mean;
    } else if (isnan(out->degrades) && !(interval.mean + interval.half <= f->smallest)) {
      out->undecided = isnan(out->undecided) ? length : out->undecided;
    } else if (isnan(out->degrades) && isnan(out->undecided)) {
      out->holds = length;
    }
  }
  free(change);
  return 0;
}

/* The verdict in words. */
static int word_verdict(const struct field *f, const struct entry *e, char *out, size_t size, struct error *err) {
  struct course_beyond c;
  if (look_beyond(f, e, &c, err)) {
    return err->code;
  }
  bool one = f->seeds < 2; /* nothing to take an interval of */
  int used = !e->competent ? snprintf(out, size, "not learned at L: no verdict beyond it")
             : one         ? snprintf(out, size, "no verdict from one seed")
             : !isnan(c.degrades)
                 ? snprintf(out, size, "degrades from %.0f (%+.3f nat, more than %.3g)", c.degrades, c.by, f->smallest)
             : !isnan(c.undecided) ? snprintf(out, size, "not decided from %.0f by %zu seeds (%.3g nat more or less)",
                                              c.undecided, f->seeds, f->smallest)
             : c.holds > f->L      ? snprintf(out, size, "holds to %.0f (within %.3g nat)", c.holds, f->smallest)
                                   : snprintf(out, size, "nothing measured beyond L");
  if (!isnan(c.undefined) && used > 0 && (size_t)used < size) {
    snprintf(out + used, size - (size_t)used, "; undefined from %.0f", c.undefined);
  }
  return 0;
}

static int add_loss_tables(const struct field *f, const struct plan_experiment *entry, struct conclusion *conclusion,
                           struct error *err) {
  const char *what = f->is_task ? "loss of the answer" : "loss on the same targets";
  struct table *table = conclusion_add_table(conclusion, err);
  int status =
      table ? table_title(table, err, "%s: %s by context length, nats per token", entry->label, what) : (int)err->code;
  status = status ? status : length_columns(f, table, err);
  for (size_t i = 0; !status && i < f->n; i++) {
    status = length_row(f, table, &f->entries[i], f->entries[i].loss, false, err);
  }
  status = status ? status
                  : table_note(table, err, "Mean of %zu seed%s; 1 nat is %.3f bits.", f->seeds, f->seeds > 1 ? "s" : "",
                               1 / log(2.0));
  if (!status && f->seeds < GENERALIZATION_RANKED_SEEDS) {
    status = table_note(table, err, "%zu seed%s: pairs of schemes are judged from %d on.", f->seeds,
                        f->seeds > 1 ? "s" : "", GENERALIZATION_RANKED_SEEDS);
  }
  if (status) {
    return status;
  }
  table = conclusion_add_table(conclusion, err);
  status =
      table ? table_title(table, err, "%s: change of that loss against L = %.0f", entry->label, f->L) : (int)err->code;
  status = status ? status : length_columns(f, table, err);
  status = status ? status : table_column(table, "learned_at_L", "learned at L", false, false, err);
  status = status ? status : table_column(table, "follows", "what follows", false, true, err);
  for (size_t i = 0; !status && i < f->n; i++) {
    char text[160];
    status = word_verdict(f, &f->entries[i], text, sizeof text, err);
    status = status ? status : length_row(f, table, &f->entries[i], f->entries[i].loss, true, err);
    status = status ? status : table_text(table, err, "%s", f->entries[i].competent ? "yes" : "no");
    status = status ? status : table_text(table, err, "%s", text);
  }
  if (!status && f->is_task) {
    status = table_note(table, err, "Learned: accuracy at L of at least %.2g.", COMPETENT_ACCURACY);
  } else if (!status) {
    status = table_note(table, err, "Learned: loss at L within %.3g nats of the best.", f->margin);
  }
  return status ? status
                : table_note(table, err,
                             "Degrades: the change's whole %.0f %% t interval over the seeds lies above %.3g nats "
                             "(smallest_change); holds: it lies below.",
                             100 * CONFIDENCE, f->smallest);
}

static int add_measure_table(const struct field *f, const char *tensor, const char *title,
                             const struct plan_experiment *entry, struct conclusion *conclusion, struct error *err) {
  struct table *table = conclusion_add_table(conclusion, err);
  int status = table ? table_title(table, err, "%s: %s", entry->label, title) : (int)err->code;
  status = status ? status : length_columns(f, table, err);
  for (size_t i = 0; !status && i < f->n; i++) {
    status = length_row(f, table, &f->entries[i], data_of(f->entries[i].record, tensor), false, err);
  }
  return status;
}

static int number_attribute(struct table *table, const struct record *record, const char *name, struct error *err) {
  const struct attribute *attribute = attributes_find(&record->attributes, name);
  double value = !attribute ? NAN : attribute->kind == ATTRIBUTE_INT ? (double)attribute->integer : attribute->real;
  return table_number(table, value, err);
}

/* What the training took, and how each learning rate did. */
static int add_cost_table(const struct field *f, const struct plan_experiment *entry, struct conclusion *conclusion,
                          struct error *err) {
  struct table *table = conclusion_add_table(conclusion, err);
  int status = table ? table_title(table, err, "%s: what was trained", entry->label) : (int)err->code;
  status = status ? status : table_column(table, "scheme", "scheme", false, false, err);
  status = status ? status : table_column(table, "parameters", "parameters", true, false, err);
  status = status ? status : table_column(table, "tokens_seen", "tokens seen", true, false, err);
  status = status ? status : table_column(table, "operations", "operations", true, false, err);
  status = status ? status : table_column(table, "learning_rate", "learning rate", true, false, err);
  status = status ? status : table_column(table, "selection", "selection loss at each rate", false, false, err);
  status = status ? status : table_column(table, "warning", "never trained", false, true, err);
  for (size_t i = 0; !status && i < f->n; i++) {
    const struct record *record = f->entries[i].record;
    const struct attribute *rates = attributes_find(&record->attributes, "learning_rates");
    const struct attribute *losses = attributes_find(&record->attributes, "selection_losses");
    const struct attribute *warning = attributes_find(&record->attributes, "warning");
    char text[256] = "";
    for (size_t r = 0, used = 0; rates && losses && r < rates->count && used < sizeof text; r++) {
      int n = snprintf(text + used, sizeof text - used, "%s%g: %.3f", r ? ", " : "", rates->list[r], losses->list[r]);
      used += n > 0 ? (size_t)n : 0;
    }
    status = table_text(table, err, "%s", f->entries[i].scheme->label);
    status = status ? status : number_attribute(table, record, "parameters", err);
    status = status ? status : number_attribute(table, record, "tokens_seen", err);
    status = status ? status : number_attribute(table, record, "operations", err);
    status = status ? status : number_attribute(table, record, "learning_rate", err);
    status = status ? status : table_text(table, err, "%s", text);
    status = status ? status : table_text(table, err, "%s", warning ? warning->text : "");
  }
  size_t runs = section_get(entry->keys, "learning_rates")->count + f->seeds - 1;
  return status ? status
                : table_note(table, err,
                             "Tokens and operations are those of one training; %zu were made per scheme: each learning "
                             "rate with the first seed, the best with the other seeds.",
                             runs);
}

/* ---- pairs ---- */

struct pair {
  const struct entry *a, *b;
  struct interval difference; /* loss of a - loss of b */
};

static const struct entry *entry_of(const struct field *f, const struct plan_scheme *scheme) {
  for (size_t i = 0; i < f->n; i++) {
    if (f->entries[i].scheme == scheme) {
      return &f->entries[i];
    }
  }
  return NULL;
}

/* The pairs asked for that have numbers; of those that did not learn only where they are named. */
static size_t list_pairs(const struct plan *plan, const struct field *f, const struct key_value *asked,
                         struct pair *pairs) {
  size_t count = 0;
  for (size_t i = 0; !asked->is_auto && i < asked->count; i++) {
    const struct plan_scheme *first, *second;
    bool named = generalization_pair(plan, asked->texts[i], &first, &second);
    const struct entry *a = named ? entry_of(f, first) : NULL, *b = a ? entry_of(f, second) : NULL;
    if (b) {
      pairs[count++] = (struct pair){.a = a, .b = b};
    }
  }
  for (size_t i = 0; asked->is_auto && i < f->n; i++) {
    for (size_t j = i + 1; j < f->n; j++) {
      if (f->entries[i].competent && f->entries[j].competent) {
        pairs[count++] = (struct pair){.a = &f->entries[i], .b = &f->entries[j]};
      }
    }
  }
  return count;
}

/* p of a paired t test at length index t; NAN where one is undefined there. */
static double judge(const struct field *f, struct pair *pair, size_t t, double *differences) {
  for (size_t seed = 0; seed < f->seeds; seed++) {
    differences[seed] = pair->a->loss[seed * f->n_lengths + t] - pair->b->loss[seed * f->n_lengths + t];
  }
  pair->difference = student_interval(differences, f->seeds, CONFIDENCE);
  double freedom = (double)f->seeds - 1;
  double error = pair->difference.half / student_quantile(1 - CONFIDENCE, freedom);
  return error > 0 ? student_two_sided(pair->difference.mean / error, freedom) : pair->difference.mean == 0 ? 1 : NAN;
}

/* No verdict on what has not learned; a winner needs a difference that counts. */
static int add_pair_verdict(const struct field *f, const struct pair *pair, size_t t, double adjusted,
                            struct table *table, struct error *err) {
  const char *a = pair->a->scheme->label, *b = pair->b->scheme->label;
  if (!pair->a->competent || !pair->b->competent) {
    bool both = !pair->a->competent && !pair->b->competent;
    return table_text(table, err, "not learned at L: %s%s%s: no verdict", pair->a->competent ? b : a, both ? ", " : "",
                      both ? b : "");
  }
  if (isnan(pair->difference.mean)) {
    return table_text(table, err, "no verdict: %s is undefined there", isnan(mean_at(f, pair->a->loss, t)) ? a : b);
  }
  if (!(adjusted <= 1 - CONFIDENCE)) {
    return table_text(table, err, "no winner");
  }
  return fabs(pair->difference.mean) <= f->smallest
             ? table_text(table, err, "no winner: they differ by %.3g nat or less", f->smallest)
             : table_text(table, err, "%s is better", pair->difference.mean < 0 ? a : b);
}

static int add_pair_rows(const struct field *f, struct pair *pairs, size_t n, size_t t, struct table *table,
                         struct error *err) {
  double *p = memory_new(n + f->seeds, 2 * sizeof *p, "pairs", err);
  if (!p) {
    return ERROR_MEMORY;
  }
  double *adjusted = p + n, *differences = p + 2 * n;
  for (size_t i = 0; i < n; i++) {
    p[i] = judge(f, &pairs[i], t, differences);
  }
  holm_adjust(p, n, adjusted);
  int status = 0;
  for (size_t i = 0; !status && i < n; i++) {
    const struct interval *d = &pairs[i].difference;
    const char *a = pairs[i].a->scheme->label, *b = pairs[i].b->scheme->label;
    status = table_text(table, err, "%s / %s", a, b);
    bool known = !isnan(d->mean);
    status = status  ? status
             : known ? table_number_as(table, d->mean, err, "%+.3f", d->mean)
                     : table_number(table, NAN, err);
    status = status  ? status
             : known ? table_number_as(table, d->half, err, "%.3f", d->half)
                     : table_number(table, NAN, err);
    status = status ? status : table_number(table, adjusted[i], err);
    status = status ? status : add_pair_verdict(f, &pairs[i], t, adjusted[i], table, err);
  }
  free(p);
  return status;
}

static int add_pair_table(const struct plan *plan, const struct field *f, const struct plan_experiment *entry,
                          struct conclusion *conclusion, struct error *err) {
  const struct key_value *asked = section_get(entry->keys, "pairs");
  size_t t = f->at;
  while (t + 1 < f->n_lengths && f->length->values[t] < 2 * f->L) {
    t++;
  }
  struct table *table = conclusion_add_table(conclusion, err);
  int status = table
                   ? table_title(table, err, "%s: pairs of schemes at length %.0f, loss of the first minus the second",
                                 entry->label, f->length->values[t])
                   : (int)err->code;
  status = status ? status : table_column(table, "pair", "pair", false, false, err);
  status = status ? status : table_column(table, "difference", "difference", true, false, err);
  status = status ? status : table_column(table, "interval", "+-", true, false, err);
  status = status ? status : table_column(table, "p", "p (Holm)", true, false, err);
  status = status ? status : table_column(table, "follows", "what follows", false, true, err);
  struct pair *pairs = status ? NULL : memory_new(f->n * f->n + asked->count, sizeof *pairs, "pairs", err);
  status = status ? status : pairs ? 0 : ERROR_MEMORY;
  if (!status) {
    size_t n = list_pairs(plan, f, asked, pairs);
    status = n ? add_pair_rows(f, pairs, n, t, table, err) : 0;
    status = status ? status
                    : table_note(table, err,
                                 "Differences by seed (same initial weights and batches), %.0f %% t intervals; "
                                 "p after Holm over the pairs that have one; a winner is ahead by more than %.3g nats.",
                                 100 * CONFIDENCE, f->smallest);
  }
  free(pairs);
  return status;
}

/* ---- beside the literature ---- */

/* A published order of schemes, and our measure that is set beside it. */
struct source {
  const char *name, *unit, *note;
  bool higher_is_better;
  struct {
    const char *scheme;
    double value;
  } published[5];
};

static const struct source press = {
    "Press et al. 2022",
    "perplexity",
    "Press et al. 2022, table 2: WikiText-103, trained at 512, windows without overlap, at about 2 L: sinusoidal 43.5, "
    "rotary 21.4, T5 18.8, ALiBi 18.7. A different text, model and size: only orders can be compared.",
    false,
    {{"sinusoidal", 43.54}, {"rope", 21.37}, {"t5", 18.79}, {"alibi", 18.73}}};

static const struct source kazemnejad = {
    "Kazemnejad et al. 2023",
    "MRR",
    "Kazemnejad et al. 2023, mean reciprocal rank over tasks, trained at up to 20, tried at up to 40: none 0.69, T5 "
    "0.55, ALiBi 0.50, rotary 0.33, absolute 0.22. Tasks of several kinds and a larger model: only orders can be "
    "compared.",
    true,
    {{"none", 0.69}, {"t5", 0.55}, {"alibi", 0.50}, {"rope", 0.33}, {"learned", 0.22}}};

/* NAN, too, for what nobody published: positions that are mapped, layers of several schemes. */
static double published_of(const struct source *source, const struct entry *e) {
  if (e->scheme->other_every || e->scheme->map.kind != POSITION_AS_IS) {
    return NAN;
  }
  for (size_t i = 0; i < sizeof source->published / sizeof *source->published; i++) {
    if (source->published[i].scheme && !strcmp(e->scheme->info->id, source->published[i].scheme)) {
      return source->published[i].value;
    }
  }
  return NAN;
}

/* How many of the n are better than i; lower is better, or higher. */
static size_t place_of(const double *values, size_t n, size_t i, bool higher) {
  size_t place = 1;
  for (size_t j = 0; j < n; j++) {
    place += higher ? values[j] > values[i] : values[j] < values[i];
  }
  return place;
}

static int literature_rows(const struct field *f, const struct source *source, const char *measure_name, bool higher,
                           size_t t, struct table *table, struct error *err) {
  double *ours = memory_new(f->n, 2 * sizeof *ours, "places", err), *theirs = ours + f->n;
  const struct entry **listed = ours ? memory_new(f->n, sizeof *listed, "places", err) : NULL;
  int status = listed ? 0 : ERROR_MEMORY;
  size_t n = 0;
  for (size_t i = 0; !status && i < f->n; i++) {
    const double *values = data_of(f->entries[i].record, measure_name);
    double published = published_of(source, &f->entries[i]), own = values ? mean_at(f, values, t) : NAN;
    if (!isnan(published) && !isnan(own)) {
      listed[n] = &f->entries[i];
      ours[n] = own;
      theirs[n++] = published;
    }
  }
  for (size_t i = 0; !status && i < n; i++) {
    size_t own = place_of(ours, n, i, higher), their = place_of(theirs, n, i, source->higher_is_better);
    status = table_text(table, err, "%s", listed[i]->scheme->label);
    status = status ? status : table_number_as(table, ours[i], err, "%.3f", ours[i]);
    status = status ? status : table_number(table, (double)own, err);
    status = status ? status : table_number(table, theirs[i], err);
    status = status ? status : table_number(table, (double)their, err);
    status = status ? status
                    : table_text(table, err, "%s%s", own == their ? "agrees" : "differs",
                                 listed[i]->competent ? "" : " (not learned at L)");
  }
  free(listed);
  free(ours);
  return status;
}

/* Our order at 2 L beside one of the literature's. */
static int add_literature_table(const struct field *f, const struct source *source, const char *measure_name,
                                const char *heading, bool higher, const struct plan_experiment *entry,
                                struct conclusion *conclusion, struct error *err) {
  size_t t = f->at;
  while (t + 1 < f->n_lengths && f->length->values[t] < 2 * f->L) {
    t++;
  }
  struct table *table = conclusion_add_table(conclusion, err);
  int status = table ? table_title(table, err, "%s: our order at length %.0f beside that of %s", entry->label,
                                   f->length->values[t], source->name)
                     : (int)err->code;
  status = status ? status : table_column(table, "scheme", "scheme", false, false, err);
  status = status ? status : table_column(table, "ours", heading, true, false, err);
  status = status ? status : table_column(table, "place", "place", true, false, err);
  status = status ? status : table_column(table, "theirs", source->unit, true, false, err);
  status = status ? status : table_column(table, "their_place", "their place", true, false, err);
  status = status ? status : table_column(table, "order", "order", false, false, err);
  status = status ? status : literature_rows(f, source, measure_name, higher, t, table, err);
  return status ? status : table_note(table, err, "%s", source->note);
}

/* Texts: both; tasks: the one that had tasks, too. */
static int add_literature(const struct field *f, const struct plan_experiment *entry, struct conclusion *conclusion,
                          struct error *err) {
  if (f->is_task) {
    return add_literature_table(f, &kazemnejad, "accuracy", "accuracy", true, entry, conclusion, err);
  }
  int status = add_literature_table(f, &press, "loss_windows", "loss, windows", false, entry, conclusion, err);
  return status ? status
                : add_literature_table(f, &kazemnejad, "loss", "loss, same targets", false, entry, conclusion, err);
}

int generalization_conclude(const struct plan *plan, const struct plan_experiment *entry,
                            const struct record *const *records, struct conclusion *conclusion, struct error *err) {
  struct field f;
  int status = gather(plan, entry, records, &f, err);
  if (!status && f.n > 0) {
    status = add_groups(&f, entry, conclusion, err);
    status = status ? status : add_loss_tables(&f, entry, conclusion, err);
    if (!status && f.is_task) {
      status = add_measure_table(&f, "accuracy", "examples whose whole answer is right", entry, conclusion, err);
    } else if (!status) {
      status = add_measure_table(&f, "loss_windows", "loss over windows without overlap", entry, conclusion, err);
      status =
          status ? status : add_measure_table(&f, "loss_sliding", "loss of sliding windows", entry, conclusion, err);
    }
    if (!status && f.seeds >= GENERALIZATION_RANKED_SEEDS) {
      status = add_pair_table(plan, &f, entry, conclusion, err);
    }
    status = status ? status : add_literature(&f, entry, conclusion, err);
    status = status ? status : add_cost_table(&f, entry, conclusion, err);
  }
  free(f.entries);
  return status;
}
