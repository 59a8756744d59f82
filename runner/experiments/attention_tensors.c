/* No measure: the tensors themselves, for external tools. */
#include "experiments/common.h"
#include "experiments/experiments.h"

static const struct key_spec keys[] = {
    {.key = "mask",
     .doc = "attention mask; of a list the first counts; auto: what the weights were trained with",
     .type = KEY_CHOICE_LIST,
     .flags = KEY_AUTO,
     .fallback = "auto",
     .choices = mask_names,
     .list_min = 1,
     .list_max = 2},
    {.key = "length",
     .doc = "number of tokens; auto: the whole first text",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 1,
     .max = 16384,
     .fallback = "auto"},
    {.key = "save",
     .doc = "tensors to store",
     .type = KEY_CHOICE_LIST,
     .fallback = "[attention_weights]",
     .choices = save_names,
     .list_min = 1},
};
static const struct key_table table = {"attention", "attention tensors as they are", keys, sizeof keys / sizeof *keys};

enum { LONGEST = 16384 };

static int run(const struct experiment_context *context, struct record *record, struct error *err) {
  const struct key_value *length = section_get(context->entry->keys, "length");
  size_t n = length->is_auto ? context->model->texts[0].count : (size_t)length->integer;
  if (n == 0 || n > LONGEST) {
    return error_set(err, ERROR_JOB_SETUP, "attention stores whole matrices of 1 to %d tokens: set length (it is %zu)",
                     LONGEST, n);
  }
  int masks[2];
  bool is_list;
  masks_of(context, masks, &is_list);
  int status = attributes_set_text(&record->attributes, "mask", mask_names[masks[0]], err);
  return status ? status
                : save_tensors(context, section_get(context->entry->keys, "save"), 0, n, masks[0] == 1, record, err);
}

const struct experiment experiment_attention = {
    .info = {"attention", "What does attention look like?", &table, false, false},
    .run = run,
};
