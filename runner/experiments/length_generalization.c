/* Train short, test long: the same small model is trained once per scheme and seed on contexts of L tokens, and tried
 * far beyond. Everything but the scheme is the same: initial weights, batches, targets. */
#include "experiments/length_generalization.h"

#include "base/memory.h"
#include "base/text.h"
#include "experiments/experiments.h"
#include "train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tasks[] = {"copy", "reverse", "addition", "parity", "passkey", NULL};
static const char *const gelus[] = {"tanh", "erf", NULL};

#define COUNT(key_, doc_, min_, max_, fallback_)                                                                       \
  { .key = key_, .doc = doc_, .type = KEY_INT, .min = min_, .max = max_, .fallback = fallback_ }
#define NUMBER(key_, doc_, min_, max_, fallback_)                                                                      \
  { .key = key_, .doc = doc_, .type = KEY_REAL, .min = min_, .max = max_, .fallback = fallback_ }

static const struct key_spec keys[] = {
    COUNT("train_length", "training length L in tokens", 4, 4096, "64"),
    {.key = "lengths",
     .doc = "context lengths that are tried, in tokens; auto: L times 1, 2, 4, 8, 16",
     .type = KEY_INT_LIST,
     .flags = KEY_AUTO,
     .min = 4,
     .max = 65536,
     .fallback = "auto",
     .list_min = 1,
     .list_max = 100},
    COUNT("seeds", "models per scheme; from 5 on pairs of schemes are judged", 1, 1000, "5"),
    COUNT("steps", "steps of a training", 1, 10000000, "1500"),
    COUNT("batch", "sequences of a step", 1, 4096, "16"),
    {.key = "learning_rates",
     .doc = "one is chosen per scheme, by the loss at L on the selection split with the first seed",
     .type = KEY_REAL_LIST,
     .min = 1e-8,
     .max = 10,
     .fallback = "[0.001, 0.002, 0.004]",
     .list_min = 1,
     .list_max = 9},
    COUNT("warmup_steps", "steps in which the learning rate rises", 0, 1000000, "50"),
    NUMBER("min_ratio", "share of the learning rate that is left in the end", 0, 1, "0.1"),
    NUMBER("weight_decay", "of AdamW, on matrices", 0, 10, "0.1"),
    NUMBER("clip_norm", "largest norm of the gradient", 1e-6, 1e12, "1"),
    COUNT("layers", "layers of the model", 1, 64, "2"),
    COUNT("d_model", "width of the model", 2, 4096, "128"),
    COUNT("heads", "attention heads", 1, 256, "4"),
    COUNT("d_ff", "width of the feed-forward", 1, 65536, "512"),
    {.key = "tied", .doc = "the output uses the embeddings", .type = KEY_BOOL, .fallback = "false"},
    {.key = "gelu", .doc = "form of the activation", .type = KEY_CHOICE, .fallback = "tanh", .choices = gelus},
    NUMBER("embed_scale", "factor on embeddings, the same for all schemes", 1e-6, 1e6, "1"),
    NUMBER("pe_scale", "factor on what a scheme adds to the input", 1e-6, 1e6, "1"),
    {.key = "score_scale",
     .doc = "factor on q . k, the same for all schemes; auto: 1/sqrt(head_dim)",
     .type = KEY_REAL,
     .flags = KEY_AUTO,
     .min = 1e-6,
     .max = 1e6,
     .fallback = "auto"},
    {.key = "scheme_score_scale",
     .doc = "a scheme that asks for a score scale of its own (T5: 1) gets it",
     .type = KEY_BOOL,
     .fallback = "false"},
    {.key = "text",
     .doc = "texts to train on, as bytes; the last tenth is for testing, 5 % before it for selection",
     .type = KEY_PATH_LIST,
     .flags = KEY_OPTIONAL,
     .list_min = 1},
    {.key = "corpus",
     .doc = "instead: so many bytes of seeded verb-grammar sentences",
     .type = KEY_INT,
     .flags = KEY_OPTIONAL,
     .min = 1000,
     .max = 1 << 28},
    {.key = "task",
     .doc = "instead: a task that isolates position, trained on lengths uniform in [4, L]",
     .type = KEY_CHOICE,
     .flags = KEY_OPTIONAL,
     .choices = tasks},
    COUNT("tail", "last tokens of a context that are the fixed targets", 1, 4096, "32"),
    COUNT("targets", "fixed targets in all, of a text", 1, 1 << 24, "4096"),
    COUNT("examples", "examples of a task at each length", 1, 1 << 20, "256"),
    {.key = "stride",
     .doc = "tokens from one sliding window to the next; auto: L/2",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 1,
     .max = 65536,
     .fallback = "auto"},
    NUMBER("margin", "nats above the best loss at L beyond which a scheme has not learned the text", 0, 100, "0.1"),
    NUMBER("smallest_change", "nats: a change or a difference of the loss up to this counts for nothing", 0, 100,
           "0.05"),
    {.key = "pairs",
     .doc = "pairs of labels to judge at 2 L, as a/b; auto: all pairs of schemes that learned",
     .type = KEY_TEXT_LIST,
     .flags = KEY_AUTO,
     .fallback = "auto"},
    {.key = "checkpoints",
     .doc = "folder, relative to the current one, for the trained models: LABEL-SEED.h5, as model.weights reads them",
     .type = KEY_TEXT,
     .flags = KEY_OPTIONAL},
};
static const struct key_table table = {"length_generalization", "train at L, test beyond", keys,
                                       sizeof keys / sizeof *keys};

