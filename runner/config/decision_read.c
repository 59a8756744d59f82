/* The section `decision`: its keys, and the plan's part that is made of them. */
#include "config/plan_parts.h"

#include "base/memory.h"
#include "config/keys_read.h"
#include "config/yaml_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE(keys_) .keys = keys_, .count = sizeof keys_ / sizeof *keys_

/* Lengths and shifts beyond it are slips. */
#define MOST_TOKENS 1e12

static const char *const best_choices[] = {"smallest", "largest", NULL};

#define MEASURE                                                                                                        \
  {                                                                                                                    \
    .key = "measure",                                                                                                  \
    .doc =                                                                                                             \
        "[experiment.]measure[axis=value, ...][.reduction] of each scheme, such as extrapolation.truncation_jsd.mean", \
    .type = KEY_TEXT, .flags = KEY_REQUIRED                                                                            \
  }
#define LENGTH                                                                                                         \
  {                                                                                                                    \
    .key = "length", .doc = "at which length (shift, offset, last position), in tokens", .type = KEY_REAL,             \
    .flags = KEY_REQUIRED, .min = 0, .max = MOST_TOKENS                                                                \
  }

static const struct key_spec condition_keys[] = {
    MEASURE,
    LENGTH,
    {.key = "below",
     .doc = "the measure is at most this; one of below and above",
     .type = KEY_REAL,
     .flags = KEY_OPTIONAL,
     .min = -INFINITY,
     .max = INFINITY},
    {.key = "above",
     .doc = "the measure is at least this",
     .type = KEY_REAL,
     .flags = KEY_OPTIONAL,
     .min = -INFINITY,
     .max = INFINITY},
    {.key = "margin",
     .doc = "closer to the limit than this the data do not decide, in the measure's unit",
     .type = KEY_REAL,
     .flags = KEY_REQUIRED,
     .min = 0,
     .max = INFINITY},
};
static const struct key_table condition_table = {
    .name = "conditions", .doc = "What a scheme must show", TABLE(condition_keys)};

static const struct key_spec rank_keys[] = {
    MEASURE,
    LENGTH,
    {.key = "best",
     .doc = "which values are better",
     .type = KEY_CHOICE,
     .fallback = "smallest",
     .choices = best_choices},
    {.key = "margin",
     .doc = "a lead smaller than this is none, in the measure's unit",
     .type = KEY_REAL,
     .flags = KEY_REQUIRED,
     .min = 0,
     .max = INFINITY},
};
static const struct key_table rank_table = {
    .name = "rank", .doc = "How schemes that meet all conditions are compared", TABLE(rank_keys)};

static const struct key_spec stated_keys[] = {
    {.key = "name", .doc = "what is stated, such as easy to integrate", .type = KEY_TEXT, .flags = KEY_REQUIRED},
    {.key = "met_by",
     .doc = "labels of the schemes that it is true of",
     .type = KEY_TEXT_LIST,
     .flags = KEY_REQUIRED,
     .list_min = 1},
    {.key = "why", .doc = "on what grounds", .type = KEY_TEXT, .flags = KEY_OPTIONAL},
};
static const struct key_table stated_table = {
    .name = "stated", .doc = "Conditions that are taken as stated, not measured", TABLE(stated_keys)};

static const struct key_spec decision_keys[] = {
    {.key = "question",
     .doc = "what is to be decided, one line; default: the title",
     .type = KEY_TEXT,
     .fallback = "\"\""},
    {.key = "trained",
     .doc = "results file of a run with length_generalization: its trained models are the strongest evidence, for "
            "conditions and rank on trained.MEASURE",
     .type = KEY_PATH,
     .flags = KEY_OPTIONAL},
    {.key = "conditions",
     .doc = "what a scheme must show, each a measure at a length against a limit",
     .type = KEY_SECTIONS,
     .flags = KEY_REQUIRED,
     .list_min = 1,
     .section = &condition_table},
    {.key = "rank",
     .doc = "how schemes that meet all conditions are compared",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &rank_table},
    {.key = "prefer",
     .doc = "labels of schemes that one would rather take, the first first; said beside what the data decide",
     .type = KEY_TEXT_LIST,
     .flags = KEY_OPTIONAL},
    {.key = "stated",
     .doc = "conditions that are taken as stated",
     .type = KEY_SECTIONS,
     .flags = KEY_OPTIONAL,
     .list_min = 1,
     .section = &stated_table},
};
const struct key_table decision_table = {
    .name = "decision", .doc = "Which scheme to take, and by which conditions", TABLE(decision_keys)};

