/* Checks of making and ending instances. */
#include "host/check/compute.h"
#include "host/check/value_set.h"
#include "host/plugin_tables.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- create ---- */

void check_create_defaults(struct check_run *run) {
  struct subject subject;
  pe_error why;
  pe_status status = subject_open(run, &(struct subject_wish){0}, &subject, &why);
  if (status != PE_OK && !check_failed(run)) {
    check_fail(run,
               "create with default parameters gives status %d for every usual model, here heads %u, d_model %u, "
               "head_dim %u: %s",
               status, subject.shape.n_heads, subject.shape.d_model, subject.shape.head_dim, why.msg);
  }
  subject_close(&subject);
}

/* Any answer will do that the contract has, with a sentence. */
static void must_answer(struct check_run *run, const struct subject_wish *wish) {
  struct subject subject;
  pe_error why;
  pe_status status = subject_open(run, wish, &subject, &why);
  if (status < PE_OK || status > PE_ERR_INTERNAL) {
    check_fail(run, "create gives status %d, which the contract does not have", status);
  } else if ((status == PE_ERR_PARAM || status == PE_ERR_SHAPE || status == PE_ERR_UNSUPPORTED) && !why.msg[0]) {
    check_fail(run, "create refuses with status %d and says nothing", status);
  } else if (status == PE_ERR_POS_RANGE || status == PE_ERR_POS_KIND) {
    check_fail(run, "create gives status %d, which is for positions: %s", status, why.msg);
  }
  subject_close(&subject);
}

void check_create_bounds(struct check_run *run) {
  struct value_set set;
  struct error err;
  if (value_set_new(run->table, &set, &err)) {
    check_fail(run, "%s", err.text);
    return;
  }
  for (size_t which = 0; which < run->table->n_params; which++) {
    for (size_t variant = 0; !check_failed(run); variant++) {
      value_set_defaults(&set);
      if (!value_set_variant(&set, which, variant)) {
        break;
      }
      value_set_describe(&set, run->variant, sizeof run->variant);
      must_answer(run, &(struct subject_wish){.values = set.values});
    }
  }
  value_set_free(&set);
}

void check_create_random(struct check_run *run) {
  struct value_set set;
  struct error err;
  if (value_set_new(run->table, &set, &err)) {
    check_fail(run, "%s", err.text);
    return;
  }
  static const uint64_t DRAWS[] = {[CHECK_QUICK] = 20, [CHECK_FULL] = 200, [CHECK_DEEP] = 5000};
  struct rng rng = check_rng(run, "create");
  for (uint64_t draw = 0; draw < DRAWS[run->options->level] && !check_failed(run); draw++) {
    value_set_random(&set, &rng, draw);
    value_set_describe(&set, run->variant, sizeof run->variant);
    must_answer(run, &(struct subject_wish){.values = set.values});
  }
  value_set_free(&set);
}

/* Models at the edges of what there is: one head, odd and tiny widths, no widths at all. Those that are taken must
 * work. */
void check_create_shapes(struct check_run *run) {
  static const struct {
    uint32_t n_heads, n_kv_heads, d_model, head_dim;
    double train_len;
  } SHAPES[] = {{1, 1, 1, 1, 1},        {1, 1, 2, 2, 1},       {3, 1, 9, 3, 7},    {3, 3, 15, 5, 0}, {4, 1, 28, 7, 16},
                {12, 12, 768, 64, 512}, {5, 5, 50, 10, 33},    {6, 2, 36, 6, 5},   {4, 4, 0, 8, 0},  {2, 2, 12, 0, 8},
                {7, 7, 98, 14, 100},    {16, 4, 1024, 96, 64}, {1, 1, 33, 33, 1e6}};
  for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0] && !check_failed(run); i++) {
    pe_shape shape = {.struct_size = sizeof shape,
                      .n_layers = 1,
                      .n_heads = SHAPES[i].n_heads,
                      .n_kv_heads = SHAPES[i].n_kv_heads,
                      .d_model = SHAPES[i].d_model,
                      .head_dim = SHAPES[i].head_dim,
                      .train_len = SHAPES[i].train_len};
    snprintf(run->variant, sizeof run->variant, "heads %u, key heads %u, d_model %u, head_dim %u, train_len %g",
             shape.n_heads, shape.n_kv_heads, shape.d_model, shape.head_dim, shape.train_len);
    struct subject_wish wish = {.shape = &shape};
    must_answer(run, &wish);
    /* A site without its widths is refused by the host before create is asked. */
    uint32_t sites = run->table->sites;
    if (((sites & PE_SITE_EMBED) && shape.d_model == 0) || ((sites & PE_SITE_QK) && shape.head_dim == 0)) {
      continue;
    }
    struct subject subject;
    pe_error why;
    if (!check_failed(run) && subject_open(run, &wish, &subject, &why) == PE_OK) {
      struct outputs out;
      struct problem problem = compute(&subject, &(struct method){.gap = 2}, &out, NULL);
      if (problem.kind != PROBLEM_NONE) {
        check_fail(run, "create takes this shape, but %s", problem.text);
      }
      outputs_free(&out);
      subject_close(&subject);
    } else if (!check_failed(run)) {
      subject_close(&subject);
    }
  }
}

