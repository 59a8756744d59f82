/* Released models' configs, from the JSON file to frequencies, factors, scales, layers, slopes and buckets:
 * tests/golden/data/model_configs.h5, computed by running Hugging Face's own classes on the files of
 * data/model-configs/. What a file makes a reader say, and what it must refuse, is data/model-configs/README.md's. */
#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/model_config.h"
#include "config/section_text.h"
#include "golden_check.h"
#include "host/instance.h"
#include "model_config_sentences.h"

/* data/README.md, the column of float64 code: frequencies, factors and scales are float64 here. */
static const golden_tolerance relative = {.relative = 1e-14};
static const golden_tolerance exact = {0};

struct model {
  const char *name;
  struct model_config *config;
  struct instance *instances[MODEL_TABLES_MAX];
  const golden_file *file;
  golden_tally *tally;
  size_t expected; /* out_* datasets in the file */
};

/* ---- from a table to an instance ---- */

static struct instance *make_instance(struct host *host, const struct model_config *config,
                                      const struct model_table *table) {
  struct error err = {0};
  const struct scheme *scheme = host_find(host, config->scheme, NULL, &err);
  struct section *params =
      scheme ? config_section_from_text(&scheme->info.params, table->settings, config->scheme, &err) : NULL;
  unsigned heads = config->n_heads ? config->n_heads : 1;
  struct tensor_source source = {0};
  float *buckets = NULL;
  if (params && !strcmp(config->scheme, "t5")) {
    /* A table whose entries are their row's number makes the bias the bucket. */
    size_t rows = (size_t)section_get(params, "num_buckets")->integer;
    buckets = calloc(rows * heads, sizeof *buckets);
    assert_non_null(buckets);
    for (size_t i = 0; i < rows * heads; i++) {
      buckets[i] = (float)(i / heads);
    }
    source = (struct tensor_source){buckets, {.rank = 2, .dim = {rows, heads}}, "the test"};
  }
  struct instance_request request = {.scheme = scheme,
                                     .shape = {.struct_size = sizeof(pe_shape),
                                               .n_layers = 1,
                                               .n_heads = heads,
                                               .n_kv_heads = heads,
                                               .d_model = heads * table->head_dim,
                                               .head_dim = table->head_dim},
                                     .params = params,
                                     .tensors = buckets ? &source : NULL};
  struct instance *instance = params ? instance_new(&request, &err) : NULL;
  if (!instance) {
    fail_msg("%s: %s", table->settings, err.text);
  }
  section_free(params);
  free(buckets);
  return instance;
}

/* A derived value at a length, `fallback` [1] where the scheme has none. To be freed. */
static double *derived(const struct model *model, size_t table, const char *name, double length, size_t *count) {
  struct error err = {0};
  pe_derived value;
  double *data = NULL;
  assert_int_equal(instance_derived_named(model->instances[table], length, name, &value, &data, &err), 0);
  *count = data ? value.dim[0] : 0;
  return data;
}

static double derived_number(const struct model *model, size_t table, const char *name, double fallback) {
  size_t count;
  double *data = derived(model, table, name, 1, &count);
  double number = data ? data[0] : fallback;
  free(data);
  return number;
}

/* ---- one check per dataset ---- */

static void check_numbers(struct model *model, const char *dataset, const double *got, size_t count,
                          golden_tolerance tolerance) {
  golden_array expected = golden_read(model->file, model->name, dataset);
  assert_int_equal(expected.n, count);
  golden_check_doubles(model->tally, dataset, &expected, got, tolerance);
  golden_array_free(&expected);
}

static void check_number(struct model *model, const char *dataset, double got) {
  check_numbers(model, dataset, &got, 1, relative);
}

static void check_frequencies(struct model *model, const char *dataset, size_t table, double length) {
  size_t count;
  double *got = derived(model, table, "inv_freq", length, &count);
  check_numbers(model, dataset, got, count, relative);
  free(got);
}

/* The index of the sliding layers' table. */
enum { LOCAL = 1 };

static void check_inv_freq(struct model *model, const char *dataset) {
  /* At the last length that takes the short list. */
  double length = model->config->tables[0].switch_length;
  check_frequencies(model, dataset, 0, length > 0 ? length : 1);
}

static void check_inv_freq_local(struct model *model, const char *dataset) {
  check_frequencies(model, dataset, LOCAL, 1);
}

static void check_inv_freq_long(struct model *model, const char *dataset) {
  assert_true(model->config->tables[0].switch_length > 0);
  check_frequencies(model, dataset, 0, model->config->tables[0].switch_length + 1);
}

