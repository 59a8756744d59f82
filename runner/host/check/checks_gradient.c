/* Checks of the gradients that a scheme offers (pe.vjp/1), against differences of what it computes. */
#include "host/check/compute.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function of inputs and tensors, a direction to move them in, and what the outputs do then. */
struct slope {
  struct subject *subject;
  const pe_ext_vjp *vjp;
  float *input, *input_move; /* [inputs]; QK: query rows; BIAS with content: none here */
  size_t inputs;
  float **tensor_move; /* [n_tensors][elements]; NULL where absent */
  float *output_move;  /* [outputs]: change of the outputs per unit of the direction */
  size_t outputs;
  float *cotangent; /* [outputs] */
};

enum { DIRECTIONS = 3 };
/* Widths of the differences: the second one, in more noise, only where a kink may lie within the first. */
static const double STEPS[] = {1.0 / 256, 1.0 / 2048};

static size_t elements_of(const struct subject *subject, size_t tensor) {
  size_t count = subject->tensors[tensor] ? 1 : 0;
  for (uint32_t axis = 0; count && axis < subject->dims[tensor].rank; axis++) {
    count *= subject->dims[tensor].dim[axis];
  }
  return count;
}

static double dot(const float *a, const float *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (double)a[i] * (double)b[i];
  }
  return sum;
}

/* Random moves, of the size of what they move. */
static void choose_direction(struct slope *slope, uint64_t draw) {
  struct subject *subject = slope->subject;
  char name[32];
  snprintf(name, sizeof name, "direction %llu", (unsigned long long)draw);
  struct rng rng = check_rng(subject->run, name);
  uint64_t at = 0;
  for (size_t i = 0; i < slope->inputs; i++) {
    slope->input_move[i] = (float)rng_normal(&rng, at++);
  }
  for (size_t t = 0; t < subject->table->n_tensors; t++) {
    size_t count = elements_of(subject, t);
    double size = count ? sqrt(dot(subject->tensors[t], subject->tensors[t], count) / (double)count) : 0;
    for (size_t i = 0; i < count; i++) {
      slope->tensor_move[t][i] = (float)(fmax(size, 1e-3) * rng_normal(&rng, at++));
    }
  }
}

static void move_by(struct slope *slope, double amount) {
  struct subject *subject = slope->subject;
  for (size_t i = 0; i < slope->inputs; i++) {
    slope->input[i] += (float)(amount * (double)slope->input_move[i]);
  }
  for (size_t t = 0; t < subject->table->n_tensors; t++) {
    size_t count = elements_of(subject, t);
    for (size_t i = 0; i < count; i++) {
      subject->tensors[t][i] += (float)(amount * (double)slope->tensor_move[t][i]);
    }
  }
}

static const float *output_of(const struct outputs *out, uint32_t site) {
  return site == PE_SITE_EMBED ? out->embed : site == PE_SITE_QK ? out->query : out->bias;
}

/* Outputs at `amount` along the direction, added to *sum with a weight. */
static bool add_outputs_at(struct slope *slope, uint32_t site, double amount, double weight, double *sum) {
  struct outputs out = {0};
  move_by(slope, amount);
  bool done = compute_or_skip(slope->subject, &(struct method){.plain = true}, &out, PROBLEM_HOST);
  move_by(slope, -amount);
  for (size_t i = 0; done && i < slope->outputs; i++) {
    sum[i] += weight * (double)output_of(&out, site)[i];
  }
  outputs_free(&out);
  return done;
}

/* The derivative along the direction, by central differences of two step widths (Richardson): the error is of fourth
 * order, so that the step can stay above the rounding of float. */
static bool measure(struct slope *slope, uint32_t site, double step) {
  struct error err;
  double *sum = memory_new(slope->outputs, sizeof *sum, "differences", &err);
  bool done = sum && add_outputs_at(slope, site, step, -1.0 / 6, sum) &&
              add_outputs_at(slope, site, -step, 1.0 / 6, sum) && add_outputs_at(slope, site, step / 2, 8.0 / 6, sum) &&
              add_outputs_at(slope, site, -step / 2, -8.0 / 6, sum);
  for (size_t i = 0; done && i < slope->outputs; i++) {
    slope->output_move[i] = (float)(sum[i] / step);
  }
  free(sum);
  return done;
}