/* ---- the record ---- */

static double *add(struct record *record, const char *name, const char *long_name, const char *units, unsigned rank,
                   const struct axis_spec *axes, struct error *err) {
  struct tensor_spec spec = {
      .name = name, .element = ELEMENT_F64, .rank = rank, .long_name = long_name, .units = units};
  memcpy(spec.axis, axes, rank * sizeof *axes);
  struct tensor *tensor = record_add(record, &spec, err);
  return tensor ? tensor->data : NULL;
}

/* Where each seed's measures go. */
struct outputs {
  struct measures all; /* [seeds] of each */
  double *training;    /* [seeds][steps] */
  double *mean;        /* [n_lengths] */
  uint8_t *defined, *trained;
};

static int add_outputs(const struct generalization *g, struct record *record, struct outputs *out, struct error *err) {
  struct axis_spec seed = {.name = "seed", .length = g->seeds};
  struct axis_spec length = {.name = "length",
                             .length = g->n_lengths,
                             .values = g->lengths,
                             .log_values = true,
                             .long_name = "context length",
                             .units = "tokens"};
  struct axis_spec by_length[] = {seed, length}, by_step[] = {seed, {.name = "step", .length = g->steps}};
  struct axis_spec by_place[] = {seed, {.name = "position", .length = g->longest}};
  struct axis_spec by_head[] = {
      seed, length, {.name = "layer", .length = g->shape.layers}, {.name = "head", .length = g->shape.heads}};
  bool text = g->data.task == TASK_TEXT;
  struct measures *m = &out->all;
  m->fixed = add(record, "loss", text ? "loss on the same targets at every length" : "loss of the answer's tokens",
                 "nat", 2, by_length, err);
  if (m->fixed && text) {
    m->windows = add(record, "loss_windows", "loss over windows without overlap", "nat", 2, by_length, err);
    m->sliding =
        m->windows ? add(record, "loss_sliding", "loss of the last tokens of sliding windows", "nat", 2, by_length, err)
                   : NULL;
    m->by_position =
        m->sliding ? add(record, "loss_by_position", "loss by position at the longest length", "nat", 2, by_place, err)
                   : NULL;
  } else if (m->fixed) {
    m->accuracy = add(record, "accuracy", "examples whose whole answer is right", "1", 2, by_length, err);
    m->token_accuracy =
        m->accuracy ? add(record, "token_accuracy", "tokens of the answer that are right", "1", 2, by_length, err)
                    : NULL;
  }
  if (!(text ? m->by_position : m->token_accuracy)) {
    return err->code;
  }
  m->attention[0] = add(record, "entropy", "entropy of attention over ln of the visible keys", "1", 4, by_head, err);
  m->attention[1] =
      m->attention[0] ? add(record, "mean_distance", "mean distance under attention", "tokens", 4, by_head, err) : NULL;
  m->attention[2] =
      m->attention[1] ? add(record, "first_token_share", "attention on the first token", "1", 4, by_head, err) : NULL;
  out->training = m->attention[2] ? add(record, "training_loss", "loss of each batch", "nat", 2, by_step, err) : NULL;
  /* What viewers show first: a curve, also of a single seed. */
  out->mean = out->training ? add(record, "mean_loss", "loss, mean over the seeds", "nat", 1, &length, err) : NULL;
  snprintf(record->signal, sizeof record->signal, "mean_loss");
  struct tensor *defined = NULL, *trained = NULL;
  if (out->mean) {
    struct tensor_spec flag = {
        .name = "defined", .element = ELEMENT_U8, .rank = 1, .axis = {length}, .long_name = "the scheme gives values"};
    defined = record_add(record, &flag, err);
    flag.name = "trained";
    flag.long_name = "training could have set these values";
    trained = defined ? record_add(record, &flag, err) : NULL;
  }
  if (!trained) {
    return err->code;
  }
  out->trained = trained->data;
  out->defined = record_find(record, "defined")->data;
  return 0;
}

