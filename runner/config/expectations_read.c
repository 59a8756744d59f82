#include "config/plan_parts.h"

#include "base/memory.h"
#include "config/number.h"

#include <stdlib.h>
#include <string.h>

static const char *const reductions[] = {
    [EXPECT_VALUE] = "",  [EXPECT_MEAN] = "mean",   [EXPECT_MEDIAN] = "median", [EXPECT_MIN] = "min",
    [EXPECT_MAX] = "max", [EXPECT_FIRST] = "first", [EXPECT_LAST] = "last"};
static const char *const relations[] = {
    [EXPECT_LESS] = "<",   [EXPECT_LESS_OR_EQUAL] = "<=", [EXPECT_GREATER] = ">", [EXPECT_GREATER_OR_EQUAL] = ">=",
    [EXPECT_EQUAL] = "==", [EXPECT_NOT_EQUAL] = "!="};

const char *expect_reduction_name(enum expect_reduction reduction) {
  return reductions[reduction];
}

const char *expect_relation_name(enum expect_relation relation) {
  return relations[relation];
}

static const char form[] = "write measure.label.reduction < number, such as truncation_jsd.alibi.mean < 0.1";

static const char form_without_label[] = "write measure.reduction, such as extrapolation.truncation_jsd.mean";

/* One expectation while it is read. */
struct expect_reader {
  bool without_label; /* the operand names no scheme */
  struct reader *reader;
  const struct node *node;
  const char *path;
  const char *at; /* not read yet */
  struct plan_expectation *out;
};

static bool fail(struct expect_reader *expect, const char *sentence) {
  reader_report(expect->reader, ERROR_CONFIG_TYPE, expect->node, expect->path, "'%.100s': %s", expect->out->text,
                sentence);
  return false;
}

static void skip_blanks(struct expect_reader *expect) {
  expect->at += strspn(expect->at, " \t");
}

/* A run of characters that `stop` does not have, without blanks at its end, into out[RECORD_NAME]. */
static bool read_until(struct expect_reader *expect, const char *stop, char *out) {
  skip_blanks(expect);
  size_t length = strcspn(expect->at, stop);
  const char *start = expect->at;
  expect->at += length;
  while (length && (start[length - 1] == ' ' || start[length - 1] == '\t')) {
    length--;
  }
  if (!length || length >= RECORD_NAME) {
    return false;
  }
  memcpy(out, start, length);
  out[length] = '\0';
  return true;
}

/* "[axis=value, axis=value]" */
static bool read_choices(struct expect_reader *expect) {
  struct plan_expectation *out = expect->out;
  do {
    expect->at++;
    if (out->n_choices == RECORD_MAX_RANK) {
      return fail(expect, "too many axes in [...]");
    }
    struct expect_choice *choice = &out->choices[out->n_choices];
    if (!read_until(expect, "=,]", choice->axis) || *expect->at != '=') {
      return fail(expect, "in [...] stands axis=value");
    }
    expect->at++;
    if (!read_until(expect, ",]", choice->value)) {
      return fail(expect, "in [...] stands axis=value");
    }
    out->n_choices++;
  } while (*expect->at == ',');
  if (*expect->at != ']') {
    return fail(expect, "']' is missing");
  }
  expect->at++;
  return true;
}

static bool is_name(const char *name) {
  for (const char *c = name; *c; c++) {
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    if (!letter && (c == name || !((*c >= '0' && *c <= '9') || *c == '_'))) {
      return false;
    }
  }
  return name[0] != '\0';
}

static bool is_reduction(const char *name, enum expect_reduction *reduction) {
  for (size_t i = EXPECT_MEAN; i < sizeof reductions / sizeof *reductions; i++) {
    if (!strcmp(reductions[i], name)) {
      *reduction = (enum expect_reduction)i;
      return true;
    }
  }
  return false;
}

/* [experiment.]measure[...].label[.reduction], or without the label. */
static bool read_operand(struct expect_reader *expect) {
  char parts[4][RECORD_NAME];
  size_t count = 0, chosen = 4;
  for (bool more = true; more;) {
    if (count == 4 || !read_until(expect, ".[<>=! \t", parts[count]) || !is_name(parts[count])) {
      return fail(expect, expect->without_label ? form_without_label : form);
    }
    count++;
    if (*expect->at == '[') {
      if (chosen != 4) {
        return fail(expect, "[...] stands once, behind the measure");
      }
      chosen = count - 1;
      if (!read_choices(expect)) {
        return false;
      }
    }
    more = *expect->at == '.';
    expect->at += more;
  }
  size_t first = 0;
  size_t needed = expect->without_label ? 1 : 2;
  if (count > needed && is_reduction(parts[count - 1], &expect->out->reduction)) {
    count--;
  }
  if (count == needed + 1) {
    strcpy(expect->out->experiment, parts[first++]);
  }
  if (count - first != needed) {
    return fail(expect, expect->without_label ? form_without_label : form);
  }
  if (chosen != 4 && chosen != first) {
    return fail(expect, "[...] stands once, behind the measure");
  }
  strcpy(expect->out->measure, parts[first]);
  if (!expect->without_label) {
    strcpy(expect->out->label, parts[first + 1]);
  }
  return true;
}

