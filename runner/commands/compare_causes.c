/* Why a tensor of someone else's differs: every known cause is tried, and those that explain it are told. */
#include "commands/compare_dump.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

struct causes {
  struct cause *items;
  size_t count, capacity;
  bool failed;
};

static struct cause *add(struct causes *causes, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A new cause with its name, for the caller to fill; NULL without memory. */
static struct cause *add(struct causes *causes, struct error *err, const char *format, ...) {
  struct cause *grown =
      memory_grow(causes->items, &causes->capacity, causes->count + 1, sizeof *causes->items, "causes", err);
  if (!grown) {
    causes->failed = true;
    return NULL;
  }
  causes->items = grown;
  struct cause *cause = &grown[causes->count++];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(cause->name, sizeof cause->name, format, arguments);
  va_end(arguments);
  return cause;
}

static void add_setting(struct causes *causes, const char *setting, const char *format, const char *word,
                        struct error *err) {
  struct cause *cause = add(causes, err, "%s%s", format, word);
  if (cause) {
    snprintf(cause->setting, sizeof cause->setting, "%s", setting);
  }
}

/* Every other word of every parameter that has words; layouts by the name people know them by. */
static void add_choices(const struct scheme_choice *choice, struct causes *causes, struct error *err) {
  const struct scheme_info *info = &choice->scheme->info;
  for (size_t i = 0; i < info->params.count; i++) {
    const struct key_spec *key = &info->params.keys[i];
    const struct key_value *value = &choice->params->values[i];
    char setting[96];
    for (size_t w = 0; key->type == KEY_CHOICE && key->choices[w]; w++) {
      if (!value->given || value->integer != (int64_t)w) {
        snprintf(setting, sizeof setting, "%s=%s", key->key, key->choices[w]);
        bool layout = !strcmp(key->key, "layout");
        add_setting(causes, setting, layout ? key->choices[w] : setting, layout ? " layout" : "", err);
      }
    }
    if (key->type == KEY_BOOL && value->given) {
      snprintf(setting, sizeof setting, "%s=%s", key->key, value->integer ? "false" : "true");
      add_setting(causes, setting, setting, "", err);
    }
  }
}

/* Parameters that the user set, left at their defaults. */
static void add_defaults(const struct scheme_choice *choice, struct causes *causes, struct error *err) {
  const struct scheme_info *info = &choice->scheme->info;
  for (size_t i = 0; i < info->params.count; i++) {
    const struct key_spec *key = &info->params.keys[i];
    const struct key_value *value = &choice->params->values[i];
    if (value->by_user && key->fallback && (key->type == KEY_INT || key->type == KEY_REAL)) {
      char setting[96];
      snprintf(setting, sizeof setting, "%s=%s", key->key, key->fallback);
      add_setting(causes, setting, setting, ", its default", err);
    }
  }
}

static void add_offsets(const struct dump *dump, struct causes *causes, struct error *err) {
  static const double offsets[] = {1, -1, 2, -2};
  /* Distances do not see an offset. */
  for (size_t i = 0; dump->kind != DUMP_BIAS && dump->kind != DUMP_INV_FREQ && i < 4; i++) {
    struct cause *cause = add(causes, err, "positions offset by %g", offsets[i]);
    if (cause) {
      cause->offset = offsets[i];
    }
  }
}

static void add_frequencies(struct causes *causes, struct error *err) {
  struct cause *cause = add(causes, err, "frequencies by head_dim instead of the rotary width");
  if (cause) {
    cause->frequencies = FREQUENCIES_BY_HEAD;
  }
  cause = add(causes, err, "pairs (i, i + head_dim/2) instead of (i, i + rotary width/2)");
  if (cause) {
    cause->pairs_by_head = true;
  }
  cause = add(causes, err, "frequencies and pairs by head_dim instead of the rotary width");
  if (cause) {
    cause->frequencies = FREQUENCIES_BY_HEAD;
    cause->pairs_by_head = true;
  }
  cause = add(causes, err, "frequencies without scaling");
  if (cause) {
    cause->frequencies = FREQUENCIES_UNSCALED;
  }
  cause = add(causes, err, "no scaling at all: plain frequencies, no attention factor");
  if (cause) {
    cause->frequencies = FREQUENCIES_UNSCALED;
    cause->factor_left_out = true;
  }
  cause = add(causes, err, "attention factor left out");
  if (cause) {
    cause->factor_left_out = true;
  }
  cause = add(causes, err, "attention factor applied twice");
  if (cause) {
    cause->factor_twice = true;
  }
  cause = add(causes, err, "turned the other way (sines negated)");
  if (cause) {
    cause->other_way = true;
  }
}

/* The channels of turned rows handed back in another order, of either layout. */
static void add_orders(const struct dump *dump, struct causes *causes, struct error *err) {
  static const char *const layouts[] = {"half", "interleaved"}, *const orders[] = {"de-interleaved", "interleaved"};
  for (size_t layout = 0; dump->kind == DUMP_ROTATED && layout < 2; layout++) {
    struct cause *cause = add(causes, err, "%s layout, channels handed back %s", layouts[layout], orders[!layout]);
    if (cause) {
      snprintf(cause->setting, sizeof cause->setting, "layout=%s", layouts[layout]);
      cause->order = layout ? ORDER_HALVES : ORDER_NEIGHBOURS;
    }
  }
}

static void add_biases(const struct dump *dump, struct causes *causes, struct error *err) {
  if (dump->kind != DUMP_BIAS) {
    return;
  }
  struct cause *cause = add(causes, err, "query and key swapped");
  if (cause) {
    cause->swapped = true;
  }
  cause = add(causes, err, "the other sign");
  if (cause) {
    cause->negated = true;
  }
  for (int format = FORMAT_BFLOAT16; format < N_NUMBER_FORMATS; format++) {
    cause = add(causes, err, "slopes in %s", number_format_names[format]);
    if (cause) {
      cause->slopes = (enum number_format)format;
    }
  }
}

static void add_formats(const struct ours *ours, struct causes *causes, struct error *err) {
  static const enum angle_stage stages[] = {STAGE_TABLE, STAGE_OUTPUT, STAGE_FREQUENCY, STAGE_POSITION, STAGE_ANGLE};
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    for (int format = FORMAT_BFLOAT16; format < N_NUMBER_FORMATS; format++) {
      if (ours->request->rounding.format[stages[i]] == FORMAT_FLOAT64) {
        struct cause *cause =
            add(causes, err, "%s in %s (--round %s=%s)", angle_stage_names[stages[i]], number_format_names[format],
                angle_stage_names[stages[i]], number_format_names[format]);
        if (cause) {
          cause->rounding.format[stages[i]] = (enum number_format)format;
        }
      }
    }
  }
}

