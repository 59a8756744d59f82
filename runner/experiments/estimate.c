#include "experiments/estimate.h"

#include <math.h>
#include <string.h>

/* SOFTMAX: operations per score, exponential and sum. SAMPLED: permutations above those that are all tried. */
enum { SOFTMAX = 20, ALL_UP_TO = 6, SAMPLED = 200, BYTES = sizeof(float) };

static const struct estimate unknown = {NAN, NAN};

static double number(const struct plan_experiment *entry, const char *key) {
  const struct key_value *value = section_get(entry->keys, key);
  return value->is_auto ? NAN : (double)value->integer;
}

static size_t count(const struct plan_experiment *entry, const char *key, size_t automatic) {
  const struct key_value *value = section_get(entry->keys, key);
  return value->is_auto ? automatic : value->count;
}

/* ---- one pass over n tokens ---- */

static double widths(const struct model *model) {
  return (double)model->n_heads * (double)model->head_dim +
         (double)model->n_kv_heads * (double)(model->head_dim + model->value_dim);
}

static double projecting(const struct model *model, double n) {
  return 2 * n * (double)model->d_model * widths(model);
}

static double attending(const struct model *model, double queries, double keys) {
  return (double)model->n_heads * queries * keys * (double)(2 * model->head_dim + 2 * model->value_dim + SOFTMAX);
}

/* x, q, k, v and the context of n tokens. */
static double rows(const struct model *model, double n) {
  double context = (double)model->n_heads * (double)model->value_dim;
  return BYTES * n * ((double)model->d_model + widths(model) + context);
}

static double matrix(const struct model *model, double n) {
  return BYTES * (double)model->n_heads * n * n;
}

/* ---- the experiments ---- */

static double permutations(double n) {
  double all = 1;
  for (double i = 2; i <= n && i <= ALL_UP_TO; i++) {
    all *= i;
  }
  return n <= ALL_UP_TO ? all : SAMPLED + 2 * n; /* rotations and swaps of neighbours beside the sample */
}

static struct estimate equivariance(const struct plan_experiment *entry, const struct model *model) {
  double n = (double)model->texts[0].count;
  double passes = (double)count(entry, "mask", 1) * (permutations(n) + permutations(n - 1));
  return (struct estimate){passes * (projecting(model, n) + attending(model, n, n)), 2 * rows(model, n)};
}

static struct estimate relative_position(const struct plan_experiment *entry, const struct model *model) {
  double n = number(entry, "length"), passes = 1 + (double)count(entry, "shifts", 0);
  return (struct estimate){passes * (projecting(model, n) + attending(model, n, n)),
                           rows(model, n) + 2 * matrix(model, n)};
}

static struct estimate attention(const struct plan_experiment *entry, const struct model *model) {
  double n = number(entry, "length");
  n = isnan(n) ? (double)model->texts[0].count : n;
  return (struct estimate){projecting(model, n) + attending(model, n, n), rows(model, n) + 2 * matrix(model, n)};
}

/* The last queries over all T keys and over L of them, at every length and text; windows of W tokens at every offset.
 */
static struct estimate extrapolation(const struct plan_experiment *entry, const struct model *model) {
  static const double multiples[] = {0.5, 1, 1.25, 2, 4, 8, 16};
  enum { AUTOMATIC = sizeof multiples / sizeof *multiples, OFFSETS = 18 };
  const struct key_value *lengths = section_get(entry->keys, "lengths");
  double trained = number(entry, "train_length"), queries = number(entry, "queries"), window = number(entry, "window");
  trained = isnan(trained) ? model->trained.max_length : trained;
  struct estimate estimate = {0};
  double longest = 0, texts = (double)model->n_texts;
  for (size_t i = 0; i < (lengths->is_auto ? AUTOMATIC : lengths->count); i++) {
    double n = lengths->is_auto ? multiples[i] * trained : lengths->list[i];
    estimate.operations +=
        texts * (projecting(model, n) + attending(model, queries, n) + attending(model, queries, fmin(n, trained)));
    longest = fmax(longest, n);
  }
  double windows = texts * fmax(1, floor(trained / window)) * (double)count(entry, "offsets", OFFSETS);
  estimate.operations += windows * (projecting(model, window) + attending(model, window, window));
  estimate.bytes = rows(model, longest) + BYTES * (double)model->n_heads * queries * longest;
  return estimate;
}

/* The length that is looked at: its key, or twice the training length within limits. */
static double looked_at(const struct plan_experiment *entry, const struct model *model, double usual, double most) {
  double trained = number(entry, "train_length"), length = number(entry, "length");
  trained = isnan(trained) && model->trained.max_length > 0 ? model->trained.max_length : trained;
  return !isnan(length) ? length : isnan(trained) ? usual : fmin(2 * trained, most);
}

/* Logits of one repeated token at a time, and once more to see where the scheme is defined; their sum in float64. */
static struct estimate encoding(const struct plan_experiment *entry, const struct model *model) {
  double n = looked_at(entry, model, 256, 2048), probes = number(entry, "probes");
  probes = model->endless ? probes : fmin(probes, (double)model->texts[0].count);
  double logits = (double)model->n_heads * n * n * 2 * (double)model->head_dim;
  return (struct estimate){(probes + 1) * (projecting(model, n) + logits), rows(model, n) + 3 * matrix(model, n)};
}

/* All orders of four tokens; what else is looked at is the scheme's own work, on rows of the length. */
static struct estimate claims(const struct plan_experiment *entry, const struct model *model) {
  enum { REORDERED = 4 };
  double n = model->endless ? REORDERED : fmin(REORDERED, (double)model->texts[0].count);
  return (struct estimate){permutations(n) * (projecting(model, n) + attending(model, n, n)),
                           rows(model, looked_at(entry, model, 256, 4096))};
}

/* Forward and backward take three times the forward pass. */
static struct estimate length_generalization(const struct plan_experiment *entry, const struct model *model) {
  enum { BYTE_VALUES = 256, STATES = 4 }; /* STATES: parameters, gradient, two moments */
  (void)model;
  double layers = number(entry, "layers"), d = number(entry, "d_model"), wide = number(entry, "d_ff");
  double length = number(entry, "train_length"), batch = number(entry, "batch");
  double parameters = layers * (4 * d * d + 2 * d * wide) + 2 * d * BYTE_VALUES;
  double tokens = number(entry, "steps") * batch * length;
  double runs =
      (double)count(entry, "learning_rates", 1) + number(entry, "seeds") - 1; /* the first seed tries all rates */
  return (struct estimate){
      runs * tokens * (6 * parameters + 12 * layers * d * length),
      BYTES * (STATES * parameters + batch * length * (layers * (12 * d + 2 * wide) + 2 * BYTE_VALUES))};
}

struct estimate experiment_estimate(const struct plan_experiment *entry, const struct model *model) {
  static const struct {
    const char *experiment;
    struct estimate (*of)(const struct plan_experiment *entry, const struct model *model);
  } known[] = {{"equivariance", equivariance},
               {"relative_position", relative_position},
               {"extrapolation", extrapolation},
               {"attention", attention},
               {"encoding", encoding},
               {"claims", claims},
               {"length_generalization", length_generalization}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!strcmp(known[i].experiment, entry->info->id) && (model || entry->info->trains)) {
      return known[i].of(entry, model);
    }
  }
  return unknown;
}