static bool read_relation(struct expect_reader *expect) {
  skip_blanks(expect);
  size_t best = 0;
  for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
    size_t length = strlen(relations[i]);
    if (length > best && !strncmp(relations[i], expect->at, length)) {
      best = length;
      expect->out->relation = (enum expect_relation)i;
    }
  }
  expect->at += best;
  return best || fail(expect, "between measure and number stands one of <, <=, >, >=, ==, !=");
}

static bool read_number(struct expect_reader *expect) {
  char written[RECORD_NAME];
  struct number number;
  if (!read_until(expect, "", written) || number_parse(written, &number) != NUMBER_OK) {
    return fail(expect, "on the right stands a number");
  }
  expect->out->number = number.real;
  return true;
}

/* Labels that the plan has, for a hint, ended by NULL. */
static const char *const *labels_of(struct reader *reader, const struct plan *plan, bool schemes) {
  size_t count = schemes ? plan->n_schemes : plan->n_experiments;
  const char **labels = arena_array(&reader->arena, count + 1, sizeof *labels);
  for (size_t i = 0; labels && i < count; i++) {
    labels[i] = schemes ? plan->schemes[i].label : plan->experiments[i].label;
  }
  return labels;
}

static bool check_label(struct expect_reader *expect, const struct plan *plan, bool schemes, const char *label) {
  const char *const *labels = labels_of(expect->reader, plan, schemes);
  if (!labels) {
    return false;
  }
  if (schemes && !strcmp(label, "none") && diagnostics_any(expect->reader->diagnostics)) {
    return true; /* whether the control is run may not be known */
  }
  const char *all = "";
  for (size_t i = 0; labels[i]; i++) {
    if (!strcmp(labels[i], label)) {
      return true;
    }
    all = arena_printf(&expect->reader->arena, "%s%s%s", all, i ? ", " : "", labels[i]);
  }
  const char *hint = reader_hint(expect->reader, label, labels);
  reader_report(expect->reader, ERROR_CONFIG_NAME, expect->node, expect->path, "'%.100s': no %s has the label '%s'%s",
                expect->out->text, schemes ? "scheme" : "experiment", label,
                hint[0] ? hint : arena_printf(&expect->reader->arena, "; there are: %s", all));
  return false;
}

bool measure_read(struct reader *reader, const char *text, const struct node *node, const char *path,
                  const struct plan *plan, struct plan_expectation *out) {
  struct error err;
  out->text = memory_copy_text(text, &err);
  if (!out->text) {
    reader->arena.failed = true;
    return false;
  }
  struct expect_reader expect = {
      .without_label = true, .reader = reader, .node = node, .path = path, .at = out->text, .out = out};
  if (!read_operand(&expect)) {
    return false;
  }
  skip_blanks(&expect);
  if (*expect.at) {
    return fail(&expect, form_without_label);
  }
  if (!strcmp(out->experiment, PLAN_TRAINED) && plan->decision && plan->decision->trained) {
    return true;
  }
  if (!strcmp(out->experiment, PLAN_TRAINED)) {
    reader_report(reader, ERROR_CONFIG_NAME, node, path,
                  "'%.100s' speaks of trained models, which decision.trained: FILE.h5 names", out->text);
    return false;
  }
  return !out->experiment[0] || check_label(&expect, plan, false, out->experiment);
}

void expectations_read(struct reader *reader, const struct key_value *texts, const struct node *node,
                       struct plan *plan) {
  if (!texts->given || !texts->count) {
    return;
  }
  struct error err;
  plan->expectations = memory_new(texts->count, sizeof *plan->expectations, "expect", &err);
  if (!plan->expectations) {
    reader->arena.failed = true;
    return;
  }
  for (size_t i = 0; i < texts->count; i++) {
    struct plan_expectation *out = &plan->expectations[i];
    out->text = memory_copy_text(texts->texts[i], &err);
    if (!out->text) {
      reader->arena.failed = true;
      return;
    }
    plan->n_expectations++;
    struct expect_reader expect = {.reader = reader,
                                   .node = texts->is_list ? node->items[i] : node,
                                   .path = texts->is_list ? arena_printf(&reader->arena, "expect[%zu]", i) : "expect",
                                   .at = out->text,
                                   .out = out};
    if (read_operand(&expect) && read_relation(&expect) && read_number(&expect)) {
      check_label(&expect, plan, true, out->label);
      if (out->experiment[0]) {
        check_label(&expect, plan, false, out->experiment);
      }
    }
  }
}
