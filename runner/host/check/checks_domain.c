/* Checks of where a scheme is defined, and of what it answers elsewhere. */
#include "host/check/compute.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- domain ---- */

void check_domain(struct check_run *run) {
  struct subject subject;
  if (subject_require(run, &(struct subject_wish){0}, &subject)) {
    const pe_domain *domain = &subject.domain;
    if (domain->integer_only > 1) {
      check_fail(run, "integer_only is %u, neither 0 nor 1", domain->integer_only);
    }
    if (domain->integer_only && isfinite(domain->min) && isfinite(domain->max) &&
        floor(domain->max) < ceil(domain->min)) {
      check_fail(run, "there is no whole number in its domain, %.17g to %.17g", domain->min, domain->max);
    }
    if (domain->trained_max < 0) {
      check_fail(run, "trained_max is %.17g", domain->trained_max);
    }
    subject_close(&subject);
  }
}

/* ---- one position at a time ---- */

enum { ROWS = 3, BAD_ROW = 1 };

/* A call with ROWS rows (or queries, or keys): the first at a usual position, the others at `position`. */
struct trial {
  struct subject *subject;
  const char *call;
  int role; /* PE_ROLE_*; -1: the queries, -2: the keys of a tile */
  double position;
};

struct answer {
  pe_status status;
  pe_error why;
  bool touched; /* the output is not what it was */
  bool moved;   /* something was added, or q and k are not passed through */
  bool finite;
};

enum { TILE_QUERY = -1, TILE_KEY = -2 };

static bool lend(struct check_run *run, const char *name, size_t bytes, size_t alignment, struct guarded *out) {
  struct error err;
  if (guard_new(run->guards, name, bytes, alignment, GUARD_AFTER, out, &err)) {
    check_fail(run, "%s", err.text);
    return false;
  }
  memset(out->data, 0, bytes);
  return true;
}

/* Not position 0 where there is another: there many encodings are zero, and a missing check would not show. */
static const double *usual_position(const struct subject *subject) {
  return subject->pos + (subject->n > 1 ? subject->axes : 0);
}

static void fill_positions(const struct trial *trial, double *pos, bool with_bad) {
  const struct subject *subject = trial->subject;
  for (size_t r = 0; r < ROWS; r++) {
    for (size_t axis = 0; axis < subject->axes; axis++) {
      pos[r * subject->axes + axis] = with_bad && r >= BAD_ROW ? trial->position : usual_position(subject)[axis];
    }
  }
}

static void judge_output(const float *out, const float *before, size_t count, struct answer *answer) {
  answer->touched = answer->moved = memcmp(out, before, count * sizeof *out) != 0;
  answer->finite = true;
  for (size_t i = 0; i < count; i++) {
    answer->finite = answer->finite && isfinite(out[i]);
  }
}

/* Of a call that holds the position, where it is one that a call can hold: what the host would pass. */
static double length_of(const struct trial *trial) {
  const struct subject *subject = trial->subject;
  bool inside = trial->position >= subject->domain.min && trial->position <= subject->domain.max;
  return inside && isfinite(trial->position) ? fmax(subject->seq_len, trial->position + 1) : subject->seq_len;
}