/* Gradients from the plugin: input_gradient [inputs] and tensor_gradient [n_tensors][elements], added to what is there.
 */
static pe_status ask_rows(const struct slope *slope, int role, float *input_gradient, float *const *tensor_gradient,
                          void *scratch, pe_error *why) {
  const struct subject *subject = slope->subject;
  bool embed = role == PE_ROLE_EMBED;
  size_t d_in = embed ? 0 : subject->shape.head_dim, d_out = embed ? subject->shape.d_model : subject->width;
  pe_rows forward = {.struct_size = sizeof forward,
                     .role = role,
                     .n_heads = embed ? 1 : subject->shape.n_heads,
                     .seq_len = subject->seq_len,
                     .n = subject->n,
                     .pos = subject->pos,
                     .in = embed ? NULL : slope->input,
                     .in_stride = d_in,
                     .in_head_stride = subject->n * d_in,
                     .out = NULL,
                     .out_stride = d_out,
                     .out_head_stride = subject->n * d_out};
  pe_rows backward = forward;
  backward.in = slope->cotangent;
  backward.in_stride = d_out;
  backward.in_head_stride = subject->n * d_out;
  backward.out = embed ? NULL : input_gradient;
  backward.out_stride = d_in;
  backward.out_head_stride = subject->n * d_in;
  check_stage(subject->run, "rows_vjp, role %d", role);
  return slope->vjp->rows_vjp(subject->self, &forward, &backward, tensor_gradient, scratch, why);
}

/* One query head after the other; dq and dk go to blocks of their own, which the caller does not look at: content
 * enters the product as well, and its own gradient is the kernel's. */
static pe_status ask_bias(const struct slope *slope, float *const *tensor_gradient, void *scratch, pe_error *why) {
  const struct subject *subject = slope->subject;
  bool content = (subject->traits & PE_TRAIT_CONTENT) != 0;
  size_t n = subject->n, width = subject->width, group = subject->shape.n_heads / subject->shape.n_kv_heads;
  struct error err;
  float *dq = memory_new(n, width * sizeof *dq, "dq", &err), *dk = memory_new(n, width * sizeof *dk, "dk", &err);
  pe_status status = dq && dk ? PE_OK : PE_ERR_MEMORY;
  for (uint32_t head = 0; head < subject->shape.n_heads && status == PE_OK; head++) {
    pe_tile tile = {.struct_size = sizeof tile,
                    .head = head,
                    .seq_len = subject->seq_len,
                    .nq = n,
                    .nk = n,
                    .pos_q = subject->pos,
                    .pos_k = subject->pos,
                    .q = content ? subject->content_q + head * n * width : NULL,
                    .k = content ? subject->content_k + head / group * n * width : NULL,
                    .q_stride = width,
                    .k_stride = width,
                    .s = slope->cotangent + head * n * n,
                    .s_stride = n};
    check_stage(subject->run, "bias_vjp, head %u", head);
    status = slope->vjp->bias_vjp(subject->self, &tile, content ? dq : NULL, content ? width : 0, content ? dk : NULL,
                                  content ? width : 0, tensor_gradient, scratch, why);
  }
  free(dq);
  free(dk);
  return status;
}

/* Blocks for the gradients of all tensors, each element `start`. NULL where there are none. */
static float **gradient_blocks(const struct subject *subject, float start) {
  struct error err;
  size_t n = subject->table->n_tensors;
  float **blocks = memory_new(n, sizeof *blocks, "gradients", &err);
  for (size_t t = 0; blocks && t < n; t++) {
    size_t count = elements_of(subject, t);
    blocks[t] = count ? memory_new(count, sizeof **blocks, "a gradient", &err) : NULL;
    for (size_t i = 0; blocks[t] && i < count; i++) {
      blocks[t][i] = start;
    }
  }
  return blocks;
}