/* The measures of one seed. */
static struct measures of_seed(const struct generalization *g, const struct outputs *out, size_t seed) {
  struct measures m = out->all;
  size_t at = seed * g->n_lengths;
  m.fixed += at;
  m.windows = m.windows ? m.windows + at : NULL;
  m.sliding = m.sliding ? m.sliding + at : NULL;
  m.accuracy = m.accuracy ? m.accuracy + at : NULL;
  m.token_accuracy = m.token_accuracy ? m.token_accuracy + at : NULL;
  m.by_position = m.by_position ? m.by_position + seed * g->longest : NULL;
  for (size_t what = 0; what < 3; what++) {
    m.attention[what] += at * g->shape.layers * g->shape.heads;
  }
  return m;
}

static int keep_checkpoint(const struct generalization *g, const struct trained *trained, size_t seed,
                           struct error *err) {
  const struct key_value *folder = section_get(g->context->entry->keys, "checkpoints");
  if (!folder->given) {
    return 0;
  }
  struct text path = {0};
  text_printf(&path, "%s/%s-%zu.h5", folder->text, g->context->scheme_entry->label, seed);
  char *name = text_take(&path, err);
  int status =
      name ? checkpoint_write(name, &trained->layout, trained->parameters, g->context->plugin,
                              g->context->scheme_entry->params, (double)g->train_length, g->data.task == TASK_TEXT, err)
           : (int)err->code;
  free(name);
  return status;
}

static int take_up(const struct generalization *g, const struct trained *trained, size_t seed, struct outputs *out,
                   struct error *err) {
  struct measures m = of_seed(g, out, seed);
  memcpy(out->training + seed * g->steps, trained->losses, g->steps * sizeof *trained->losses);
  int status = generalization_measure(g, trained, &m, out->defined, err);
  return status ? status : keep_checkpoint(g, trained, seed, err);
}

static void fill_mean(const struct generalization *g, const struct outputs *out) {
  for (size_t length = 0; length < g->n_lengths; length++) {
    double sum = 0;
    for (size_t seed = 0; seed < g->seeds; seed++) {
      sum += out->all.fixed[seed * g->n_lengths + length];
    }
    out->mean[length] = sum / (double)g->seeds;
  }
}

/* All learning rates with the first seed; the best model is kept as that seed's. */
static int select_rate(const struct generalization *g, double *losses, size_t *best, struct trained *kept,
                       struct error *err) {
  *kept = (struct trained){0};
  for (size_t rate = 0; rate < g->n_rates; rate++) {
    char name[32];
    struct trained trained;
    snprintf(name, sizeof name, "rate%zu", rate);
    int status = generalization_train(g, 0, g->rates[rate], name, &trained, err);
    if (status) {
      return status;
    }
    status = generalization_selection_loss(g, &trained, &losses[rate], err);
    if (!status && (rate == 0 || losses[rate] < losses[*best])) {
      *best = rate;
      struct trained other = *kept;
      *kept = trained;
      trained = other;
    }
    trained_free(&trained);
    if (status) {
      return status;
    }
  }
  return 0;
}

/* Positions of a sequence, and whether training could have set what the scheme gives there. */
static int mark_trained(const struct generalization *g, const struct trained *trained, uint8_t *flags,
                        struct error *err) {
  double *positions = memory_new(g->longest, 2 * sizeof *positions, "positions", err);
  double seq_len, *mapped = positions + g->longest;
  int status = positions ? 0 : ERROR_MEMORY;
  for (size_t i = 0; !status && i < g->longest; i++) {
    positions[i] = (double)i;
  }
  for (size_t i = 0; !status && i < g->n_lengths; i++) {
    size_t n = (size_t)g->lengths[i];
    status = instance_map_positions(trained->scheme, n, positions, NULL, mapped, &seq_len, err);
    flags[i] = !status && instance_is_trained(trained->scheme, n, mapped, NULL, (double)g->train_length);
  }
  free(positions);
  return status;
}