static void ask_rows(const struct trial *trial, struct answer *answer) {
  struct subject *subject = trial->subject;
  struct check_run *run = subject->run;
  bool embed = trial->role == PE_ROLE_EMBED;
  size_t d_in = embed ? 0 : subject->shape.head_dim, d_out = embed ? subject->shape.d_model : subject->width;
  struct guarded in = {0}, out = {0}, before = {0}, pos = {0}, scratch = {0};
  size_t scratch_bytes = subject_scratch_bytes(subject, ROWS, 0);
  if (lend(run, "in", ROWS * d_in * sizeof(float), 4, &in) && lend(run, "out", ROWS * d_out * sizeof(float), 4, &out) &&
      lend(run, "what was there", ROWS * d_out * sizeof(float), 4, &before) &&
      lend(run, "pos", ROWS * subject->axes * sizeof(double), 8, &pos) &&
      (scratch_bytes == 0 || lend(run, "scratch", scratch_bytes, 64, &scratch))) {
    for (size_t i = 0; i < ROWS * d_in; i++) {
      ((float *)in.data)[i] = subject->query[i % subject->shape.head_dim];
    }
    fill_positions(trial, pos.data, true);
    pe_rows rows = {.struct_size = sizeof rows,
                    .role = trial->role,
                    .n_heads = 1,
                    .seq_len = length_of(trial),
                    .n = ROWS,
                    .pos = pos.data,
                    .in = embed ? NULL : in.data,
                    .in_stride = d_in,
                    .in_head_stride = ROWS * d_in,
                    .out = out.data,
                    .out_stride = d_out,
                    .out_head_stride = ROWS * d_out};
    answer->why = (pe_error){.struct_size = sizeof answer->why, .where = -1};
    check_stage(run, "%s with rows from %d on of %d at position %.17g", trial->call, BAD_ROW, ROWS, trial->position);
    answer->status = embed ? subject->table->embed_add(subject->self, &rows, scratch.data, &answer->why)
                           : subject->table->qk_apply(subject->self, &rows, scratch.data, &answer->why);
    judge_output(out.data, before.data, ROWS * d_out, answer);
    answer->moved =
        answer->moved && (embed || d_in != d_out || memcmp(out.data, in.data, ROWS * d_in * sizeof(float)) != 0);
  }
  guard_free(run->guards, &scratch);
  guard_free(run->guards, &pos);
  guard_free(run->guards, &before);
  guard_free(run->guards, &out);
  guard_free(run->guards, &in);
}

static void ask_tile(const struct trial *trial, struct answer *answer) {
  struct subject *subject = trial->subject;
  struct check_run *run = subject->run;
  bool content = (subject->traits & PE_TRAIT_CONTENT) != 0;
  struct guarded s = {0}, before = {0}, pos_q = {0}, pos_k = {0}, rows = {0}, scratch = {0};
  size_t scratch_bytes = subject_scratch_bytes(subject, ROWS, ROWS);
  if (lend(run, "s", ROWS * ROWS * sizeof(float), 4, &s) &&
      lend(run, "what was there", ROWS * ROWS * sizeof(float), 4, &before) &&
      lend(run, "pos_q", ROWS * subject->axes * sizeof(double), 8, &pos_q) &&
      lend(run, "pos_k", ROWS * subject->axes * sizeof(double), 8, &pos_k) &&
      lend(run, "q and k", ROWS * subject->width * sizeof(float), 4, &rows) &&
      (scratch_bytes == 0 || lend(run, "scratch", scratch_bytes, 64, &scratch))) {
    fill_positions(trial, pos_q.data, trial->role == TILE_QUERY);
    fill_positions(trial, pos_k.data, trial->role == TILE_KEY);
    pe_tile tile = {.struct_size = sizeof tile,
                    .seq_len = length_of(trial),
                    .nq = ROWS,
                    .nk = ROWS,
                    .pos_q = pos_q.data,
                    .pos_k = pos_k.data,
                    .q = content ? rows.data : NULL,
                    .k = content ? rows.data : NULL,
                    .q_stride = subject->width,
                    .k_stride = subject->width,
                    .s = s.data,
                    .s_stride = ROWS};
    answer->why = (pe_error){.struct_size = sizeof answer->why, .where = -1};
    check_stage(run, "%s from %d on of %d at position %.17g", trial->call, BAD_ROW, ROWS, trial->position);
    answer->status = subject->table->bias_add(subject->self, &tile, scratch.data, &answer->why);
    judge_output(s.data, before.data, ROWS * ROWS, answer);
  }
  guard_free(run->guards, &scratch);
  guard_free(run->guards, &rows);
  guard_free(run->guards, &pos_k);
  guard_free(run->guards, &pos_q);
  guard_free(run->guards, &before);
  guard_free(run->guards, &s);
}

static struct answer ask(const struct trial *trial) {
  struct answer answer = {.status = PE_ERR_INTERNAL, .why = {.where = -1}};
  if (trial->role >= 0) {
    ask_rows(trial, &answer);
  } else {
    ask_tile(trial, &answer);
  }
  return answer;
}