static void free_blocks(const struct subject *subject, float **blocks) {
  for (size_t t = 0; blocks && t < subject->table->n_tensors; t++) {
    free(blocks[t]);
  }
  free(blocks);
}

/* <gradient, direction> by the plugin. */
static double by_gradients(const struct slope *slope, const float *input_gradient, float *const *tensor_gradient,
                           float start) {
  const struct subject *subject = slope->subject;
  double sum = input_gradient ? dot(input_gradient, slope->input_move, slope->inputs) : 0;
  for (size_t t = 0; t < subject->table->n_tensors; t++) {
    size_t count = elements_of(subject, t);
    for (size_t i = 0; i < count; i++) {
      sum += ((double)tensor_gradient[t][i] - (double)start) * (double)slope->tensor_move[t][i];
    }
  }
  return sum;
}

/* <cotangent, J direction> by differences against what the gradients say. */
static void compare(struct slope *slope, uint32_t site, double got, float start, const char *what) {
  double expected = 0;
  for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
    if (i > 0 && !measure(slope, site, STEPS[i])) {
      return;
    }
    expected = dot(slope->cotangent, slope->output_move, slope->outputs);
    double size = sqrt(dot(slope->cotangent, slope->cotangent, slope->outputs) *
                       dot(slope->output_move, slope->output_move, slope->outputs));
    if (fabs(expected - got) <= 1e-2 * size + 1e-6) {
      return;
    }
  }
  check_fail(slope->subject->run,
             "%s: along a direction the loss changes by %.6g per unit, the gradients say %.6g (blocks begin at %g)",
             what, expected, got, (double)start);
}

static void try_direction(struct slope *slope, uint32_t site, float start) {
  struct subject *subject = slope->subject;
  struct check_run *run = subject->run;
  struct error err;
  size_t scratch_bytes = subject_scratch_bytes(subject, subject->n, subject->n);
  float *input_gradient = slope->inputs ? memory_new(slope->inputs, sizeof(float), "gradients", &err) : NULL;
  float **blocks = gradient_blocks(subject, start);
  void *scratch = scratch_bytes ? memory_new(scratch_bytes, 1, "scratch", &err) : NULL;
  float *const *dw = subject->table->n_tensors ? blocks : NULL;
  pe_error why = {.struct_size = sizeof why, .where = -1};
  pe_status status = PE_ERR_MEMORY;
  if (blocks && (scratch || !scratch_bytes) && (input_gradient || !slope->inputs)) {
    status = site == PE_SITE_BIAS ? ask_bias(slope, dw, scratch, &why)
                                  : ask_rows(slope, site == PE_SITE_EMBED ? PE_ROLE_EMBED : PE_ROLE_QUERY,
                                             input_gradient, dw, scratch, &why);
  }
  why.msg[sizeof why.msg - 1] = '\0';
  if (status != PE_OK) {
    check_fail(run, "the gradient call gives status %d: %s", status, why.msg);
  } else {
    compare(slope, site, by_gradients(slope, input_gradient, blocks, start), start,
            site == PE_SITE_BIAS    ? "bias_vjp"
            : site == PE_SITE_EMBED ? "rows_vjp of embeddings"
                                    : "rows_vjp of queries");
  }
  free_blocks(subject, blocks);
  free(input_gradient);
  free(scratch);
}

static bool slope_open(struct slope *slope, struct subject *subject, const pe_ext_vjp *vjp, uint32_t site) {
  struct error err;
  size_t n = subject->n, heads = subject->shape.n_heads;
  *slope = (struct slope){.subject = subject, .vjp = vjp};
  slope->inputs = site == PE_SITE_QK ? heads * n * subject->shape.head_dim : 0;
  slope->input = site == PE_SITE_QK ? subject->query : NULL;
  slope->outputs = site == PE_SITE_EMBED ? n * subject->shape.d_model
                   : site == PE_SITE_QK  ? heads * n * subject->width
                                         : heads * n * n;
  slope->input_move = memory_new(slope->inputs, sizeof(float), "a direction", &err);
  slope->tensor_move = gradient_blocks(subject, 0);
  slope->output_move = memory_new(slope->outputs, sizeof(float), "outputs", &err);
  slope->cotangent = memory_new(slope->outputs, sizeof(float), "outputs", &err);
  return slope->input_move && slope->tensor_move && slope->output_move && slope->cotangent;
}

