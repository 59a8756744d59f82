/* One model of the experiment: made, trained, kept. */
#include "experiments/length_generalization.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/section_text.h"
#include "host/gradients.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Steps and seconds from one state to the next, at least. */
enum { STATE_STEPS = 10, STATE_SECONDS = 5 };

/* Of a job's progress; the rest is measuring. */
static const double TRAINING_SHARE = 0.9;

static pe_shape plugin_shape(const struct generalization *g) {
  const struct decoder_shape *s = &g->shape;
  return (pe_shape){.struct_size = sizeof(pe_shape),
                    .n_layers = (uint32_t)s->layers,
                    .n_heads = (uint32_t)s->heads,
                    .n_kv_heads = (uint32_t)s->heads,
                    .d_model = (uint32_t)s->d_model,
                    .head_dim = (uint32_t)(s->d_model / s->heads),
                    .train_len = (double)g->train_length};
}

static int make_other(const struct generalization *g, struct trained *out, struct error *err) {
  const struct plan_scheme *entry = g->context->scheme_entry;
  if (!entry->other_every) {
    return 0;
  }
  const struct scheme *scheme = host_find(g->context->host, entry->other_scheme, NULL, err);
  if (!scheme) {
    return err->code;
  }
  if (scheme->info.n_tensors) {
    return error_set(err, ERROR_JOB_SETUP,
                     "%s: layers.scheme: %s has tensors to learn; the other scheme of a mixed stack may have none",
                     entry->label, entry->other_scheme);
  }
  struct instance_request request = {.scheme = scheme, .shape = plugin_shape(g)};
  out->other = instance_new(&request, err);
  out->stack.other = out->other;
  out->stack.every = entry->other_every;
  return out->other ? instance_need_gradients(out->other, err) : (int)err->code;
}

static int make(const struct generalization *g, size_t seed, struct trained *out, struct error *err) {
  const struct experiment_context *context = g->context;
  *out = (struct trained){0};
  struct instance_request request = {.scheme = context->plugin,
                                     .shape = plugin_shape(g),
                                     .params = context->scheme_entry->params,
                                     .tensors = context->tensors,
                                     .map = context->scheme_entry->map,
                                     .seed = context->seed + seed};
  out->scheme = instance_new(&request, err);
  out->stack = (struct stack){.scheme = out->scheme};
  int status = out->scheme ? instance_need_gradients(out->scheme, err) : (int)err->code;
  status = status ? status : make_other(g, out, err);
  struct decoder_shape shape = g->shape;
  if (!status && g->follows_scheme_scale) {
    shape.score_scale = instance_score_scale(out->scheme, shape.score_scale);
  }
  status = status ? status : parameters_init(&out->layout, &shape, out->scheme, err);
  if (!status) {
    out->parameters = parameters_block(&out->layout, err);
    out->losses = memory_new(g->steps, sizeof *out->losses, "losses", err);
    status = out->parameters && out->losses ? 0 : ERROR_MEMORY;
  }
  return status;
}

void generalization_tell(const struct generalization *g, const char *words) {
  const struct experiment_context *context = g->context;
  if (context->progress) {
    double done = TRAINING_SHARE * g->course->trained + (1 - TRAINING_SHARE) * g->course->measured;
    context->progress(context->progress_context, done < 1 ? done : 1, words);
  }
}

static void tell_step(void *context, size_t step, double loss) {
  const struct generalization *g = context;
  struct course *course = g->course;
  char words[80];
  course->trained = (double)(course->first_step + step) / (double)course->all_steps;
  snprintf(words, sizeof words, "step %zu/%zu, loss %.3f", course->first_step + step, course->all_steps, loss);
  generalization_tell(g, words);
}

/* What decides the result of one training, for its state. */
static char *state_key(const struct generalization *g, size_t seed, double rate, struct error *err) {
  const struct experiment_context *context = g->context;
  char *keys = config_section_to_json(context->entry->keys, err);
  char *params = keys ? config_section_to_json(context->scheme_entry->params, err) : NULL;
  struct text text = {0};
  if (params) {
    text_printf(&text, "%s %s %s %s %zu %s %" PRIu64 " %zu ", keys, params, context->plugin->info.sha256,
                context->scheme_entry->other_scheme ? context->scheme_entry->other_scheme : "",
                context->scheme_entry->other_every, context->scheme_entry->label, context->seed, seed);
    text_append_double(&text, rate);
  }
  free(keys);
  free(params);
  return params ? text_take(&text, err) : NULL;
}