/* Run judge() for each kind of call that the scheme has. */
static void for_each_call(struct subject *subject, double position,
                          void (*judge)(const struct trial *trial, const struct answer *answer)) {
  static const struct {
    uint32_t site;
    int role;
    const char *call;
  } CALLS[] = {{PE_SITE_EMBED, PE_ROLE_EMBED, "embed_add"},
               {PE_SITE_QK, PE_ROLE_QUERY, "qk_apply of queries"},
               {PE_SITE_QK, PE_ROLE_KEY, "qk_apply of keys"},
               {PE_SITE_BIAS, TILE_QUERY, "bias_add with query"},
               {PE_SITE_BIAS, TILE_KEY, "bias_add with key"}};
  for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
    if (subject_sites(subject) & CALLS[i].site) {
      struct trial trial = {.subject = subject, .call = CALLS[i].call, .role = CALLS[i].role, .position = position};
      struct answer answer = ask(&trial);
      judge(&trial, &answer);
    }
  }
}

/* ---- inside ---- */

static void must_be_defined(const struct trial *trial, const struct answer *answer) {
  struct check_run *run = trial->subject->run;
  /* What depends on the length, or on where unusual parameters lead, a domain cannot tell. */
  bool can_be_undefined = (trial->subject->traits & PE_TRAIT_LENGTH_DEPENDENT) != 0 || run->variant[0] != '\0';
  if (answer->status == PE_ERR_POS_RANGE && can_be_undefined && !answer->touched) {
    return;
  }
  if (answer->status != PE_OK) {
    check_fail(run, "%s: position %.17g is inside the domain, but the status is %d: %.200s", trial->call,
               trial->position, answer->status, answer->why.msg);
  } else if (!answer->finite) {
    check_fail(run, "%s: position %.17g is inside the domain, but the result is not finite", trial->call,
               trial->position);
  }
}

static void inside_each(struct subject *subject) {
  const pe_domain *domain = &subject->domain;
  const double usual = usual_position(subject)[0];
  /* The far ones are tried where they are inside; distances to the other rows count, too. */
  const double tried[] = {domain->min, domain->max, 0,   1,    -1,   127,        4096, 65536,
                          1e6,         -1e6,        0.5, 1e-3, 1e-9, 1e6 + 0.25, usual};
  for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
    double position = tried[i];
    bool inside = isfinite(position) && position >= domain->min && position <= domain->max &&
                  fabs(position - usual) <= domain->max_distance;
    if (inside && (!domain->integer_only || position == floor(position))) {
      for_each_call(subject, position, must_be_defined);
    }
  }
}

void check_domain_inside(struct check_run *run) {
  subject_each(run, inside_each);
}

/* ---- outside ---- */

static void must_be_refused(const struct trial *trial, const struct answer *answer, bool by_kind) {
  struct check_run *run = trial->subject->run;
  double position = trial->position;
  if (answer->status == PE_OK && !answer->moved) {
    return; /* a site where this instance does nothing claims nothing */
  }
  if (answer->status == PE_OK) {
    check_fail(run, "%s: position %.17g is outside the domain, and the status is PE_OK", trial->call, position);
  } else if (answer->status != PE_ERR_POS_RANGE && answer->status != PE_ERR_POS_KIND) {
    check_fail(run, "%s: position %.17g is outside the domain; the status is %d, PE_ERR_POS_%s is needed", trial->call,
               position, answer->status, by_kind ? "KIND" : "RANGE");
  } else if (by_kind && answer->status != PE_ERR_POS_KIND) {
    check_fail(run, "%s: position %.17g is a fraction; the status is PE_ERR_POS_RANGE, PE_ERR_POS_KIND is needed",
               trial->call, position);
  } else if (answer->why.where != BAD_ROW) {
    check_fail(run,
               "%s: row %d is the first offending one of rows %d and %d at position %.17g; the error names row %lld",
               trial->call, BAD_ROW, BAD_ROW, ROWS - 1, position, (long long)answer->why.where);
  } else if (!answer->why.msg[0]) {
    check_fail(run, "%s: position %.17g is refused without a sentence", trial->call, position);
  }
  if (answer->status != PE_OK && answer->touched) {
    check_fail(run, "%s: position %.17g in row %d is refused, but the output was written", trial->call, position,
               BAD_ROW);
  }
}

