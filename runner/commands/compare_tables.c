#include "commands/compare_pair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const double compare_rounding_share = 1e-6;

double difference_size(const float *a, const float *b, size_t count) {
  double size = 0;
  for (size_t i = 0; i < count; i++) {
    size = isfinite(a[i]) ? fmax(size, fabs(a[i])) : size;
    size = isfinite(b[i]) ? fmax(size, fabs(b[i])) : size;
  }
  return size;
}

/* Infinite where one of them alone is no number, or infinite. */
static double difference_between(float a, float b) {
  bool same = a == b || (isnan(a) && isnan(b));
  double off = same ? 0 : fabs((double)a - b);
  return isnan(off) ? INFINITY : off;
}

void difference_add(struct difference *d, const float *a, const float *b, const struct rows_part *part,
                    double allowed) {
  for (size_t r = 0; r < part->count; r++) {
    for (size_t h = 0; h < part->heads; h++) {
      for (size_t c = 0; c < part->columns; c++) {
        size_t here = (h * part->count + r) * part->columns + c;
        size_t at = (h * part->rows + part->first_row + r) * part->columns + c;
        double off = difference_between(a[here], b[here]);
        bool more = off > d->amount, first = off > allowed && !d->parts;
        d->identical = d->identical && off == 0;
        if (more) {
          d->amount = off;
          d->largest = at;
        }
        d->parts = d->parts || first;
        /* Element 0 stands where nothing differs. */
        if (first || (!d->parts && (more || at == 0))) {
          d->first = at;
          d->ours = a[here];
          d->theirs = b[here];
        }
      }
    }
  }
}

struct difference difference_of(const float *a, const float *b, size_t heads, size_t rows, size_t columns) {
  struct difference d = {.identical = true};
  struct rows_part part = {heads, rows, columns, 0, rows};
  difference_add(&d, a, b, &part, compare_rounding_share * difference_size(a, b, heads * rows * columns));
  return d;
}

static void note(struct finding *finding, const struct difference *d) {
  finding->identical = finding->identical && d->identical;
  finding->parts = finding->parts || d->parts;
}

/* A table, set off from the one before. */
static int show(struct pair *pair, const struct table *table, struct error *err) {
  enum table_format format = pair->request->style.format;
  if (pair->shown && (format == TABLE_TERMINAL || format == TABLE_MARKDOWN)) {
    putchar('\n');
  }
  pair->shown = true;
  return table_show(table, &pair->request->style, stdout, err);
}

static int derived_row(const pe_derived *a, const double *data_a, const double *data_b, struct table *table,
                       struct finding *finding, struct error *err) {
  size_t count = a->dim[0] * (a->rank == 2 ? a->dim[1] : 1), at = 0;
  double amount = 0, relative = 0;
  for (size_t i = 0; i < count; i++) {
    double off = fabs(data_a[i] - data_b[i]);
    if (off > amount) {
      amount = off;
      at = i;
    }
    double size = fmax(fabs(data_a[i]), fabs(data_b[i]));
    relative = size > 0 ? fmax(relative, off / size) : relative;
  }
  finding->identical = finding->identical && amount == 0;
  int status = table_text(table, err, "%s", a->name);
  status = status ? status : table_number(table, amount, err);
  status = status ? status : table_number(table, relative, err);
  status = status ? status : table_number(table, (double)at, err);
  status = status ? status : table_number_as(table, data_a[at], err, "%.9g", data_a[at]);
  return status ? status : table_number_as(table, data_b[at], err, "%.9g", data_b[at]);
}

static int derived_text_row(const char *name, const char *what, struct table *table, struct error *err) {
  int status = table_text(table, err, "%s", name);
  for (int i = 0; !status && i < 5; i++) {
    status = i == 3 || i == 4 ? table_text(table, err, "%s", what) : table_number(table, NAN, err);
  }
  return status;
}

/* Derived value `which` of side a beside that of b. */
static int compare_derived(struct pair *pair, size_t which, struct table *table, struct finding *finding,
                           struct error *err) {
  const struct side *a = &pair->sides[0], *b = &pair->sides[1];
  pe_derived ours, theirs;
  double *data_a, *data_b = NULL;
  int status = instance_derived(a->instance, a->seq_len, which, &ours, &data_a, err);
  if (status) {
    return status;
  }
  status = instance_derived_named(b->instance, b->seq_len, ours.name, &theirs, &data_b, err);
  if (!status && !data_b) {
    status = derived_text_row(ours.name, "only in the first", table, err);
  } else if (!status && (ours.dim[0] != theirs.dim[0] || ours.dim[1] != theirs.dim[1] || ours.rank != theirs.rank)) {
    finding->identical = false;
    status = derived_text_row(ours.name, "another shape", table, err);
  } else if (!status) {
    status = derived_row(&ours, data_a, data_b, table, finding, err);
  }
  free(data_a);
  free(data_b);
  return status;
}