const struct key_table *config_decision_table(void) {
  return &decision_table;
}

/* The node of element `i` of the list `key`. */
static const struct node *item_node(const struct node *node, const char *key, size_t i) {
  const struct node *list = node_get(node, key);
  return list && list->kind == NODE_LIST && i < list->count ? list->items[i] : node;
}

static void read_measure(struct reader *reader, const struct section *section, const struct node *node,
                         const char *path, const struct plan *plan, struct plan_condition *out) {
  const struct key_value *text = section_get(section, "measure"), *length = section_get(section, "length");
  const struct node *at = node_get(node, "measure");
  if (text->given) {
    measure_read(reader, text->text, at ? at : node, reader_path(reader, path, "measure"), plan, &out->measure);
  }
  out->length = length->real;
  out->margin = section_get(section, "margin")->real;
}

static void read_conditions(struct reader *reader, const struct key_value *conditions, const struct node *node,
                            const struct plan *plan, struct plan_decision *decision) {
  struct error err;
  decision->conditions = memory_new(conditions->count + 1, sizeof *decision->conditions, "conditions", &err);
  if (!decision->conditions) {
    reader->arena.failed = true;
    return;
  }
  for (size_t i = 0; i < conditions->count; i++) {
    const struct section *section = conditions->sections[i];
    struct plan_condition *condition = &decision->conditions[decision->n_conditions++];
    const struct node *at = item_node(node, "conditions", i);
    const char *path = arena_printf(&reader->arena, "decision.conditions[%zu]", i);
    const struct key_value *below = section_get(section, "below"), *above = section_get(section, "above");
    read_measure(reader, section, at, path, plan, condition);
    if (below->given == above->given) {
      reader_report(reader, below->given ? ERROR_CONFIG_CONFLICT : ERROR_CONFIG_MISSING, at, path,
                    "a condition has one limit: below or above");
    }
    condition->above = above->given;
    condition->limit = above->given ? above->real : below->real;
  }
}

static void check_labels(struct reader *reader, const struct key_value *labels, const struct node *node,
                         const char *path, const struct plan *plan) {
  struct error err;
  const char **known = memory_new(plan->n_schemes + 1, sizeof *known, "labels", &err);
  for (size_t s = 0; known && s < plan->n_schemes; s++) {
    known[s] = plan->schemes[s].label;
  }
  for (size_t i = 0; known && i < labels->count; i++) {
    bool found = false;
    for (size_t s = 0; known[s]; s++) {
      found = found || !strcmp(known[s], labels->texts[i]);
    }
    if (!found) {
      reader_report(reader, ERROR_CONFIG_NAME, node, path, "no scheme has the label '%.80s'%s", labels->texts[i],
                    reader_hint(reader, labels->texts[i], known));
    }
  }
  reader->arena.failed = reader->arena.failed || !known;
  free(known);
}