/* ---- another base ---- */

/* Mean square that is left of a few slow rows with this base; INFINITY where there is no such variant. */
static double left_with_base(const struct ours *ours, const struct dump *probe, double base, double *values) {
  struct error ignored = {0};
  struct cause cause = {.name = "another base"};
  double left = 0;
  snprintf(cause.setting, sizeof cause.setting, "base=%.17g", base);
  if (dump_ours(ours, probe, &cause, values, &ignored)) {
    return INFINITY;
  }
  for (size_t i = 0; i < probe->rows * probe->columns; i++) {
    /* Frequencies span many powers of ten: each counts by its own size. */
    double off =
        probe->kind == DUMP_INV_FREQ && values[i] != 0 ? probe->data[i] / values[i] - 1 : probe->data[i] - values[i];
    left += off * off;
  }
  return left;
}

/* The base that leaves least: a scan over powers of ten from 1 to 1e9, then a golden-section search about its best. */
static double search_base(const struct ours *ours, const struct dump *probe, double *values) {
  enum { STEPS = 270, REFINEMENTS = 60 };
  static const double golden = 0.6180339887498949;
  double best = 0, least = INFINITY, step = 9.0 / STEPS;
  for (int i = 1; i <= STEPS; i++) {
    double left = left_with_base(ours, probe, pow(10, i * step), values);
    if (left < least) {
      least = left;
      best = i * step;
    }
  }
  double low = fmax(1e-3, best - step), high = best + step;
  for (int i = 0; isfinite(least) && i < REFINEMENTS; i++) {
    double a = high - golden * (high - low), b = low + golden * (high - low);
    bool left_side = left_with_base(ours, probe, pow(10, a), values) < left_with_base(ours, probe, pow(10, b), values);
    high = left_side ? b : high;
    low = left_side ? low : a;
  }
  return isfinite(least) ? pow(10, (low + high) / 2) : 0;
}

