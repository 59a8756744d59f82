/* A trained layer, from token ids to q, k and v, against the model itself as run by TensorFlow.js in float32
 * (data/README.md, use-lite.h5). Content plus the model's own timing signal gives its layer input; layer norm and
 * projections follow.
 *
 * Tolerances: the model's own timing signal is added here, so only float32 rounding is left. layer_input: the model
 * rounds e + (e + timing) twice, this run 2 e + timing once; values up to 4: 3 half units in the last place, 3.6e-7.
 * layer_norm (values up to 1.6), q, k, v (up to 11, sums of 256 products): the model takes mean, variance and sums in
 * float32, 2e-6 and 1e-5. A misread layout is off by more than 1e-2.
 */
#include "golden_check.h"
#include "golden_file.h"
#include "model_section.h"

#include "base/pool.h"
#include "input/hdf5_reader.h"
#include "input/layer.h"
#include "input/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char weights_path[] = TEST_SOURCE_DIR "/data/use-lite.h5";

static struct model *open_model(const golden_array *ids) {
  struct section *section = model_section_new();
  model_section_text(section, "weights", weights_path);
  model_section_list(section, "tokens.ids", ids->data, ids->n);
  struct error err;
  struct model *model = model_open(section, 1, &err);
  if (!model) {
    fail_msg("%s", err.text);
  }
  section_free(section);
  return model;
}

static float *new_floats(size_t n) {
  float *values = calloc(n, sizeof *values);
  assert_non_null(values);
  return values;
}

/* x of all tokens with the model's timing signal added, positions counted from 0. */
static float *layer_input(const struct model *model, const golden_array *timing, size_t n) {
  float *x = new_floats(n * model->d_model);
  size_t *index = calloc(n, sizeof *index);
  assert_non_null(index);
  for (size_t i = 0; i < n; i++) {
    index[i] = i;
  }
  struct error err;
  assert_int_equal(model_content(model, 0, index, n, x, &err), 0);
  size_t position = 0;
  for (size_t i = 0; i < n; i++) {
    if (model->texts[0].padding && model->texts[0].padding[i]) {
      continue;
    }
    for (size_t j = 0; j < model->d_model; j++) {
      x[i * model->d_model + j] += (float)timing->data[position * model->d_model + j];
    }
    position++;
  }
  free(index);
  return x;
}

static void project(const struct model *model, const float *x, size_t n, float *q, float *k, float *v) {
  struct error err;
  struct pool *pool = pool_new(2, &err);
  assert_non_null(pool);
  assert_int_equal(model_project(model, x, n, q, k, v, pool, &err), 0);
  pool_free(pool);
}

/* Rows `rows` of each head: in [heads][n][width] -> out [heads][n_rows][width]. */
static float *pick_rows(const float *in, size_t heads, size_t n, size_t width, const golden_array *rows) {
  float *out = new_floats(heads * rows->n * width);
  for (size_t head = 0; head < heads; head++) {
    for (size_t r = 0; r < rows->n; r++) {
      memcpy(out + (head * rows->n + r) * width, in + (head * n + (size_t)rows->data[r]) * width, width * sizeof *out);
    }
  }
  return out;
}

/* Compare `got` [heads][n][width] with dataset `what` of the group: whole, sequence `slice` of the batch, or the kept
 * rows of a long case. */
static void check(golden_tally *tally, const golden_file *file, const char *group, const char *what, size_t slice,
                  const float *got, size_t heads, size_t n, size_t width, double tolerance) {
  const golden_tolerance allowed = {.absolute = tolerance};
  if (golden_has(file, group, what)) {
    golden_array expected = golden_read(file, group, what), part = expected;
    part.n = heads * n * width;
    part.data += slice * part.n;
    golden_check_floats(tally, what, &part, got, allowed);
    golden_array_free(&expected);
    return;
  }
  char name[64];
  snprintf(name, sizeof name, "%s_rows", what);
  golden_array rows = golden_read(file, group, "rows"), expected = golden_read(file, group, name);
  float *picked = pick_rows(got, heads, n, width, &rows);
  golden_check_floats(tally, name, &expected, picked, allowed);
  free(picked);
  golden_array_free(&expected);
  golden_array_free(&rows);
}