/* Derived values that only the second has. */
static int lone_derived(struct pair *pair, struct table *table, struct error *err) {
  const struct side *a = &pair->sides[0], *b = &pair->sides[1];
  size_t count = instance_derived_count(b->instance, b->seq_len);
  int status = 0;
  for (size_t which = 0; !status && which < count; which++) {
    pe_derived theirs, ours;
    double *data_b = NULL, *data_a = NULL;
    status = instance_derived(b->instance, b->seq_len, which, &theirs, &data_b, err);
    status = status ? status : instance_derived_named(a->instance, a->seq_len, theirs.name, &ours, &data_a, err);
    if (!status && !data_a) {
      status = derived_text_row(theirs.name, "only in the second", table, err);
    }
    free(data_a);
    free(data_b);
  }
  return status;
}

int pair_show_derived(struct pair *pair, struct finding *finding, struct error *err) {
  const struct side *a = &pair->sides[0];
  size_t count = instance_derived_count(a->instance, a->seq_len);
  struct table table = {0};
  int status = table_title(&table, err, "Derived values at length %.0f", a->seq_len);
  status = status ? status : table_column(&table, "value", "value", false, false, err);
  status = status ? status : table_column(&table, "largest_difference", "largest difference", true, false, err);
  status = status ? status : table_column(&table, "relative", "relative", true, false, err);
  status = status ? status : table_column(&table, "at", "at", true, false, err);
  status = status ? status : table_column(&table, "first", "first", true, false, err);
  status = status ? status : table_column(&table, "second", "second", true, false, err);
  for (size_t which = 0; !status && which < count; which++) {
    status = compare_derived(pair, which, &table, finding, err);
  }
  status = status ? status : lone_derived(pair, &table, err);
  status = status || !table_rows(&table) ? status : show(pair, &table, err);
  table_free(&table);
  return status;
}

/* A vector's name, and where it differs: "head 0, position 5, channel 3". */
static int difference_row(const struct pair *pair, const char *what, const struct difference *d, size_t heads,
                          size_t columns, const char *column, struct table *table, struct finding *finding,
                          struct error *err) {
  note(finding, d);
  const struct positions *positions = &pair->sides[0].positions;
  size_t at = d->first, row = at / columns % pair->n;
  int status = table_text(table, err, "%s", what);
  if (d->identical) {
    status = status ? status : table_text(table, err, "none");
  } else {
    char head[32] = "";
    if (heads > 1) {
      snprintf(head, sizeof head, "head %zu, ", at / columns / pair->n);
    }
    status = status ? status
                    : table_text(table, err, "%sposition %.9g, %s %zu", head, positions->values[row * positions->axes],
                                 column, at % columns);
  }
  status = status ? status : table_number_as(table, d->ours, err, "%.9g", d->ours);
  status = status ? status : table_number_as(table, d->theirs, err, "%.9g", d->theirs);
  return status ? status : table_number(table, d->amount, err);
}

static int vector_row(const struct pair *pair, const char *what, const float *a, const float *b, size_t heads,
                      size_t columns, const char *column, struct table *table, struct finding *finding,
                      struct error *err) {
  struct difference d = difference_of(a, b, heads, pair->n, columns);
  return difference_row(pair, what, &d, heads, columns, column, table, finding, err);
}

/* A vector that only one of them has. */
static int lone_row(const char *what, bool first, struct table *table, struct finding *finding, struct error *err) {
  finding->identical = false;
  finding->parts = true;
  int status = table_text(table, err, "%s", what);
  status = status ? status : table_text(table, err, first ? "only the first acts here" : "only the second acts here");
  for (int i = 0; !status && i < 3; i++) {
    status = table_number(table, NAN, err);
  }
  return status;
}

