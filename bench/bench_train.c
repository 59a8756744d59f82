/* A step of training, as the experiment length_generalization makes them: batch, forward, backward, clipping, AdamW. */
#include "bench_instance.h"

#include "base/memory.h"
#include "train/training.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Steps before the clock starts: caches, threads and memory are warm then. */
enum { WARM_STEPS = 5 };

struct clock {
  double last;
  double *seconds; /* [steps] */
};

static void note(void *context, size_t step, double loss) {
  (void)loss;
  struct clock *clock = context;
  double now = bench_now();
  clock->seconds[step - 1] = now - clock->last;
  clock->last = now;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct sizes {
  size_t layers, d_model, heads, length, batch, threads, steps;
};

static int read_sizes(const struct bench *bench, struct sizes *s, struct error *err) {
  int status = bench_number(bench, "layers", 1, 64, &s->layers, err);
  status = status ? status : bench_number(bench, "heads", 1, 256, &s->heads, err);
  status = status ? status : bench_number(bench, "d_model", s->heads, 4096, &s->d_model, err);
  status = status ? status : bench_number(bench, "length", 2, 4096, &s->length, err);
  status = status ? status : bench_number(bench, "batch", 1, 4096, &s->batch, err);
  status = status ? status : bench_number(bench, "threads", 0, 1024, &s->threads, err);
  return status ? status : bench_number(bench, "steps", 1, 1000000, &s->steps, err);
}

static int train(const struct bench_instance *scheme, const struct sizes *s, const struct data *data, json_t *result,
                 struct error *err) {
  struct decoder_shape shape = {.layers = s->layers,
                                .d_model = s->d_model,
                                .heads = s->heads,
                                .d_ff = 4 * s->d_model,
                                .vocab = data->vocab,
                                .embed_scale = 1,
                                .pe_scale = 1,
                                .score_scale = 1 / sqrt((double)(s->d_model / s->heads)),
                                .norm_epsilon = 1e-5};
  size_t all = s->steps + WARM_STEPS;
  struct stack stack = {.scheme = scheme->instance};
  struct parameters layout;
  int status = parameters_init(&layout, &shape, scheme->instance, err);
  if (status) {
    return status;
  }
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  struct pool *pool = pool_new(s->threads ? (unsigned)s->threads : cores > 0 ? (unsigned)cores : 1, err);
  float *block = pool ? parameters_block(&layout, err) : NULL;
  double *losses = block ? memory_new(all, 2 * sizeof *losses, "losses", err) : NULL;
  status = losses ? 0 : (int)err->code;
  if (!status) {
    struct clock clock = {.last = bench_now(), .seconds = losses + all};
    struct training training = {.layout = &layout,
                                .stack = &stack,
                                .data = data,
                                .optimiser = {.learning_rate = 2e-3,
                                              .beta1 = 0.9,
                                              .beta2 = 0.95,
                                              .epsilon = 1e-8,
                                              .weight_decay = 0.1,
                                              .clip_norm = 1,
                                              .warmup_steps = 50,
                                              .total_steps = all,
                                              .min_ratio = 0.1},
                                .seed = 1,
                                .sequences = s->batch,
                                .length = s->length,
                                .progress = note,
                                .progress_context = &clock};
    status = training_run(&training, pool, block, losses, err);
    double *seconds = clock.seconds + WARM_STEPS;
    qsort(seconds, s->steps, sizeof *seconds, ascending);
    bench_put(result, "seconds", seconds[s->steps / 2]);
    bench_put(result, "seconds_min", seconds[0]);
    bench_put(result, "seconds_max", seconds[s->steps - 1]);
    bench_put(result, "loss", losses[all - 1]);
    bench_put(result, "parameters", (double)layout.count);
    bench_put_peak(result);
  }
  free(losses);
  free(block);
  pool_free(pool);
  parameters_destroy(&layout);
  return status;
}

int bench_train(const struct bench *bench, json_t *result, struct error *err) {
  struct sizes s;
  struct data data = {0};
  struct bench_instance scheme = {.host = NULL};
  int status = read_sizes(bench, &s, err);
  if (!status && s.d_model % s.heads) {
    status = error_set(err, ERROR_USAGE, "d_model %zu is not a multiple of heads %zu", s.d_model, s.heads);
  }
  if (!status) {
    scheme = (struct bench_instance){.length = s.length,
                                     .n_layers = s.layers,
                                     .n_heads = s.heads,
                                     .n_kv_heads = s.heads,
                                     .head_dim = s.d_model / s.heads};
    status = data_open_corpus(&data, (size_t)1 << 20, 1, err);
  }
  status = status ? status : bench_instance_open(&scheme, bench_text(bench, "scheme"), err);
  status = status ? status : instance_need_gradients(scheme.instance, err);
  status = status ? status : train(&scheme, &s, &data, result, err);
  bench_instance_close(&scheme);
  data_close(&data);
  return status;
}
