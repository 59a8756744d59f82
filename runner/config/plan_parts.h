/* The steps from a tree to a plan, in order. Each reports what is wrong and goes on where it can. */
#ifndef PE_CONFIG_PLAN_PARTS_H
#define PE_CONFIG_PLAN_PARTS_H

#include "config/entries.h"
#include "config/plan.h"
#include "config/reader.h"

/* What goes together in the section `model`: one source, tokens where they are needed, shapes that divide. */
void model_check(struct reader *reader, const struct section *model, const struct node *node);

/* Whether numbers of the model follow from the seed, so that several seeds make sense. */
bool model_is_random(const struct section *model);

/* Read the schemes into plan->schemes, the implied control not yet among them. */
void schemes_read(struct reader *reader, const struct plan_request *request, const struct entry_list *list,
                  const struct node *entries, struct plan *plan);

/* Read the experiments into plan->experiments. */
void experiments_read(struct reader *reader, const struct plan_request *request, const struct entry_list *list,
                      const struct node *entries, struct plan *plan);

/* Add the control where an experiment wants it and no scheme is one. */
void control_add(struct reader *reader, const struct plan_request *request, const struct node *root, struct plan *plan);

/* Read what the results are held to; `texts` is the value of `expect`, `node` where it stands. The plan's schemes and
 * experiments are complete. */
void expectations_read(struct reader *reader, const struct key_value *texts, const struct node *node,
                       struct plan *plan);

/* Read one measure without a scheme, [experiment.]measure[axis=value, ...][.reduction], into *out. False after a
 * report.
 */
bool measure_read(struct reader *reader, const char *text, const struct node *node, const char *path,
                  const struct plan *plan, struct plan_expectation *out);

/* Read `decision` into plan->decision: `section` of config_decision_table(), which the plan takes over, as it stands at
 * `node`. The plan's schemes and experiments are complete. */
void decision_read(struct reader *reader, struct section *section, const struct node *node, struct plan *plan);

/* Refuse conditions of plan->decision that follow from others. */
void decision_check(struct reader *reader, const struct node *node, const struct plan *plan);

/* The table of the section, for that of the whole config. */
extern const struct key_table decision_table;

#endif