static void check_attention_factor(struct model *model, const char *dataset) {
  check_number(model, dataset, derived_number(model, 0, "attention_factor", NAN));
}

static void check_attention_factor_local(struct model *model, const char *dataset) {
  check_number(model, dataset, derived_number(model, LOCAL, "attention_factor", NAN));
}

static double softmax_scale(const struct model *model, size_t table) {
  return model->config->tables[table].softmax_scale * derived_number(model, table, "softmax_scale_multiplier", 1);
}

static double multiplier(const struct model *model, size_t table) {
  return softmax_scale(model, table) * sqrt(model->config->tables[table].query_dim);
}

static double effective(const struct model *model, size_t table) {
  double factor = derived_number(model, table, "attention_factor", 1);
  return factor * factor * multiplier(model, table);
}

static void check_softmax_scale(struct model *model, const char *dataset) {
  check_number(model, dataset, softmax_scale(model, 0));
}

static void check_softmax_scale_multiplier(struct model *model, const char *dataset) {
  check_number(model, dataset, multiplier(model, 0));
}

static void check_effective(struct model *model, const char *dataset) {
  check_number(model, dataset, effective(model, 0));
}

static void check_effective_local(struct model *model, const char *dataset) {
  check_number(model, dataset, effective(model, LOCAL));
}

static void check_effective_unrotated(struct model *model, const char *dataset) {
  assert_true(model->config->some_without);
  check_number(model, dataset, multiplier(model, 0));
}

static void check_integers(struct model *model, const char *dataset, const int *got, size_t count) {
  double *numbers = calloc(count, sizeof *numbers);
  assert_non_null(numbers);
  for (size_t i = 0; i < count; i++) {
    numbers[i] = got[i];
  }
  check_numbers(model, dataset, numbers, count, exact);
  free(numbers);
}

static void check_layer_table(struct model *model, const char *dataset) {
  assert_non_null(model->config->layer_table);
  check_integers(model, dataset, model->config->layer_table, model->config->n_layers);
}

static void check_mrope_axis(struct model *model, const char *dataset) {
  assert_non_null(model->config->mrope_axis);
  check_integers(model, dataset, model->config->mrope_axis, model->config->tables[0].rotary_dim / 2);
}

static void check_temperature(struct model *model, const char *dataset) {
  golden_array positions = golden_read(model->file, model->name, "in_temperature_position");
  assert_int_equal(model->config->temperature.kind, MODEL_TEMPERATURE_WITHOUT_ROPE);
  double *got = calloc(positions.n, sizeof *got);
  assert_non_null(got);
  for (size_t i = 0; i < positions.n; i++) {
    got[i] = model_config_temperature(model->config, positions.data[i]);
  }
  check_numbers(model, dataset, got, positions.n, relative);
  free(got);
  golden_array_free(&positions);
}

static void check_slopes(struct model *model, const char *dataset) {
  size_t count;
  double *got = derived(model, 0, "slopes", 1, &count);
  check_numbers(model, dataset, got, count, relative);
  free(got);
}

static void check_buckets(struct model *model, const char *dataset, size_t table) {
  golden_array offsets = golden_read(model->file, model->name, "in_relative_position");
  float *bias = calloc(offsets.n, sizeof *bias);
  double *got = calloc(offsets.n, sizeof *got);
  struct error err = {0};
  assert_true(bias && got);
  double query = 0;
  struct bias_tile tile = {.seq_len = 1,
                           .nq = 1,
                           .nk = offsets.n,
                           .mapped_q = &query,
                           .mapped_k = offsets.data,
                           .s = bias,
                           .s_stride = offsets.n};
  assert_int_equal(instance_bias(model->instances[table], &tile, &err), 0);
  for (size_t i = 0; i < offsets.n; i++) {
    got[i] = bias[i];
  }
  check_numbers(model, dataset, got, offsets.n, exact);
  free(bias);
  free(got);
  golden_array_free(&offsets);
}

static void check_bucket_bidirectional(struct model *model, const char *dataset) {
  assert_string_equal(model->config->tables[0].layers, "encoder");
  check_buckets(model, dataset, 0);
}

static void check_bucket_causal(struct model *model, const char *dataset) {
  assert_string_equal(model->config->tables[1].layers, "decoder");
  check_buckets(model, dataset, 1);
}