static int add_base(const struct ours *ours, const struct dump *dump, const struct scheme_choice *choice,
                    struct causes *causes, struct error *err) {
  bool has_base = false;
  for (size_t i = 0; i < choice->scheme->info.params.count; i++) {
    has_base = has_base || !strcmp(choice->scheme->info.params.keys[i].key, "base");
  }
  if (!has_base || dump->kind == DUMP_BIAS) {
    return 0;
  }
  struct dump probe;
  int status = dump_probe(dump, &probe, err);
  double *values = status ? NULL : memory_new(probe.rows * probe.columns + 1, sizeof *values, "rows", err);
  status = status ? status : values ? 0 : (int)err->code;
  double base = status || !probe.rows ? 0 : search_base(ours, &probe, values);
  if (base > 1) {
    /* As a person would have written it, where that is near: 500000, not 499999.3. */
    char setting[96], digits[32];
    snprintf(digits, sizeof digits, "%.3g", base);
    double round = strtod(digits, NULL);
    base = fabs(base / round - 1) < 1e-4 ? round : base;
    snprintf(setting, sizeof setting, "base=%.17g", base);
    snprintf(digits, sizeof digits, "%.7g", base);
    add_setting(causes, setting, "another base: ", digits, err);
  }
  free(values);
  if (!status) {
    dump_free(&probe);
  }
  return status;
}

/* ---- trying them ---- */

struct outcome {
  const struct cause *cause;
  struct match match;
};

static bool rounds(const struct ours *ours, const struct cause *cause) {
  for (size_t stage = 0; stage < N_ANGLE_STAGES; stage++) {
    if (cause->rounding.format[stage] || ours->request->rounding.format[stage]) {
      return true;
    }
  }
  return false;
}

static int by_difference(const void *a, const void *b) {
  const struct outcome *x = a, *y = b;
  return (x->match.largest > y->match.largest) - (x->match.largest < y->match.largest);
}

/* Biases that differ by a constant per query are the same to the softmax: a bias of the key alone. */
static bool constant_per_query(const struct dump *dump, const double *values) {
  if (dump->kind != DUMP_BIAS || dump->columns < 2) {
    return false;
  }
  for (size_t r = 0; r < dump->heads * dump->rows; r++) {
    const double *theirs = dump->data + r * dump->columns, *ours = values + r * dump->columns;
    double shift = theirs[0] - ours[0];
    for (size_t c = 1; c < dump->columns; c++) {
      double size = fabs(theirs[c]) + fabs(ours[c]) + fabs(shift);
      /* Keys ahead are under the causal mask: what stands there does not count. */
      bool ahead =
          dump->keys.values[c * dump->keys.axes] > dump->positions.values[r % dump->rows * dump->positions.axes];
      if (!ahead && fabs(theirs[c] - ours[c] - shift) > 1e-5 + 1e-6 * size) {
        return false;
      }
    }
  }
  return true;
}

