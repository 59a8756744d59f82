#include "train/optimiser.h"

#include "base/memory.h"
#include "train/kernels.h"

#include <math.h>
#include <stdlib.h>

/* Elements of a unit of work. */
enum { PIECE = 16384 };

double optimiser_learning_rate(const struct optimiser_setting *setting, size_t step) {
  double lr = setting->learning_rate, ratio = setting->min_ratio;
  double s = (double)step, warm = (double)setting->warmup_steps, total = (double)setting->total_steps;
  if (step < setting->warmup_steps) {
    return lr * (s + 1) / warm;
  }
  return lr * (ratio + (1 - ratio) / 2 * (1 + cos(3.14159265358979323846 * (s - warm) / (total - warm))));
}

/* A piece of one tensor. */
struct piece {
  size_t offset, count;
  bool decays;
};

struct update {
  const struct piece *pieces;
  double *squares; /* [pieces] */
  const float *gradient;
  float *first, *second, *parameters;
  struct adamw_step step; /* of tensors that do not decay */
  float decay_factor;
};

static int square_piece(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct update *update = context;
  const struct piece *piece = &update->pieces[unit];
  update->squares[unit] = train_kernels()->square_sum(piece->count, update->gradient + piece->offset);
  return 0;
}

static int step_piece(void *context, size_t unit, unsigned thread, struct error *err) {
  (void)thread;
  (void)err;
  const struct update *update = context;
  const struct piece *piece = &update->pieces[unit];
  struct adamw_step step = update->step;
  step.decay_factor = piece->decays ? update->decay_factor : 1.0f;
  train_kernels()->adamw(piece->count, &step, update->gradient + piece->offset, update->first + piece->offset,
                         update->second + piece->offset, update->parameters + piece->offset);
  return 0;
}

static struct piece *cut(const struct parameters *layout, enum decay decay, size_t *count, struct error *err) {
  size_t most = layout->n + layout->count / PIECE;
  struct piece *pieces = memory_new(most, sizeof *pieces, "the optimiser", err);
  *count = 0;
  for (size_t i = 0; pieces && i < layout->n; i++) {
    const struct parameter *parameter = &layout->items[i];
    for (size_t start = 0; start < parameter->count; start += PIECE) {
      size_t left = parameter->count - start;
      pieces[(*count)++] = (struct piece){.offset = parameter->offset + start,
                                          .count = left < PIECE ? left : PIECE,
                                          .decays = decay == DECAY_ALL || parameter->is_matrix};
    }
  }
  return pieces;
}

int optimiser_step(const struct parameters *layout, const struct optimiser_setting *setting, size_t step,
                   double learning_rate, const float *gradient, float *first, float *second, float *parameters,
                   struct pool *pool, double *norm, struct error *err) {
  size_t n_pieces;
  struct piece *pieces = cut(layout, setting->decay, &n_pieces, err);
  double *squares = pieces ? memory_new(n_pieces, sizeof *squares, "the optimiser", err) : NULL;
  if (!squares) {
    free(pieces);
    return ERROR_MEMORY;
  }
  struct update update = {.pieces = pieces,
                          .squares = squares,
                          .gradient = gradient,
                          .first = first,
                          .second = second,
                          .parameters = parameters,
                          .decay_factor = (float)(1 - learning_rate * setting->weight_decay)};
  int status = pool_run(pool, n_pieces, square_piece, &update, err);
  double sum = 0;
  for (size_t i = 0; i < n_pieces; i++) {
    sum += squares[i];
  }
  *norm = sqrt(sum);
  double t = (double)step + 1;
  update.step = (struct adamw_step){
      .gradient_factor = (float)fmin(1, setting->clip_norm / (*norm + 1e-6)),
      .beta1 = (float)setting->beta1,
      .beta2 = (float)setting->beta2,
      .step_size = (float)(learning_rate / (1 - pow(setting->beta1, t))),
      .inverse_root_bias = (float)(1 / sqrt(1 - pow(setting->beta2, t))),
      .epsilon = (float)setting->epsilon,
  };
  status = status ? status : pool_run(pool, n_pieces, step_piece, &update, err);
  free(squares);
  free(pieces);
  return status;
}