int pair_show_vectors(struct pair *pair, struct finding *finding, struct error *err) {
  struct side *a = &pair->sides[0], *b = &pair->sides[1];
  unsigned sites_a = instance_sites(a->instance), sites_b = instance_sites(b->instance);
  struct table table = {0};
  int status = table_title(&table, err, "Vectors at %zu positions", pair->n);
  status = status ? status : table_column(&table, "vector", "vector", false, false, err);
  status = status ? status : table_column(&table, "first_difference", "first difference", false, false, err);
  status = status ? status : table_column(&table, "first", "first", true, false, err);
  status = status ? status : table_column(&table, "second", "second", true, false, err);
  status = status ? status : table_column(&table, "largest_difference", "largest difference", true, false, err);
  if (!status && (sites_a & sites_b & PE_SITE_EMBED)) {
    status =
        vector_row(pair, "embedding", a->embedding, b->embedding, 1, pair->d_model, "channel", &table, finding, err);
  } else if (!status && ((sites_a | sites_b) & PE_SITE_EMBED)) {
    status = lone_row("embedding", (sites_a & PE_SITE_EMBED) != 0, &table, finding, err);
  }
  if (!status && (sites_a & sites_b & PE_SITE_QK) && a->width == b->width) {
    status = vector_row(pair, "query", a->q, b->q, pair->heads, a->width, "channel", &table, finding, err);
    status =
        status ? status : vector_row(pair, "key", a->k, b->k, pair->heads, a->width, "channel", &table, finding, err);
  } else if (!status && ((sites_a | sites_b) & PE_SITE_QK)) {
    status = lone_row("query and key", (sites_a & PE_SITE_QK) != 0, &table, finding, err);
  }
  if (!status && (sites_a & sites_b & PE_SITE_BIAS)) {
    status = difference_row(pair, "bias", &pair->bias, pair->heads, pair->n, "key", &table, finding, err);
  } else if (!status && ((sites_a | sites_b) & PE_SITE_BIAS)) {
    status = lone_row("bias", (sites_a & PE_SITE_BIAS) != 0, &table, finding, err);
  }
  status = status ? status : show(pair, &table, err);
  table_free(&table);
  return status;
}

static int score_row(const struct band *band, double low, double high, struct table *table, struct error *err) {
  double count = (double)band->count;
  int status =
      high > low + 1 ? table_text(table, err, "%.0f to %.0f", low, high - 1) : table_text(table, err, "%.0f", low);
  status = status ? status : table_number(table, band->largest, err);
  status = status ? status : table_number(table, sqrt(band->squares_a / count), err);
  status = status ? status : table_number(table, sqrt(band->squares_b / count), err);
  return status ? status : table_number(table, count, err);
}

int pair_show_scores(struct pair *pair, struct finding *finding, struct error *err) {
  const struct band *bands = pair->bands;
  note(finding, &pair->scores);
  struct table table = {0};
  int status = table_title(&table, err, "Scores by distance, on the same %zu tokens", pair->n);
  status = status ? status : table_column(&table, "distance", "distance", false, false, err);
  status = status ? status : table_column(&table, "largest_difference", "largest difference", true, false, err);
  status = status ? status : table_column(&table, "rms_first", "rms of the first", true, false, err);
  status = status ? status : table_column(&table, "rms_second", "rms of the second", true, false, err);
  status = status ? status : table_column(&table, "scores", "scores", true, false, err);
  double low = 0, high = 1;
  for (size_t i = 0; !status && i < BANDS; i++, low = high, high = 2 * high) {
    status = bands[i].count ? score_row(&bands[i], low, high, &table, err) : 0;
  }
  status = status ? status : show(pair, &table, err);
  table_free(&table);
  return status;
}

int pair_show_verdict(struct pair *pair, enum agreement agreement, struct error *err) {
  static const char *const words[] = {
      [AGREE_IDENTICAL] = "Identical: every derived value, vector and score.",
      [AGREE_ROUNDING] = "Equal up to rounding.",
      [AGREE_ORDER] =
          ("Equal up to channel order: the same encoding with its channels in another order; weights must be "
           "in that order, too."),
      [AGREE_NOT] = "They part."};
  struct table table = {0};
  int status = table_title(&table, err, "Compared");
  status = status ? status : table_column(&table, "first", "first", false, true, err);
  status = status ? status : table_column(&table, "second", "second", false, true, err);
  status = status ? status : table_column(&table, "verdict", "verdict", false, true, err);
  status = status ? status : table_text(&table, err, "%s", pair->sides[0].name);
  status = status ? status : table_text(&table, err, "%s", pair->sides[1].name);
  status = status ? status : table_text(&table, err, "%s", words[agreement]);
  for (size_t stage = 0; !status && stage < N_ANGLE_STAGES; stage++) {
    enum number_format format = pair->request->rounding.format[stage];
    if (format != FORMAT_FLOAT64) {
      status = table_note(&table, err, "of the first, %s is rounded to %s", angle_stage_names[stage],
                          number_format_names[format]);
    }
  }
  status = status ? status : show(pair, &table, err);
  table_free(&table);
  return status;
}