static size_t try_all(const struct ours *ours, const struct dump *dump, const struct causes *causes, double *values,
                      struct outcome *outcomes, struct outcome *nearest) {
  size_t found = 0;
  nearest->match.largest = INFINITY;
  for (size_t i = 0; i < causes->count; i++) {
    struct error ignored = {0};
    const struct cause *cause = &causes->items[i];
    if (dump_ours(ours, dump, cause, values, &ignored)) {
      continue;
    }
    struct outcome outcome = {cause, dump_match(dump, values, rounds(ours, cause))};
    if (outcome.match.exact || outcome.match.close) {
      outcomes[found++] = outcome;
    } else if (outcome.match.largest < nearest->match.largest) {
      *nearest = outcome;
    }
  }
  qsort(outcomes, found, sizeof *outcomes, by_difference);
  return found;
}

static int cause_row(const char *name, double largest, struct table *table, struct error *err) {
  int status = table_text(table, err, "%s", name);
  return status ? status : table_number(table, largest, err);
}

static int show(const struct ours *ours, const struct outcome *outcomes, size_t found, const struct outcome *nearest,
                bool per_query, size_t tried, struct error *err) {
  struct table table = {0};
  int status = table_title(&table, err, "Looks like");
  status = status ? status : table_column(&table, "cause", "looks like", false, true, err);
  status = status ? status : table_column(&table, "largest_difference", "largest difference then", true, false, err);
  if (!status && per_query) {
    status =
        cause_row("a constant added for each query, which the softmax does not see (a bias of the key alone, under a "
                  "causal mask)",
                  NAN, &table, err);
  }
  for (size_t i = 0; !status && i < found; i++) {
    status = cause_row(outcomes[i].cause->name, outcomes[i].match.largest, &table, err);
  }
  if (!status && !found && !per_query) {
    status = cause_row("nothing that was tried", NAN, &table, err);
    if (!status && nearest->cause) {
      status = table_note(&table, err, "nearest: %s, which leaves %.3g", nearest->cause->name, nearest->match.largest);
    }
  }
  status = status ? status : table_note(&table, err, "%zu causes were tried, one at a time", tried);
  if (!status && (ours->request->style.format == TABLE_TERMINAL || ours->request->style.format == TABLE_MARKDOWN)) {
    putchar('\n');
  }
  status = status ? status : table_show(&table, &ours->request->style, stdout, err);
  table_free(&table);
  return status;
}

static int list_causes(const struct ours *ours, const struct dump *dump, struct causes *causes, struct error *err) {
  struct scheme_choice choice;
  int status = scheme_choose(ours->session, &ours->request->ours, &choice, err);
  if (!status) {
    add_choices(&choice, causes, err);
    add_defaults(&choice, causes, err);
    add_offsets(dump, causes, err);
    add_frequencies(causes, err);
    add_orders(dump, causes, err);
    add_biases(dump, causes, err);
    add_formats(ours, causes, err);
    status = add_base(ours, dump, &choice, causes, err);
  }
  scheme_choice_free(&choice);
  return status ? status : causes->failed ? (int)err->code : 0;
}

int dump_explain(const struct ours *ours, const struct dump *dump, size_t *found, struct error *err) {
  struct causes causes = {0};
  struct outcome nearest = {0}, *outcomes = NULL;
  double *values = memory_new_3d(dump->heads, dump->rows, dump->columns, sizeof *values, "values", err);
  int status = values ? list_causes(ours, dump, &causes, err) : (int)err->code;
  if (!status) {
    outcomes = memory_new(causes.count, sizeof *outcomes, "causes", err);
    status = outcomes ? 0 : (int)err->code;
  }
  if (!status) {
    struct cause as_it_is = {.name = "as it is"};
    struct error ignored = {0};
    bool per_query = !dump_ours(ours, dump, &as_it_is, values, &ignored) && constant_per_query(dump, values);
    *found = try_all(ours, dump, &causes, values, outcomes, &nearest);
    status = show(ours, outcomes, *found, &nearest, per_query, causes.count, err);
  }
  free(outcomes);
  free(values);
  free(causes.items);
  return status;
}