static float *read_vector(const char *name, size_t length) {
  struct error err;
  struct hdf5_file *file = hdf5_file_open(weights_path, &err);
  struct hdf5_shape shape = {.rank = 1, .dim = {length}};
  float *values = NULL;
  if (!file || hdf5_floats(file, name, &shape, &values, &err)) {
    fail_msg("%s", err.text);
  }
  hdf5_file_close(file);
  return values;
}

static void check_norm(golden_tally *tally, const golden_file *file, const char *group, size_t slice, const float *x,
                       size_t n, size_t d) {
  float *scale = read_vector("/layer0/ln_scale", d), *bias = read_vector("/layer0/ln_bias", d);
  float *normed = new_floats(n * d);
  layer_norm_rows(x, n, d, scale, bias, 1e-6, normed);
  check(tally, file, group, "layer_norm", slice, normed, 1, n, d, 2e-6);
  free(normed);
  free(scale);
  free(bias);
}

static void check_case(golden_tally *tally, const golden_file *file, const golden_array *timing, const char *group,
                       const golden_array *ids, size_t slice) {
  struct model *model = open_model(ids);
  size_t n = ids->n, heads = model->n_heads, width = model->head_dim;
  float *x = layer_input(model, timing, n);
  float *q = new_floats(heads * n * width), *k = new_floats(heads * n * width), *v = new_floats(heads * n * width);
  project(model, x, n, q, k, v);
  check(tally, file, group, "layer_input", slice, x, 1, n, model->d_model, 3.6e-7);
  check_norm(tally, file, group, slice, x, n, model->d_model);
  check(tally, file, group, "q", slice, q, heads, n, width, 1e-5);
  check(tally, file, group, "k", slice, k, heads, n, width, 1e-5);
  check(tally, file, group, "v", slice, v, heads, n, width, 1e-5);
  free(q);
  free(k);
  free(v);
  free(x);
  model_close(model);
}

static void cases_from_ids(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "use-lite.h5");
  golden_array timing = golden_read(&file, "", "timing");
  golden_tally tally;
  golden_tally_begin(&tally, "use-lite.h5");
  static const char *const names[] = {
      "works",     "he_works",
      "works_he",  "I_work_he",
      "I_he_work", "he_I_work",
      "he_work_I", "work_I_he",
      "work_he_I", "he_works_they_work",
      "text_20",   "text_48",
      "text_120",  "he_works_they_work_we_work",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char group[64];
    snprintf(group, sizeof group, "cases/%s", names[i]);
    golden_tally_case(&tally, names[i]);
    golden_array ids = golden_read(&file, group, "ids");
    check_case(&tally, &file, &timing, group, &ids, 0);
    golden_array_free(&ids);
  }
  golden_array batch = golden_read(&file, "batch", "ids");
  for (size_t row = 0; row < batch.dim[0]; row++) {
    golden_tally_case(&tally, "batch");
    golden_array ids = batch;
    ids.n = batch.dim[1];
    ids.data += row * ids.n;
    check_case(&tally, &file, &timing, "batch", &ids, row);
  }
  golden_array_free(&batch);
  golden_tally_end(&tally);
  golden_array_free(&timing);
  golden_file_close(&file);
}

/* The ids of a case come from greedy longest-piece matching of its text, of which the long cases keep the beginning. */
static void texts_give_the_ids(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "use-lite.h5");
  static const char *const names[] = {"works",   "he_works_they_work_we_work", "I_work_he", "text_20", "text_48",
                                      "text_120"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char group[64], text[4096];
    snprintf(group, sizeof group, "cases/%s", names[i]);
    assert_true(golden_text(&file, group, "text", text, sizeof text));
    golden_array ids = golden_read(&file, group, "ids");
    struct section *section = model_section_new();
    model_section_text(section, "weights", weights_path);
    model_section_text(section, "tokens.text", text);
    struct error err;
    struct model *model = model_open(section, 1, &err);
    if (!model) {
      fail_msg("%s", err.text);
    }
    assert_true(model->texts[0].count >= ids.n);
    for (size_t t = 0; t < ids.n; t++) {
      assert_int_equal(model->texts[0].ids[t], (int32_t)ids.data[t]);
    }
    model_close(model);
    section_free(section);
    golden_array_free(&ids);
  }
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cases_from_ids),
      cmocka_unit_test(texts_give_the_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