static void must_be_out_of_range(const struct trial *trial, const struct answer *answer) {
  must_be_refused(trial, answer, false);
}

static void must_be_no_fraction(const struct trial *trial, const struct answer *answer) {
  must_be_refused(trial, answer, true);
}

/* What is no number, or none that any computer has: refused, whichever way. */
static void must_not_be_taken(const struct trial *trial, const struct answer *answer) {
  struct check_run *run = trial->subject->run;
  if (answer->status == PE_OK && answer->moved && (isnan(trial->position) || !answer->finite)) {
    check_fail(run, "%s: position %g is taken with status PE_OK%s", trial->call, trial->position,
               answer->finite ? "" : ", and the result is not finite");
  } else if (answer->status != PE_OK && answer->touched) {
    check_fail(run, "%s: position %g is refused, but the output was written", trial->call, trial->position);
  } else if (answer->status != PE_OK && answer->status != PE_ERR_POS_RANGE && answer->status != PE_ERR_POS_KIND) {
    check_fail(run, "%s: position %g gives status %d, PE_ERR_POS_RANGE is needed", trial->call, trial->position,
               answer->status);
  }
}

static void must_not_reach(const struct trial *trial, const struct answer *answer) {
  struct check_run *run = trial->subject->run;
  /* Rows have no distances, and a scheme may have nothing for keys ahead of the query. */
  if (trial->role != TILE_QUERY || (answer->status == PE_OK && !answer->moved)) {
    return;
  }
  if (answer->status != PE_ERR_POS_RANGE) {
    check_fail(run, "%s: position %.17g is farther than max_distance from the others, and the status is %d",
               trial->call, trial->position, answer->status);
  } else if (answer->touched) {
    check_fail(run, "%s: position %.17g is too far away and refused, but the output was written", trial->call,
               trial->position);
  }
}

static bool all_defined(struct subject *subject) {
  struct outputs out;
  bool defined = compute(subject, &(struct method){0}, &out, NULL).kind == PROBLEM_NONE;
  outputs_free(&out);
  return defined;
}

static void outside_each(struct subject *subject) {
  const pe_domain *domain = &subject->domain;
  if (!all_defined(subject)) {
    check_skip(subject->run, "not to be judged: see calls");
    return;
  }
  if (isfinite(domain->max_distance) && usual_position(subject)[0] + domain->max_distance + 1 <= domain->max) {
    for_each_call(subject, usual_position(subject)[0] + floor(domain->max_distance) + 1, must_not_reach);
  }
  double step = domain->integer_only ? 1 : 0;
  if (isfinite(domain->max)) {
    double next = domain->integer_only ? floor(domain->max) + step : nextafter(domain->max, INFINITY);
    if (next > domain->max) { /* not where doubles are farther apart than 1 */
      for_each_call(subject, next, must_be_out_of_range);
    }
    if (domain->max < 1e300) {
      for_each_call(subject, fmax(domain->max + 1, domain->max * 2 + 1e6), must_be_out_of_range);
    }
  }
  if (isfinite(domain->min)) {
    double next = domain->integer_only ? ceil(domain->min) - step : nextafter(domain->min, -INFINITY);
    if (next < domain->min) {
      for_each_call(subject, next, must_be_out_of_range);
    }
    if (domain->min > -1e300) {
      for_each_call(subject, fmin(domain->min - 1, -fabs(domain->min) * 2 - 1e6), must_be_out_of_range);
    }
  }
  if (domain->integer_only && usual_position(subject)[0] + 0.5 <= domain->max) {
    for_each_call(subject, usual_position(subject)[0] + 0.5, must_be_no_fraction);
  }
  for_each_call(subject, NAN, must_not_be_taken);
  for_each_call(subject, INFINITY, must_not_be_taken);
  for_each_call(subject, -INFINITY, must_not_be_taken);
}

void check_domain_outside(struct check_run *run) {
  subject_each(run, outside_each);
}