static void slope_close(struct slope *slope) {
  free(slope->input_move);
  free_blocks(slope->subject, slope->tensor_move);
  free(slope->output_move);
  free(slope->cotangent);
}

static void gradient_of(struct subject *subject, const pe_ext_vjp *vjp, uint32_t site) {
  struct slope slope;
  if (slope_open(&slope, subject, vjp, site)) {
    for (uint64_t direction = 0; direction < DIRECTIONS && !check_failed(subject->run); direction++) {
      choose_direction(&slope, direction);
      if (!measure(&slope, site, STEPS[0])) {
        break;
      }
      /* Along the change itself, where a wrong factor shows most; then against anything. */
      memcpy(slope.cotangent, slope.output_move, slope.outputs * sizeof(float));
      try_direction(&slope, site, 0);
      struct rng rng = check_rng(subject->run, "cotangent");
      for (size_t i = 0; i < slope.outputs; i++) {
        slope.cotangent[i] = (float)rng_normal(&rng, direction * slope.outputs + i);
      }
      try_direction(&slope, site, 0);
      try_direction(&slope, site, 3);
    }
  }
  slope_close(&slope);
}

static const pe_ext_vjp *find_vjp(struct subject *subject) {
  if (!PE_HAS(subject->table, pe_scheme, extension)) {
    return NULL;
  }
  check_stage(subject->run, "extension(\"" PE_EXT_VJP "\")");
  return subject->table->extension(PE_EXT_VJP);
}

/* Far away an angle moves by turns within one step of a frequency: differences say nothing there. */
static bool is_near(const struct subject *subject) {
  for (size_t i = 0; i < subject->n * subject->axes; i++) {
    if (fabs(subject->pos[i]) > 100) {
      return false;
    }
  }
  return true;
}

static void rows_each(struct subject *subject) {
  const pe_ext_vjp *vjp = find_vjp(subject);
  uint32_t sites = subject_sites(subject) & (PE_SITE_EMBED | PE_SITE_QK);
  if (!vjp || !sites) {
    check_skip(subject->run, sites ? "it offers no gradients" : "it has no rows: it acts on scores alone");
    return;
  }
  if (!PE_HAS(vjp, pe_ext_vjp, rows_vjp)) {
    check_fail(subject->run, "it offers " PE_EXT_VJP " without rows_vjp");
    return;
  }
  if ((sites & PE_SITE_EMBED) && is_near(subject)) {
    gradient_of(subject, vjp, PE_SITE_EMBED);
  }
  if ((sites & PE_SITE_QK) && is_near(subject) && !check_failed(subject->run)) {
    gradient_of(subject, vjp, PE_SITE_QK);
  }
}

void check_gradient_rows(struct check_run *run) {
  subject_each(run, rows_each);
}

static void bias_each(struct subject *subject) {
  const pe_ext_vjp *vjp = find_vjp(subject);
  bool acts = (subject_sites(subject) & PE_SITE_BIAS) != 0;
  if (!vjp || !acts) {
    check_skip(subject->run, acts ? "it offers no gradients" : "it does not act on scores");
    return;
  }
  if (!PE_HAS(vjp, pe_ext_vjp, bias_vjp)) {
    check_fail(subject->run, "it offers " PE_EXT_VJP " without bias_vjp");
    return;
  }
  gradient_of(subject, vjp, PE_SITE_BIAS);
}

void check_gradient_bias(struct check_run *run) {
  subject_each(run, bias_each);
}
