/* A variant and a tensor of someone else's: where they part, and what that looks like. */
#include "commands/compare_dump.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* The place of an element, in words: "head 0, position 5, channel 3". */
static int place_text(const struct dump *dump, size_t at, struct table *table, struct error *err) {
  static const char *const columns[] = {
      [DUMP_INV_FREQ] = "pair",     [DUMP_COS] = "column",      [DUMP_SIN] = "column", [DUMP_COS_SIN] = "column",
      [DUMP_EMBEDDING] = "channel", [DUMP_ROTATED] = "channel", [DUMP_BIAS] = "key"};
  size_t column = at % dump->columns, row = at / dump->columns % dump->rows;
  size_t head = at / dump->columns / dump->rows;
  struct text text = {0};
  if (dump->heads > 1) {
    text_printf(&text, "head %zu, ", head);
  }
  if (dump->kind != DUMP_INV_FREQ) {
    text_printf(&text, "%s ", dump->kind == DUMP_BIAS ? "query" : "position");
    text_append_double(&text, dump->positions.values[row * dump->positions.axes]);
    text_append(&text, ", ");
  }
  text_printf(&text, "%s %zu", columns[dump->kind], column);
  char *words = text_take(&text, err);
  int status = words ? table_text(table, err, "%s", words) : (int)err->code;
  free(words);
  return status;
}

static int show_tensor(const struct compare_request *request, const struct dump *dump, const double *values,
                       const struct match *match, struct error *err) {
  static const char *const forms[] = {[FORM_PAIRS] = "",
                                      [FORM_HALVES] = ", halves repeated",
                                      [FORM_NEIGHBOURS] = ", neighbours repeated",
                                      [FORM_CONCATENATED] = ", cosines then sines",
                                      [FORM_COMPLEX] = ", pairs of cosine and sine"};
  struct table table = {0};
  int status = table_title(&table, err, "%s: %s%s", dump->from, dump_kind_names[dump->kind], forms[dump->form]);
  status = status ? status : table_column(&table, "first_difference", "first difference", false, false, err);
  status = status ? status : table_column(&table, "ours", "ours", true, false, err);
  status = status ? status : table_column(&table, "theirs", "theirs", true, false, err);
  status = status ? status : table_column(&table, "allowed", "allowed there", true, false, err);
  status = status ? status : table_column(&table, "largest_difference", "largest difference", true, false, err);
  if (!status && match->close) {
    status = table_text(&table, err, "none beyond rounding");
    status = status ? status : table_number(&table, NAN, err);
    status = status ? status : table_number(&table, NAN, err);
    status = status ? status : table_number(&table, NAN, err);
  } else if (!status) {
    status = place_text(dump, match->first, &table, err);
    status = status ? status : table_number_as(&table, values[match->first], err, "%.9g", values[match->first]);
    status = status ? status : table_number_as(&table, dump->data[match->first], err, "%.9g", dump->data[match->first]);
    status = status ? status : table_number(&table, match->allowed, err);
  }
  status = status ? status : table_number(&table, match->largest, err);
  status = status ? status
                  : table_note(&table, err, "%zu x %zu x %zu numbers (heads, rows, columns)", dump->heads, dump->rows,
                               dump->columns);
  status = status ? status : table_show(&table, &request->style, stdout, err);
  table_free(&table);
  return status;
}

static int show_verdict(const struct compare_request *request, const struct dump *dump, const struct match *match,
                        enum agreement agreement, struct error *err) {
  const char *words = agreement == AGREE_IDENTICAL ? "Identical, every number of it, as float32."
                      : agreement == AGREE_ORDER   ? "Equal up to channel order."
                      : agreement == AGREE_NOT     ? "They part."
                      : match->exact               ? "Equal up to rounding."
                                     : "Equal up to rounding, with angles formed in float32: the error grows with the "
                                       "position.";
  struct text text = {0};
  text_append(&text, request->ours.id);
  for (size_t i = 0; i < request->ours.n_settings; i++) {
    text_printf(&text, " %s", request->ours.settings[i]);
  }
  for (size_t stage = 0; stage < N_ANGLE_STAGES; stage++) {
    if (request->rounding.format[stage]) {
      text_printf(&text, ", %s in %s", angle_stage_names[stage], number_format_names[request->rounding.format[stage]]);
    }
  }
  char *name = text_take(&text, err);
  if (!name) {
    return err->code;
  }
  struct table table = {0};
  int status = table_title(&table, err, "Compared");
  status = status ? status : table_column(&table, "first", "first", false, true, err);
  status = status ? status : table_column(&table, "second", "second", false, true, err);
  status = status ? status : table_column(&table, "verdict", "verdict", false, true, err);
  status = status ? status : table_text(&table, err, "%s", name);
  status = status ? status : table_text(&table, err, "%s", dump->from);
  status = status ? status : table_text(&table, err, "%s", words);
  if (!status && (request->style.format == TABLE_TERMINAL || request->style.format == TABLE_MARKDOWN)) {
    putchar('\n');
  }
  status = status ? status : table_show(&table, &request->style, stdout, err);
  table_free(&table);
  free(name);
  return status;
}

static bool is_rounded(const struct compare_request *request) {
  for (size_t stage = 0; stage < N_ANGLE_STAGES; stage++) {
    if (request->rounding.format[stage]) {
      return true;
    }
  }
  return false;
}

/* The tensor in memory against the variant. */
static int compare_dump(const struct ours *ours, const struct dump *dump, enum agreement *agreement,
                        struct error *err) {
  const struct compare_request *request = ours->request;
  struct cause nothing = {0};
  bool same_columns = false;
  size_t found = 0;
  double *values = memory_new_3d(dump->heads, dump->rows, dump->columns, sizeof *values, "values", err);
  int status = values ? dump_ours(ours, dump, &nothing, values, err) : (int)err->code;
  if (status) {
    free(values);
    return status;
  }
  struct match match = dump_match(dump, values, is_rounded(request));
  *agreement = match.identical ? AGREE_IDENTICAL : match.exact || match.close ? AGREE_ROUNDING : AGREE_NOT;
  status = show_tensor(request, dump, values, &match, err);
  if (!status && *agreement == AGREE_NOT) {
    status = dump_same_columns(dump, values, &same_columns, err);
    *agreement = same_columns ? AGREE_ORDER : AGREE_NOT;
    status = status ? status : dump_explain(ours, dump, &found, err);
  }
  free(values);
  return status ? status : show_verdict(request, dump, &match, *agreement, err);
}

int compare_file(struct session *session, const struct compare_request *request, enum agreement *agreement,
                 struct error *err) {
  struct ours ours = {session, request};
  struct cause nothing = {0};
  struct scheme_choice choice;
  struct dump dump = {0};
  int status = scheme_choose(session, &request->ours, &choice, err);
  status = status ? status : dump_read(request, &dump, choice.scheme->info.sites, err);
  if (!status) {
    struct instance *instance = dump_instance(&ours, &dump, &nothing, err);
    status = instance ? dump_place(request, &dump, instance_domain(instance).pos_axes, err) : (int)err->code;
    instance_free(instance);
  }
  scheme_choice_free(&choice);
  status = status ? status : compare_dump(&ours, &dump, agreement, err);
  dump_free(&dump);
  return status;
}