static const struct {
  const char *dataset;
  void (*check)(struct model *model, const char *dataset);
} checks[] = {
    {"out_inv_freq", check_inv_freq},
    {"out_inv_freq_local", check_inv_freq_local},
    {"out_inv_freq_long", check_inv_freq_long},
    {"out_attention_factor", check_attention_factor},
    {"out_attention_factor_local", check_attention_factor_local},
    {"out_softmax_scale", check_softmax_scale},
    {"out_softmax_scale_multiplier", check_softmax_scale_multiplier},
    {"out_effective_logit_multiplier", check_effective},
    {"out_effective_logit_multiplier_local", check_effective_local},
    {"out_effective_logit_multiplier_unrotated", check_effective_unrotated},
    {"out_layer_table", check_layer_table},
    {"out_mrope_axis", check_mrope_axis},
    {"out_temperature", check_temperature},
    {"out_slopes", check_slopes},
    {"out_bucket_bidirectional", check_bucket_bidirectional},
    {"out_bucket_causal", check_bucket_causal},
};

/* H5Literate's: a dataset that no check knows fails the test. */
static herr_t check_dataset(hid_t group, const char *name, const H5L_info_t *info, void *context) {
  (void)group;
  (void)info;
  struct model *model = context;
  if (strncmp(name, "out_", 4) != 0) {
    return 0;
  }
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    if (!strcmp(name, checks[i].dataset)) {
      checks[i].check(model, name);
      return 0;
    }
  }
  fail_msg("%s/%s is not compared", model->name, name);
  return -1;
}

/* ---- attributes: what was read ---- */

static void check_attribute(const struct model *model, const char *attribute, double got) {
  if (golden_has_attribute(model->file, model->name, attribute)) {
    double expected = golden_number(model->file, model->name, attribute);
    if (expected != got) {
      fail_msg("%s: %s is %.17g, expected %.17g", model->name, attribute, got, expected);
    }
  }
}

static void check_text(const struct model *model, const char *attribute, const char *got) {
  char expected[64];
  if (golden_text(model->file, model->name, attribute, expected, sizeof expected)) {
    assert_string_equal(got, expected);
  }
}

static void check_attributes(const struct model *model) {
  const struct model_config *config = model->config;
  const struct model_table *table = &config->tables[0];
  check_attribute(model, "head_dim", table->query_dim);
  check_attribute(model, "heads", config->n_heads);
  check_attribute(model, "layers", config->n_layers);
  check_attribute(model, "rotary_dim", table->rotary_dim);
  check_attribute(model, "base", table->base);
  check_attribute(model, "base_local", config->tables[config->n_tables > 1].base);
  check_attribute(model, "original_length", table->original_length);
  check_attribute(model, "max_position_embeddings", config->max_length);
  check_text(model, "layout", table->layout ? table->layout : "");
  check_text(model, "rope_type", table->rope_type ? table->rope_type : "");
}

/* ---- the tests ---- */

static struct host *open_host(void) {
  static const char *const directories[] = {TEST_PLUGIN_DIR};
  struct host_options options = {.directories = directories, .n_directories = 1, .trust_directories = true};
  struct host *host = NULL;
  struct error err = {0};
  if (host_open(&options, &host, &err)) {
    fail_msg("%s", err.text);
  }
  return host;
}

static struct model_config *read_config(const char *name, struct diagnostics *diagnostics) {
  char path[512];
  snprintf(path, sizeof path, "%s/data/model-configs/%s.json", TEST_SOURCE_DIR, name);
  return model_config_read(path, diagnostics);
}

static struct model_config *require_config(const char *name) {
  struct diagnostics diagnostics = {0};
  struct model_config *config = read_config(name, &diagnostics);
  if (!config) {
    diagnostics_print(&diagnostics, stderr);
    fail_msg("%s was refused", name);
  }
  diagnostics_free(&diagnostics);
  return config;
}