static void read_stated(struct reader *reader, const struct key_value *stated, const struct node *node,
                        const struct plan *plan, struct plan_decision *decision) {
  struct error err;
  decision->stated = memory_new(stated->count + 1, sizeof *decision->stated, "stated conditions", &err);
  if (!decision->stated) {
    reader->arena.failed = true;
    return;
  }
  for (size_t i = 0; i < stated->count; i++) {
    const struct section *section = stated->sections[i];
    const struct key_value *met_by = section_get(section, "met_by");
    const struct node *at = item_node(node, "stated", i);
    const char *path = arena_printf(&reader->arena, "decision.stated[%zu]", i);
    check_labels(reader, met_by, at, path, plan);
    struct plan_stated *out = &decision->stated[decision->n_stated++];
    *out = (struct plan_stated){.name = section_get(section, "name")->text,
                                .why = section_get(section, "why")->text,
                                .met_by = met_by->texts,
                                .n_met_by = met_by->count};
    for (size_t other = 0; out->name && other + 1 < decision->n_stated; other++) {
      if (decision->stated[other].name && !strcmp(decision->stated[other].name, out->name)) {
        reader_report(reader, ERROR_CONFIG_CONFLICT, at, path, "'%.80s' is stated twice", out->name);
      }
    }
  }
}

static bool names_trained(const struct plan_condition *condition) {
  return !strcmp(condition->measure.experiment, PLAN_TRAINED);
}

/* Trained models are the strongest evidence: something must be asked of them, and nothing weaker ranks. */
static void check_trained(struct reader *reader, const struct node *node, const struct plan_decision *decision) {
  bool any = false;
  for (size_t i = 0; i < decision->n_conditions; i++) {
    any = any || names_trained(&decision->conditions[i]);
  }
  const struct node *file = node_get(node, "trained"), *rank = node_get(node, "rank");
  if (decision->trained && !any) {
    reader_report(
        reader, ERROR_CONFIG_MISSING, file, "decision.trained",
        "no condition asks anything of the trained models; add one, such as {measure: trained.change, length: "
        "256, below: 0.1, margin: 0.02}");
  }
  if (decision->trained && decision->rank && decision->rank->measure.text && !names_trained(decision->rank)) {
    reader_report(reader, ERROR_CONFIG_CONFLICT, rank ? rank : node, "decision.rank",
                  "'%.80s' is weaker evidence than the trained models: rank by one of theirs, such as trained.loss",
                  decision->rank->measure.text);
  }
}

void decision_read(struct reader *reader, struct section *section, const struct node *node, struct plan *plan) {
  struct error err;
  struct plan_decision *decision = section ? memory_new(1, sizeof *decision, "decision", &err) : NULL;
  if (!decision) {
    section_free(section);
    reader->arena.failed = true;
    return;
  }
  plan->decision = decision;
  decision->keys = section;
  const struct key_value *trained = section_get(section, "trained");
  decision->trained = trained->given ? trained->text : NULL;
  for (size_t i = 0; i < plan->n_experiments; i++) {
    if (!strcmp(plan->experiments[i].label, "decision")) {
      reader_report(reader, ERROR_CONFIG_LABEL, node, "decision",
                    "an experiment has the label 'decision', which stands for what is decided in the results: "
                    "give it another with label:");
    }
  }
  read_conditions(reader, section_get(section, "conditions"), node, plan, decision);
  const struct key_value *rank = section_get(section, "rank"), *prefer = section_get(section, "prefer");
  if (rank->given) {
    decision->rank = memory_new(1, sizeof *decision->rank, "rank", &err);
    reader->arena.failed = reader->arena.failed || !decision->rank;
  }
  if (decision->rank) {
    read_measure(reader, rank->section, node_get(node, "rank"), "decision.rank", plan, decision->rank);
    const struct key_value *best = section_get(rank->section, "best");
    decision->rank->above = best->given && best->integer == 1;
  }
  const struct node *at = node_get(node, "prefer");
  check_labels(reader, prefer, at ? at : node, "decision.prefer", plan);
  decision->prefer = prefer->texts;
  decision->n_prefer = prefer->count;
  read_stated(reader, section_get(section, "stated"), node, plan, decision);
  check_trained(reader, node, decision);
  if (!diagnostics_any(reader->diagnostics)) {
    decision_check(reader, node, plan);
  }
}
