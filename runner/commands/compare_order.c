#include "commands/compare_pair.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* order[c]: the channel of the second that plays the part of channel c of the first: partners by pair, the others in
 * their order. False where their pairs do not go together. */
static bool order_by_pairs(const struct pair *pair, size_t *order) {
  const struct angles *a = &pair->sides[0].angles, *b = &pair->sides[1].angles;
  size_t d = pair->head_dim, next = 0;
  if (!pair->sides[0].has_angles || !pair->sides[1].has_angles || a->n_pairs != b->n_pairs) {
    return false;
  }
  for (size_t c = 0; c < d; c++) {
    order[c] = d;
  }
  for (size_t i = 0; i < 2 * a->n_pairs; i++) {
    if (a->channel[i] >= d || b->channel[i] >= d) {
      return false;
    }
    order[a->channel[i]] = b->channel[i];
  }
  for (size_t c = 0; c < d; c++) {
    bool taken = true;
    while (order[c] == d && taken) {
      taken = false;
      for (size_t i = 0; i < 2 * b->n_pairs; i++) {
        taken = taken || b->channel[i] == next;
      }
      next += taken;
    }
    if (order[c] == d) {
      order[c] = next++;
    }
  }
  return true;
}

/* Whether the second turns reordered rows into the first's turned rows, reordered. */
static int rows_agree_in_order(struct pair *pair, const size_t *order, bool *agree, struct error *err) {
  struct side *a = &pair->sides[0], *b = &pair->sides[1];
  size_t d = pair->head_dim, rows = pair->heads * pair->n;
  float *in = pair_rows(pair, pair->x, err);
  float *moved = in ? memory_new_3d(rows, d, 1, sizeof *moved, "rows", err) : NULL;
  float *turned = NULL;
  for (size_t r = 0; moved && r < rows; r++) {
    for (size_t c = 0; c < d; c++) {
      moved[r * d + order[c]] = in[r * d + c];
    }
  }
  turned = moved ? side_turn(pair, b, PE_ROLE_QUERY, moved, err) : NULL;
  for (size_t r = 0; turned && r < rows; r++) {
    for (size_t c = 0; c < d; c++) {
      moved[r * d + c] = turned[r * d + order[c]];
    }
  }
  int status = turned ? 0 : (int)err->code;
  if (!status) {
    *agree = !difference_of(a->q, moved, pair->heads, pair->n, d).parts;
  }
  free(in);
  free(moved);
  free(turned);
  return status;
}

/* Whether each column of the first table is a column of the second, each used once. */
static int columns_agree(struct pair *pair, bool *agree, struct error *err) {
  const float *a = pair->sides[0].embedding, *b = pair->sides[1].embedding;
  size_t d = pair->d_model;
  bool *used = memory_new(d, sizeof *used, "channels", err);
  if (!used) {
    return err->code;
  }
  *agree = true;
  for (size_t c = 0; *agree && c < d; c++) {
    size_t found = d;
    for (size_t other = 0; found == d && other < d; other++) {
      bool same = !used[other];
      for (size_t r = 0; same && r < pair->n; r++) {
        same = fabs((double)a[r * d + c] - b[r * d + other]) <= compare_rounding_share;
      }
      found = same ? other : found;
    }
    *agree = found < d;
    if (*agree) {
      used[found] = true;
    }
  }
  free(used);
  return 0;
}

int pair_check_order(struct pair *pair, bool *agree, struct error *err) {
  struct side *a = &pair->sides[0], *b = &pair->sides[1];
  unsigned sites = instance_sites(a->instance);
  *agree = false;
  if (sites != instance_sites(b->instance) || (sites & PE_SITE_BIAS)) {
    return 0;
  }
  int status = 0;
  if (sites & PE_SITE_EMBED) {
    status = columns_agree(pair, agree, err);
  }
  if (!status && (sites & PE_SITE_QK)) {
    size_t *order = memory_new(pair->head_dim, sizeof *order, "channels", err);
    status = order ? 0 : (int)err->code;
    if (order && a->width == pair->head_dim && b->width == a->width && order_by_pairs(pair, order)) {
      status = rows_agree_in_order(pair, order, agree, err);
    }
    free(order);
  }
  return status;
}
