/* What experiments share: masks, saved tensors, common attributes, comparison groups. */
#ifndef PE_EXPERIMENTS_COMMON_H
#define PE_EXPERIMENTS_COMMON_H

#include "experiments/encode.h"
#include "experiments/experiment.h"

/* Words of every `mask` and every `save` key, ended by NULL. Index 0 of masks is none, 1 is causal. */
extern const char *const mask_names[];
extern const char *const save_names[];

/* The rows that every experiment's table has. */
#define KEY_SAVE_SPEC                                                                                                  \
  {                                                                                                                    \
    .key = "save", .doc = "tensors of the unshifted, unpermuted input at the smallest length and first mask to store", \
    .type = KEY_CHOICE_LIST, .fallback = "[]", .choices = save_names                                                   \
  }

/* The masks of the key `mask`: `auto` is what the weights were trained with (none where they do not say). masks [2]
 * holds 0 or 1; *is_list: the key was a list, so that measures have a mask axis. Returns how many. */
size_t masks_of(const struct experiment_context *context, int masks[2], bool *is_list);

/* Store what `save` names for tokens 0 .. n - 1 at positions from 0 under one mask. */
int save_tensors(const struct experiment_context *context, const struct key_value *save, size_t text, size_t n,
                 bool causal, struct record *record, struct error *err);

/* The ids of every text that the model reads, as text_<t>_ids; nothing where it is not given as ids. */
int save_token_ids(const struct model *model, struct record *record, struct error *err);

/* The usual axes of a model. */
struct axis_spec axis_head(const struct model *model);
struct axis_spec axis_mask(const int *masks, size_t n);

/* doubles of tensor `name` with a leading `seed` axis averaged out (NaN where any seed has none); *count is what is
 * left. To be freed; NULL: no such tensor (err->code 0) or no memory. */
double *measure(const struct record *record, const char *name, size_t *count, struct error *err);

/* Whether the record carries numbers. */
bool record_has_numbers(const struct record *record);

/* A new comparison group "comparison" or "comparison_<measure>", a new table. NULL with ERROR_MEMORY. */
struct record *conclusion_add_comparison(struct conclusion *conclusion, const struct plan_experiment *entry,
                                         const char *measure, const char *title, struct error *err);
struct table *conclusion_add_table(struct conclusion *conclusion, struct error *err);

/* One variable of a comparison: `values` [axis->length] of one scheme under its label, with <label>_status. */
int comparison_add(struct record *comparison, const struct plan_scheme *scheme, const struct record *record,
                   const struct axis_spec *axis, const double *values, const char *what, const char *units,
                   struct error *err);

#endif