static void test_every_dataset(void **state) {
  (void)state;
  struct host *host = open_host();
  golden_file file;
  golden_tally tally;
  golden_file_open(&file, "model_configs.h5");
  golden_tally_begin(&tally, file.name);
  assert_int_equal(file.n_cases, 26);
  for (size_t i = 0; i < file.n_cases; i++) {
    struct model model = {.name = file.cases[i], .file = &file, .tally = &tally};
    golden_tally_case(&tally, model.name);
    model.config = require_config(model.name);
    for (size_t t = 0; t < model.config->n_tables; t++) {
      model.instances[t] = make_instance(host, model.config, &model.config->tables[t]);
    }
    check_attributes(&model);
    assert_true(H5Literate_by_name(file.handle, model.name, H5_INDEX_NAME, H5_ITER_INC, NULL, check_dataset, &model,
                                   H5P_DEFAULT) >= 0);
    for (size_t t = 0; t < model.config->n_tables; t++) {
      instance_free(model.instances[t]);
    }
    model_config_free(model.config);
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
  host_close(host);
}

static bool is_warned(const struct model_config *config, const char *part) {
  for (size_t i = 0; i < config->n_warnings; i++) {
    if (strstr(config->warnings[i], part)) {
      return true;
    }
  }
  return false;
}

static void test_every_warning(void **state) {
  (void)state;
  for (size_t m = 0; m < N_MODEL_SENTENCES; m++) {
    const struct model_sentences *expected = &model_sentences[m];
    struct model_config *config = require_config(expected->model);
    for (const char *const *part = expected->warnings; *part; part++) {
      if (!is_warned(config, *part)) {
        fail_msg("%s: no warning says '%s'", expected->model, *part);
      }
    }
    if (!*expected->warnings && config->n_warnings) {
      fail_msg("%s: nothing is to be said, and it says '%s'", expected->model, config->warnings[0]);
    }
    model_config_free(config);
  }
}

static bool is_among(const char *key, const char *const *keys) {
  while (*keys && strcmp(*keys, key)) {
    keys++;
  }
  return *keys != NULL;
}

static void test_every_unused_key(void **state) {
  (void)state;
  for (size_t m = 0; m < N_MODEL_SENTENCES; m++) {
    const struct model_sentences *expected = &model_sentences[m];
    struct model_config *config = require_config(expected->model);
    size_t found = 0;
    for (size_t i = 0; i < config->n_unused; i++) {
      const char *key = config->unused[i].key;
      bool named = is_among(key, expected->unused);
      found += named;
      if (!named && !is_among(key, expected->also_unused)) {
        fail_msg("%s: %s moves positions, and is said to be unused", expected->model, key);
      }
    }
    size_t wanted = 0;
    while (expected->unused[wanted]) {
      wanted++;
    }
    if (found != wanted) {
      fail_msg("%s: %zu of %zu unused keys are listed", expected->model, found, wanted);
    }
    model_config_free(config);
  }
}

static void test_broken_files(void **state) {
  (void)state;
  for (size_t b = 0; b < N_BROKEN_SENTENCES; b++) {
    const struct broken_sentences *expected = &broken_sentences[b];
    char name[128];
    snprintf(name, sizeof name, "broken/%s", expected->file);
    struct diagnostics diagnostics = {0};
    struct model_config *config = read_config(name, &diagnostics);
    for (size_t i = 0; i < BROKEN_PARTS && expected->parts[i]; i++) {
      bool said = config ? is_warned(config, expected->parts[i])
                         : diagnostics.count && strstr(diagnostics.items[0].text, expected->parts[i]);
      if (!said) {
        fail_msg("%s: '%s' is not said%s%s", name, expected->parts[i], config ? "" : " in ",
                 config ? "" : diagnostics.items[0].text);
      }
    }
    if (expected->line) {
      assert_null(config);
      assert_int_equal(diagnostics_exit_code(&diagnostics), 2);
      assert_int_equal(diagnostics.items[0].line, expected->line);
      assert_int_equal(diagnostics.items[0].column, expected->column);
    } else {
      assert_non_null(config);
    }
    model_config_free(config);
    diagnostics_free(&diagnostics);
  }
}

/* The two broken files that are read all the same give these numbers: data/model-configs/README.md, rows 04 and 06. */
static void test_broken_numbers(void **state) {
  (void)state;
  struct host *host = open_host();
  size_t count;
  struct model below = {.config = require_config("broken/04-factor-below-1")};
  below.instances[0] = make_instance(host, below.config, &below.config->tables[0]);
  double *frequencies = derived(&below, 0, "inv_freq", 1, &count);
  assert_true(frequencies[0] == 4);
  free(frequencies);
  instance_free(below.instances[0]);
  model_config_free(below.config);

  struct model above = {.config = require_config("broken/06-original-above-max")};
  struct model llama = {.config = require_config("llama-3.1-8b")};
  above.instances[0] = make_instance(host, above.config, &above.config->tables[0]);
  llama.instances[0] = make_instance(host, llama.config, &llama.config->tables[0]);
  double *got = derived(&above, 0, "inv_freq", 1, &count), *same = derived(&llama, 0, "inv_freq", 1, &count);
  assert_memory_equal(got, same, count * sizeof *got);
  free(got);
  free(same);
  instance_free(above.instances[0]);
  instance_free(llama.instances[0]);
  model_config_free(above.config);
  model_config_free(llama.config);
  host_close(host);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_dataset), cmocka_unit_test(test_every_warning),
                                     cmocka_unit_test(test_every_unused_key), cmocka_unit_test(test_broken_files),
                                     cmocka_unit_test(test_broken_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
