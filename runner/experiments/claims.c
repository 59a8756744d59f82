/* What do textbooks state, and is it so? */
#include "experiments/claims.h"

#include "experiments/experiments.h"

#include <math.h>

enum { USUAL_TRAIN_LENGTH = 128, MOST_POSITIONS = 4096 };

static const struct key_spec keys[] = {
    {.key = "train_length",
     .doc = "training length L in tokens; auto: what the weights say, else 128",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 2,
     .max = 1 << 20,
     .fallback = "auto"},
    {.key = "length",
     .doc = "positions 0 to length - 1 are looked at; auto: 2 L, at most 4096",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 2,
     .max = MOST_POSITIONS,
     .fallback = "auto"},
    {.key = "distances",
     .doc = "pairs of distances: do they share a bias (a bucket)?",
     .type = KEY_MATRIX,
     .min = 0,
     .max = 1 << 20,
     .fallback = "[[1, 2], [100, 101]]"},
    {.key = "shifts",
     .doc = "shifts k for which PE(p + k) = M_k PE(p) is tried",
     .type = KEY_INT_LIST,
     .min = 1,
     .max = 1 << 20,
     .fallback = "[1, 16, 96]",
     .list_min = 1,
     .list_max = 1000},
};
static const struct key_table table = {"claims", "what textbooks state of encodings", keys, sizeof keys / sizeof *keys};

static int run(const struct experiment_context *context, struct record *record, struct error *err) {
  const struct key_value *train_length = section_get(context->entry->keys, "train_length");
  const struct key_value *length = section_get(context->entry->keys, "length");
  double trained = context->model->trained.max_length;
  struct claims_job job = {.context = context,
                           .train_length = !train_length->is_auto ? (double)train_length->integer
                                           : trained > 0          ? trained
                                                                  : USUAL_TRAIN_LENGTH};
  job.length = length->is_auto ? (size_t)fmin(2 * job.train_length, MOST_POSITIONS) : (size_t)length->integer;
  int status = attributes_set_real(&record->attributes, "train_length", job.train_length, err);
  status = status ? status : attributes_set_int(&record->attributes, "length", (int64_t)job.length, err);
  status = status ? status : claims_permutations(&job, record, err);
  status = status ? status : claims_biases(&job, record, err);
  status = status ? status : claims_rotations(&job, record, err);
  status = status ? status : claims_shifts(&job, record, err);
  return status ? status : claims_beyond(&job, record, err);
}

const struct experiment experiment_claims = {
    .info = {"claims", "What textbooks state: is it so?", &table, true, false},
    .run = run,
    .conclude = claims_conclude,
};