/* ---- the end ---- */

void check_destroy(struct check_run *run) {
  check_stage(run, "destroy(NULL)");
  run->table->destroy(NULL);
}

static bool live_and_die(struct check_run *run) {
  struct subject subject;
  pe_error why;
  bool made = subject_open(run, &(struct subject_wish){.tokens = 3}, &subject, &why) == PE_OK;
  struct outputs out = {0};
  if (made) {
    compute(&subject, &(struct method){.plain = true}, &out, NULL);
  }
  outputs_free(&out);
  subject_close(&subject);
  return made;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void check_create_leaks(struct check_run *run) {
  /* A scheme with dear instances gets fewer of them. */
  enum { WARM_UP = 20, INSTANCES = 1000, FEWEST = 50 };
  static const double LONGEST = 2;
  for (int i = 0; i < WARM_UP; i++) {
    if (!live_and_die(run)) {
      check_skip(run, "not to be judged: see create.defaults");
      return;
    }
  }
  size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, made = 0;
  double end = seconds_now() + LONGEST;
  while (made < INSTANCES && (made < FEWEST || seconds_now() < end)) {
    live_and_die(run);
    made++;
  }
  size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;

  if (after > before + 16 * made) { /* the smallest block that malloc has takes more */
    check_fail(run, "%zu instances, made, used and destroyed, leave %zu bytes behind, %zu per instance", made,
               after - before, (after - before) / made);
  }
}

/* ---- tensors ---- */

/* Contents may change between calls: an instance must do with the new ones what a fresh instance does. */
static void tensors_each(struct subject *subject) {
  struct check_run *run = subject->run;
  bool any = false;
  struct outputs before = {0}, changed = {0}, again = {0};
  if (!compute_or_skip(subject, &(struct method){0}, &before, PROBLEM_HOST)) {
    outputs_free(&before);
    return;
  }
  for (size_t t = 0; t < subject->table->n_tensors; t++) {
    size_t count = subject->tensors[t] ? 1 : 0;
    for (uint32_t axis = 0; count && axis < subject->dims[t].rank; axis++) {
      count *= subject->dims[t].dim[axis];
    }
    for (size_t i = 0; i < count; i++) {
      subject->tensors[t][i] *= 0.75f;
      any = true;
    }
  }
  if (!any) {
    check_skip(run, "it has no tensors");
  } else if (compute_or_skip(subject, &(struct method){0}, &changed, PROBLEM_HOST)) {
    check_stage(run, "tensor_bind, a second time");
    const float *bound[64] = {0};
    for (size_t t = 0; t < subject->table->n_tensors && t < 64; t++) {
      bound[t] = subject->tensors[t];
    }
    char text[400];
    if (subject->table->n_tensors <= 64 && subject->table->tensor_bind(subject->self, bound) == PE_OK &&
        compute_or_skip(subject, &(struct method){0}, &again, PROBLEM_HOST) &&
        !outputs_equal(subject, &changed, &again, text, sizeof text)) {
      check_fail(run,
                 "%s: after the bound contents changed against after they were bound again: it keeps something that it "
                 "computed from them",
                 text);
    }
  }
  outputs_free(&before);
  outputs_free(&changed);
  outputs_free(&again);
}

void check_tensors(struct check_run *run) {
  subject_each(run, tensors_each);
}