int generalization_train(const struct generalization *g, size_t seed, double rate, const char *name,
                         struct trained *out, struct error *err) {
  const struct experiment_context *context = g->context;
  int status = make(g, seed, out, err);
  char *key = status ? NULL : state_key(g, seed, rate, err);
  struct text path = {0};
  char *state_path = NULL;
  status = status ? status : key ? 0 : (int)err->code;
  if (!status && context->state_path) {
    text_printf(&path, "%s.%s.state", context->state_path, name);
    state_path = text_take(&path, err);
    status = state_path ? 0 : (int)err->code;
  }
  if (!status) {
    struct training training = {.layout = &out->layout,
                                .stack = &out->stack,
                                .data = &g->data,
                                .optimiser = g->optimiser,
                                .seed = context->seed + seed,
                                .sequences = g->batch,
                                .length = g->train_length,
                                .state_path = state_path,
                                .state_key = key,
                                .state_every = STATE_STEPS,
                                .state_seconds = STATE_SECONDS,
                                .progress = tell_step,
                                .progress_context = (void *)(uintptr_t)g};
    training.optimiser.learning_rate = rate;
    status = training_run(&training, context->pool, out->parameters, out->losses, err);
    g->course->first_step += g->steps;
  }
  free(state_path);
  free(key);
  if (status) {
    trained_free(out);
  }
  return status;
}

void trained_free(struct trained *trained) {
  free(trained->parameters);
  free(trained->losses);
  parameters_destroy(&trained->layout);
  instance_free(trained->scheme);
  instance_free(trained->other);
  *trained = (struct trained){0};
}

/* ---- arguments that training does not meet ---- */

/* How many of the scheme's numbers `name` at length L satisfy (value > limit); *of: how many there are. */
static int count_above(const struct trained *trained, const char *name, double length, double limit, size_t *above,
                       size_t *of, struct error *err) {
  pe_derived derived;
  double *data = NULL;
  *above = *of = 0;
  int status = instance_derived_named(trained->scheme, length, name, &derived, &data, err);
  for (size_t i = 0; !status && data && i < derived.dim[0]; i++) {
    *above += data[i] > limit;
    ++*of;
  }
  free(data);
  return status;
}

char *generalization_untrained_arguments(const struct generalization *g, const struct trained *trained,
                                         struct error *err) {
  double L = (double)g->train_length, longest = (double)g->longest;
  struct text text = {0};
  size_t above, of;
  int status = count_above(trained, "bucket_edges", L, L - 1, &above, &of, err);
  if (!status && above) {
    text_printf(&text, "%zu of %zu buckets begin beyond distance %.0f and are never trained; ", above, of, L - 1);
  }
  /* A pair that turns by less than a circle within L meets angles beyond L that it never saw. */
  status = status ? status : count_above(trained, "inv_freq", L, 2 * 3.14159265358979323846 / L, &above, &of, err);
  if (!status && of > above) {
    text_printf(&text,
                "%zu of %zu pairs turn less than once within %.0f and meet angles beyond it that are never "
                "trained; ",
                of - above, of, L);
  }
  for (size_t i = trained->layout.scheme; i < trained->layout.n; i++) {
    const struct parameter *parameter = &trained->layout.items[i];
    bool rows = (instance_sites(trained->scheme) & PE_SITE_EMBED) && parameter->rank == 2 &&
                parameter->dim[1] == g->shape.d_model && (double)parameter->dim[0] > L;
    if (rows) {
      text_printf(&text, "%zu rows of %s from position %.0f on are never trained; ",
                  parameter->dim[0] - g->train_length, parameter->name, L);
    }
  }
  if (status || longest <= L) {
    text_free(&text);
    text = (struct text){0};
  } else if (text.length >= 2) {
    text.data[text.length -= 2] = '\0';
  }
  return status ? NULL : text_take(&text, err);
}
