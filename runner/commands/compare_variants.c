#include "commands/compare_pair.h"

#include <stdlib.h>

static int compare_pair(struct pair *pair, enum agreement *agreement, struct error *err) {
  struct finding finding = {.identical = true};
  bool in_order = false;
  int status = pair_fill(pair, err);
  status = status ? status : pair_show_derived(pair, &finding, err);
  status = status ? status : pair_show_vectors(pair, &finding, err);
  status = status ? status : pair_show_scores(pair, &finding, err);
  status = status || !finding.parts ? status : pair_check_order(pair, &in_order, err);
  if (status) {
    return status;
  }
  *agreement = finding.identical ? AGREE_IDENTICAL
               : !finding.parts  ? AGREE_ROUNDING
               : in_order        ? AGREE_ORDER
                                 : AGREE_NOT;
  return pair_show_verdict(pair, *agreement, err);
}

int compare_variants(struct session *session, const struct compare_request *request, enum agreement *agreement,
                     struct error *err) {
  struct pair pair = {.request = request,
                      .heads = request->heads ? request->heads : 4,
                      .head_dim = request->head_dim ? request->head_dim : 64};
  pair.d_model = request->d_model ? request->d_model : pair.heads * pair.head_dim;
  int status = side_open(session, &pair, &request->ours, &pair.sides[0], err);
  status = status ? status : side_open(session, &pair, &request->theirs, &pair.sides[1], err);
  status = status ? status : compare_pair(&pair, agreement, err);
  side_close(&pair.sides[0]);
  side_close(&pair.sides[1]);
  free(pair.x);
  return status;
}