/* Multiplications and additions of one training: 6 per parameter of a matrix and token (forward 2, backward 4), and of
 * attention 12 d T per token and layer, halved by the causal mask. */
static double operations(const struct generalization *g, const struct parameters *layout) {
  double matrices = 0;
  for (size_t i = 1; i < layout->n; i++) {
    matrices += layout->items[i].is_matrix ? (double)layout->items[i].count : 0;
  }
  matrices += layout->shape.tied ? (double)layout->items[0].count : 0;
  double attention = (double)g->shape.layers * 6 * (double)g->shape.d_model * (double)g->train_length;
  return (6 * matrices + attention) * (double)(g->steps * g->batch * g->train_length);
}

static int describe(const struct generalization *g, const struct trained *trained, const double *losses, size_t best,
                    struct record *record, struct error *err) {
  struct attributes *attributes = &record->attributes;
  size_t count = 0;
  for (size_t i = 0; i < trained->layout.n; i++) {
    count += trained->layout.items[i].count;
  }
  int status = attributes_set_int(attributes, "train_length", (int64_t)g->train_length, err);
  status = status ? status : attributes_set_int(attributes, "parameters", (int64_t)count, err);
  status = status
               ? status
               : attributes_set_int(attributes, "tokens_seen", (int64_t)(g->steps * g->batch * g->train_length), err);
  status = status ? status : attributes_set_real(attributes, "operations", operations(g, &trained->layout), err);
  status = status ? status : attributes_set_real(attributes, "learning_rate", g->rates[best], err);
  status = status ? status : attributes_set_reals(attributes, "learning_rates", g->rates, g->n_rates, err);
  status = status ? status : attributes_set_reals(attributes, "selection_losses", losses, g->n_rates, err);
  status = status ? status : attributes_set_real(attributes, "embed_scale", g->shape.embed_scale, err);
  status = status ? status : attributes_set_real(attributes, "pe_scale", g->shape.pe_scale, err);
  status = status ? status : attributes_set_real(attributes, "score_scale", trained->layout.shape.score_scale, err);
  char *untrained = status ? NULL : generalization_untrained_arguments(g, trained, err);
  status = status ? status : untrained ? 0 : (int)err->code;
  if (!status && untrained[0]) {
    status = attributes_set_text(attributes, "warning", untrained, err);
  }
  free(untrained);
  return status;
}

static int run_all(const struct generalization *g, struct record *record, struct error *err) {
  struct outputs out = {0};
  struct trained trained = {0};
  double losses[9];
  size_t best = 0;
  int status = add_outputs(g, record, &out, err);
  status = status ? status : select_rate(g, losses, &best, &trained, err);
  status = status ? status : mark_trained(g, &trained, out.trained, err);
  status = status ? status : describe(g, &trained, losses, best, record, err);
  for (size_t seed = 0; !status && seed < g->seeds; seed++) {
    if (seed > 0) {
      char name[32];
      snprintf(name, sizeof name, "seed%zu", seed);
      trained_free(&trained);
      status = generalization_train(g, seed, g->rates[best], name, &trained, err);
    }
    status = status ? status : take_up(g, &trained, seed, &out, err);
  }
  trained_free(&trained);
  if (!status) {
    fill_mean(g, &out);
  }
  return status;
}

static int run(const struct experiment_context *context, struct record *record, struct error *err) {
  struct generalization g;
  struct course course = {0};
  int status = generalization_open(context, &g, err);
  course.all_steps = (g.n_rates + g.seeds - 1) * g.steps;
  g.course = &course;
  status = status ? status : run_all(&g, record, err);
  generalization_close(&g);
  return status;
}

const struct experiment experiment_length_generalization = {
    .info = {"length_generalization", "Trained at one length, what does a model predict at longer ones?", &table, true,
             true},
    .scheme_defaults = generalization_scheme_defaults,
    .check = generalization_check,
    .run = run,
    .conclude = generalization_conclude,
};
