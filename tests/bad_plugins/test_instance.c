/* Instances of sound schemes, and of those that break a rule where the host sees it. */
#include "host/instance.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct host *host;

static int open_host(void **state) {
  (void)state;
  struct error err;
  const char *directory = TEST_BAD_PLUGIN_DIR;
  return host_open(&(struct host_options){.directories = &directory, .n_directories = 1}, &host, &err);
}

static int close_host(void **state) {
  (void)state;
  host_close(host);
  return 0;
}

static const struct scheme *find(const char *plugin, const char *id) {
  char path[512];
  struct error err;
  snprintf(path, sizeof path, "%s/%s.so", TEST_BAD_PLUGIN_DIR, plugin);
  const struct scheme *scheme = host_find(host, id, path, &err);
  if (!scheme) {
    fail_msg("%s", err.text);
  }
  return scheme;
}

enum { HEADS = 2, WIDTH = 4, MODEL = 8 };

static struct instance_request request_for(const struct scheme *scheme) {
  return (struct instance_request){
      .scheme = scheme,
      .shape =
          {.n_layers = 1, .n_heads = HEADS, .n_kv_heads = HEADS, .d_model = MODEL, .head_dim = WIDTH, .train_len = 8},
      .seed = 17};
}

static struct instance *make(const struct instance_request *request) {
  struct error err;
  struct instance *instance = instance_new(request, &err);
  if (!instance) {
    fail_msg("%s", err.text);
  }
  return instance;
}

static struct instance *make_of(const char *plugin, const char *id) {
  struct instance_request request = request_for(find(plugin, id));
  return make(&request);
}

static void must_be(int status, const struct error *err, enum error_code code, const char *phrase) {
  if (status != (int)code || err->code != code || !strstr(err->text, phrase)) {
    fail_msg("expected %s with \"%s\", got %s: %s", error_id(code), phrase, error_id((enum error_code)status),
             status ? err->text : "");
  }
}

/* ---- creation ---- */

static void must_not_make(const struct instance_request *request, enum error_code code, const char *phrase) {
  struct error err = {0};
  assert_null(instance_new(request, &err));
  must_be((int)err.code, &err, code, phrase);
}

static void spoiled_must_not_make(const char *plugin, enum error_code code, const char *phrase) {
  struct instance_request request = request_for(find(plugin, "spoiled"));
  must_not_make(&request, code, phrase);
}

static void test_answers_of_create(void **state) {
  (void)state;
  spoiled_must_not_make("create_nothing", ERROR_SCHEME_FAILED, "spoiled: create returned PE_OK and no instance");
  spoiled_must_not_make("create_refuses_defaults", ERROR_SCHEME_REFUSED,
                        "spoiled: base must be a power of two, it is 10000");
  spoiled_must_not_make("domain_nonsense", ERROR_SCHEME_FAILED, "spoiled: domain makes no sense");
  spoiled_must_not_make("traits_lost", ERROR_SCHEME_FAILED, "instance_traits 0x0 lacks traits of the scheme, 0x1");
  spoiled_must_not_make("width_zero", ERROR_SCHEME_FAILED, "qk_width is 0 for rows of 4");
  spoiled_must_not_make("scale_nan", ERROR_SCHEME_FAILED, "score_scale is not a finite number");
  spoiled_must_not_make("shape_overflow", ERROR_SCHEME_FAILED, "tensor_shape of gain makes no sense");
}

static void test_shapes(void **state) {
  (void)state;
  struct instance_request request = request_for(find("sound", "sound"));
  request.shape.head_dim = 5;
  must_not_make(&request, ERROR_SCHEME_REFUSED, "sound: head_dim 5 is odd");
  request.shape.head_dim = 0;
  must_not_make(&request, ERROR_SCHEME_REFUSED, "sound: acts on queries and keys, and there are none");
  request = request_for(find("sound", "sound_embed"));
  request.shape.d_model = 0;
  must_not_make(&request, ERROR_SCHEME_REFUSED, "sound_embed: acts on embeddings, and there are none");
}

static void test_params(void **state) {
  (void)state;
  /* Parameters as the config gives them: slope 2 instead of 0.5. */
  const struct scheme *scheme = find("sound", "sound");
  struct key_value values[2] = {{.given = true, .real = 100}, {.given = true, .real = 2}};
  struct section params = {.table = &scheme->info.params, .values = values};
  struct instance_request request = request_for(scheme);
  const float gain[HEADS] = {1, 10};
  struct tensor_source source = {.data = gain, .shape = {.rank = 1, .dim = {HEADS}}};
  request.params = &params;
  request.tensors = &source;
  struct instance *instance = make(&request);
  double positions[2] = {0, 3};
  float s = 0;
  struct error err;
  struct bias_tile tile = {.head = 1,
                           .seq_len = 4,
                           .nq = 1,
                           .nk = 1,
                           .mapped_q = positions,
                           .mapped_k = positions + 1,
                           .s = &s,
                           .s_stride = 1};
  assert_int_equal(instance_bias(instance, &tile, &err), 0);
  assert_true(s == -60); /* slope 2 * gain 10 * distance 3 */
  pe_derived value;
  double *data;
  assert_int_equal(instance_derived_named(instance, 4, "inv_freq", &value, &data, &err), 0);
  assert_int_equal(value.dim[0], 2);
  assert_true(data[0] == 1 && fabs(data[1] - 0.1) < 1e-15); /* 100^(-2/4) */
  free(data);
  assert_int_equal(instance_derived_named(instance, 4, "slopes", &value, &data, &err), 0);
  assert_null(data);
  instance_free(instance);
}

static void test_tensors(void **state) {
  (void)state;
  struct instance_request request = request_for(find("sound", "sound"));
  struct instance *a = make(&request), *b = make(&request);
  request.seed = 18;
  struct instance *c = make(&request);
  pe_dims dims;
  const float *first = instance_tensor(a, 0, &dims);
  assert_int_equal(dims.rank, 1);
  assert_int_equal(dims.dim[0], HEADS);
  assert_memory_equal(first, instance_tensor(b, 0, NULL), HEADS * sizeof(float));
  assert_memory_not_equal(first, instance_tensor(c, 0, NULL), HEADS * sizeof(float));
  assert_true(fabsf(first[0] - 1) < 0.6f && first[0] != 1); /* normal around 1 with deviation 0.1 */
  instance_free(a);
  instance_free(b);
  instance_free(c);

  float gain[3] = {1, 2, 3};
  struct tensor_source source = {.data = gain, .shape = {.rank = 1, .dim = {3}}, .from = "w.h5:/gain"};
  request.tensors = &source;
  must_not_make(&request, ERROR_FILE_CONTENT, "w.h5:/gain: gain of sound is [3], the scheme needs [2]");
  source.shape = (pe_dims){.rank = 2, .dim = {2, 1}};
  must_not_make(&request, ERROR_FILE_CONTENT, "gain of sound is [2][1], the scheme needs [2]");
  source.shape = (pe_dims){.rank = 1, .dim = {2}};
  gain[1] = INFINITY;
  must_not_make(&request, ERROR_FILE_CONTENT, "element 1 of gain is inf");
}

/* ---- position maps ---- */

static struct instance *mapped_by(struct position_map map) {
  struct instance_request request = request_for(find("sound", "sound"));
  request.map = map;
  return make(&request);
}

static void must_map(struct position_map map, const double *in, size_t n, const uint8_t *padding,
                     const double *expected, double expected_length) {
  struct instance *instance = mapped_by(map);
  double out[16], length;
  struct error err;
  assert_int_equal(instance_map_positions(instance, n, in, padding, out, &length, &err), 0);
  for (size_t i = 0; i < n; i++) {
    assert_true(out[i] == expected[i]);
  }
  assert_true(length == expected_length);
  instance_free(instance);
}

static void test_maps(void **state) {
  (void)state;
  const double plain[] = {0, 1, 2, 3}, window[] = {12, 13, 14, 15}, negative[] = {-1, 0, 8, 9};
  const uint8_t padding[] = {1, 0, 0, 0};
  must_map((struct position_map){0}, plain, 4, NULL, plain, 4);
  must_map((struct position_map){0}, plain, 4, padding, (double[]){-1, 1, 2, 3}, 4);
  must_map((struct position_map){0}, negative, 1, NULL, negative, 0);
  must_map((struct position_map){.kind = POSITION_OFFSET, .value = 100}, plain, 4, padding,
           (double[]){-1, 101, 102, 103}, 104);
  must_map((struct position_map){.kind = POSITION_DIVIDE, .value = 4}, plain, 4, NULL, (double[]){0, 0.25, 0.5, 0.75},
           1.75);
  /* Trained to 8: a sequence of 4 stays, a window that ends at 15 is halved. */
  must_map((struct position_map){.kind = POSITION_DIVIDE, .automatic = true}, plain, 4, NULL, plain, 4);
  must_map((struct position_map){.kind = POSITION_DIVIDE, .automatic = true}, window, 4, NULL,
           (double[]){6, 6.5, 7, 7.5}, 8.5);
  must_map((struct position_map){.kind = POSITION_CLAMP, .automatic = true}, negative, 4, NULL, (double[]){-1, 0, 7, 7},
           8);
  must_map((struct position_map){.kind = POSITION_CLAMP, .value = 2}, plain, 4, NULL, (double[]){0, 1, 1, 1}, 2);
  must_map((struct position_map){.kind = POSITION_WRAP, .automatic = true}, negative, 4, NULL, (double[]){7, 0, 0, 1},
           8);
  must_map((struct position_map){.kind = POSITION_WRAP, .value = 5}, window, 4, NULL, (double[]){2, 3, 4, 0}, 5);

  struct instance_request request = request_for(find("sound", "sound"));
  request.shape.train_len = 0;
  request.map = (struct position_map){.kind = POSITION_DIVIDE, .automatic = true};
  must_not_make(&request, ERROR_SCHEME_REFUSED, "positions: divide: auto needs the training length");
}

static void test_shuffled(void **state) {
  (void)state;
  struct instance *instance = mapped_by((struct position_map){.kind = POSITION_SHUFFLED});
  double in[16], out[16], again[16], shifted[16], length;
  struct error err;
  for (size_t i = 0; i < 16; i++) {
    in[i] = (double)i;
  }
  assert_int_equal(instance_map_positions(instance, 16, in, NULL, out, &length, &err), 0);
  assert_true(length == 16);
  assert_memory_not_equal(in, out, sizeof in);
  bool seen[16] = {false};
  for (size_t i = 0; i < 16; i++) {
    assert_true(out[i] >= 0 && out[i] < 16 && out[i] == floor(out[i]) && !seen[(size_t)out[i]]);
    seen[(size_t)out[i]] = true;
  }
  assert_int_equal(instance_map_positions(instance, 16, in, NULL, again, &length, &err), 0);
  assert_memory_equal(out, again, sizeof out);
  /* The same order at other positions: a window keeps its own positions. */
  for (size_t i = 0; i < 16; i++) {
    in[i] += 100;
  }
  assert_int_equal(instance_map_positions(instance, 16, in, NULL, shifted, &length, &err), 0);
  for (size_t i = 0; i < 16; i++) {
    assert_true(shifted[i] == out[i] + 100);
  }
  /* Padding takes no part: the order is that of the rows that are left. */
  uint8_t padding[16] = {1, 1};
  double padded[16], fewer[14];
  assert_int_equal(instance_map_positions(instance, 16, in, padding, padded, &length, &err), 0);
  assert_int_equal(instance_map_positions(instance, 14, in + 2, NULL, fewer, &length, &err), 0);
  assert_true(padded[0] == -1 && padded[1] == -1);
  assert_memory_equal(padded + 2, fewer, sizeof fewer);
  instance_free(instance);
}

static void test_is_trained(void **state) {
  (void)state;
  struct instance *relative = make_of("sound", "sound"), *absolute = make_of("sound", "sound_embed");
  const double low[] = {0, 7}, high[] = {0, 8}, shifted[] = {100, 107}, negative[] = {-1, 3};
  assert_true(instance_is_trained(relative, 2, low, NULL, 8));
  assert_false(instance_is_trained(relative, 2, high, NULL, 8));
  assert_true(instance_is_trained(relative, 2, shifted, NULL, 8));
  assert_true(instance_is_trained(relative, 2, negative, NULL, 8));
  assert_true(instance_is_trained(absolute, 2, low, NULL, 8));
  assert_false(instance_is_trained(absolute, 2, high, NULL, 8));
  assert_false(instance_is_trained(absolute, 2, shifted, NULL, 8));
  assert_false(instance_is_trained(absolute, 2, negative, NULL, 8));
  assert_true(instance_is_trained(absolute, 2, high, (uint8_t[]){0, 1}, 8));
  assert_true(instance_is_trained(absolute, 2, high, NULL, 0));
  instance_free(relative);
  instance_free(absolute);
}

/* ---- calls ---- */

static void test_embed_and_padding(void **state) {
  (void)state;
  struct instance *instance = make_of("sound", "sound_embed");
  const double positions[4] = {-1, 0, -1, 1};
  const uint8_t padding[4] = {1, 0, 1, 0};
  enum { STRIDE = MODEL + 3 };
  float x[4 * STRIDE];
  for (size_t i = 0; i < 4 * STRIDE; i++) {
    x[i] = 5;
  }
  struct error err;
  assert_int_equal(instance_embed(instance, 4, positions, padding, 2, x, STRIDE, &err), 0);
  for (size_t row = 0; row < 4; row++) {
    for (size_t c = 0; c < STRIDE; c++) {
      bool moved = row == 3 && c < MODEL;
      assert_true(moved ? x[row * STRIDE + c] > 5 : x[row * STRIDE + c] == 5);
    }
  }
  assert_true(x[3 * STRIDE] == 5 + (float)sin(1));
  instance_free(instance);
}

static void test_rotate_and_padding(void **state) {
  (void)state;
  struct instance *instance = make_of("sound", "sound");
  enum { N = 5, SIZE = HEADS * N * WIDTH };
  const double positions[N] = {-1, 0, 1, -1, 2};
  const uint8_t padding[N] = {1, 0, 0, 1, 0};
  float in[SIZE], out[SIZE], in_place[SIZE];
  for (size_t i = 0; i < SIZE; i++) {
    in[i] = in_place[i] = (float)(i % 7) - 3;
  }
  struct error err;
  assert_int_equal(instance_rotate(instance, PE_ROLE_QUERY, 0, 0, HEADS, N, positions, padding, 3, in, out, &err), 0);
  assert_int_equal(
      instance_rotate(instance, PE_ROLE_QUERY, 0, 0, HEADS, N, positions, padding, 3, in_place, in_place, &err), 0);
  assert_memory_equal(out, in_place, sizeof out);
  for (size_t h = 0; h < HEADS; h++) {
    for (size_t row = 0; row < N; row++) {
      const float *a = in + (h * N + row) * WIDTH, *b = out + (h * N + row) * WIDTH;
      if (positions[row] <= 0) { /* padding, and position 0 */
        assert_memory_equal(a, b, WIDTH * sizeof *a);
        continue;
      }
      double cosine = cos(positions[row]), sine = sin(positions[row]);
      assert_true(fabs((double)b[0] - ((double)a[0] * cosine - (double)a[2] * sine)) < 1e-6);
      assert_true(fabs((double)b[2] - ((double)a[2] * cosine + (double)a[0] * sine)) < 1e-6);
    }
  }
  instance_free(instance);
}

static void test_no_site(void **state) {
  (void)state;
  struct instance_request request = request_for(host_none());
  struct instance *none = make(&request);
  assert_int_equal(instance_sites(none), 0);
  assert_int_equal(instance_qk_width(none), WIDTH);
  assert_true(instance_score_scale(none, 0.25) == 0.25);
  assert_int_equal(instance_derived_count(none, 4), 0);
  const double positions[2] = {0, 1};
  float in[HEADS * 2 * WIDTH], out[HEADS * 2 * WIDTH], x[MODEL] = {1};
  for (size_t i = 0; i < HEADS * 2 * WIDTH; i++) {
    in[i] = (float)i;
    out[i] = -1;
  }
  struct error err;
  assert_int_equal(instance_rotate(none, PE_ROLE_KEY, 0, 0, HEADS, 2, positions, NULL, 2, in, out, &err), 0);
  assert_memory_equal(in, out, sizeof in);
  assert_int_equal(instance_embed(none, 1, positions, NULL, 2, x, MODEL, &err), 0);
  assert_true(x[0] == 1);
  struct bias_tile tile = {.nq = 1, .nk = 1, .mapped_q = positions, .mapped_k = positions, .s = x, .s_stride = 1};
  assert_int_equal(instance_bias(none, &tile, &err), 0);
  assert_true(x[0] == 1);
  instance_free(none);
}

static void test_bias_and_padding(void **state) {
  (void)state;
  struct instance *instance = make_of("sound", "sound");
  const double positions[4] = {-1, 0, 1, 2};
  const uint8_t padding[4] = {1, 0, 0, 0};
  float s[16];
  for (size_t i = 0; i < 16; i++) {
    s[i] = 100;
  }
  struct bias_tile tile = {.head = 0,
                           .seq_len = 3,
                           .nq = 4,
                           .nk = 4,
                           .mapped_q = positions,
                           .mapped_k = positions,
                           .padding_q = padding,
                           .padding_k = padding,
                           .s = s,
                           .s_stride = 4};
  struct error err;
  assert_int_equal(instance_bias(instance, &tile, &err), 0);
  float gain = instance_tensor(instance, 0, NULL)[0];
  for (size_t q = 0; q < 4; q++) {
    for (size_t k = 0; k < 4; k++) {
      double expected = q && k ? 100 - 0.5 * (double)gain * fabs((double)q - (double)k) : 100;
      assert_true(fabs((double)s[q * 4 + k] - expected) < 1e-5);
    }
  }
  instance_free(instance);
}

/* ---- undefined, and wrong ---- */

static int embed_at(const char *plugin, const char *id, double position, struct error *err, bool *changed_fp) {
  struct instance *instance = make_of(plugin, id);
  double positions[3] = {0, position, 1};
  float x[3 * MODEL] = {0};
  int status = instance_embed(instance, 3, positions, NULL, 4, x, MODEL, err);
  if (changed_fp) {
    *changed_fp = instance_changed_fp_state(instance);
  }
  instance_free(instance);
  return status;
}

static void test_undefined(void **state) {
  (void)state;
  struct error err = {0};
  int status = embed_at("sound", "sound_embed", 1000001, &err, NULL);
  must_be(status, &err, ERROR_UNDEFINED,
          "sound_embed: not defined at position 1000001 (row 1): its positions are -1000000 to 1000000");
  status = embed_at("sound", "sound_embed", NAN, &err, NULL);
  must_be(status, &err, ERROR_UNDEFINED, "sound_embed: not defined at position nan");
  /* A plugin that does not check its own domain never gets there. */
  status = embed_at("domain_unchecked", "spoiled", -1e7, &err, NULL);
  must_be(status, &err, ERROR_UNDEFINED, "spoiled: not defined at position -10000000");
  status = embed_at("domain_fraction", "spoiled", 0.5, &err, NULL);
  must_be(status, &err, ERROR_UNDEFINED, "spoiled: not defined at position 0.5 (row 1): it needs whole numbers");
  /* What only the plugin knows. */
  status = embed_at("domain_inside_refused", "spoiled", 1e6, &err, NULL);
  must_be(status, &err, ERROR_UNDEFINED, "spoiled: not defined at position 1000000: position 1e+06");
}

static void test_not_a_number(void **state) {
  (void)state;
  struct error err = {0};
  int status = embed_at("embed_nan", "spoiled", 2, &err, NULL);
  must_be(status, &err, ERROR_SCHEME_VALUE, "embed_add gave ");
  must_be(status, &err, ERROR_SCHEME_VALUE, "nan at position 0 (channel 0)");

  struct instance *instance = make_of("qk_nan", "spoiled");
  const double positions[2] = {1, 0};
  float in[HEADS * 2 * WIDTH], out[HEADS * 2 * WIDTH];
  for (size_t i = 0; i < HEADS * 2 * WIDTH; i++) {
    in[i] = 1;
  }
  status = instance_rotate(instance, PE_ROLE_KEY, 0, 0, HEADS, 2, positions, NULL, 2, in, out, &err);
  must_be(status, &err, ERROR_SCHEME_VALUE, "nan for key head 0 at position 0 (channel 0)");
  status = instance_rotate(instance, PE_ROLE_KEY, 0, 0, HEADS, 2, positions, NULL, 2, in, in, &err);
  must_be(status, &err, ERROR_SCHEME_VALUE, "nan for key head 0 at position 0 (channel 0)");
  instance_free(instance);

  instance = make_of("bias_infinite", "spoiled");
  const double far[2] = {3, 9};
  float s[2] = {0};
  struct bias_tile tile = {
      .head = 1, .seq_len = 10, .nq = 1, .nk = 2, .mapped_q = far, .mapped_k = far, .s = s, .s_stride = 2};
  status = instance_bias(instance, &tile, &err);
  must_be(status, &err, ERROR_SCHEME_VALUE, "bias_add gave -inf for head 1 at query position 3, key position 9");
  instance_free(instance);
}

/* What was not finite before is not the scheme's fault. */
static void test_not_its_fault(void **state) {
  (void)state;
  struct error err = {0};
  struct instance *instance = make_of("sound", "sound");
  const double positions[1] = {1};
  float s = INFINITY;
  struct bias_tile tile = {
      .seq_len = 2, .nq = 1, .nk = 1, .mapped_q = positions, .mapped_k = positions, .s = &s, .s_stride = 1};
  assert_int_equal(instance_bias(instance, &tile, &err), 0);
  float in[WIDTH] = {NAN}, out[WIDTH];
  assert_int_equal(instance_rotate(instance, PE_ROLE_KEY, 0, 0, 1, 1, positions, NULL, 2, in, out, &err), 0);
  assert_int_equal(instance_rotate(instance, PE_ROLE_KEY, 0, 0, 1, 1, positions, NULL, 2, in, in, &err), 0);
  instance_free(instance);
  instance = make_of("sound", "sound_embed");
  float x[MODEL] = {INFINITY};
  assert_int_equal(instance_embed(instance, 1, positions, NULL, 2, x, MODEL, &err), 0);
  instance_free(instance);
}

static void test_wrong_status(void **state) {
  (void)state;
  struct error err = {0};
  const double position = 0;
  float s = 0;
  struct bias_tile tile = {
      .seq_len = 1, .nq = 1, .nk = 1, .mapped_q = &position, .mapped_k = &position, .s = &s, .s_stride = 1};
  struct instance *instance = make_of("status_unknown", "spoiled");
  int status = instance_bias(instance, &tile, &err);
  must_be(status, &err, ERROR_SCHEME_FAILED,
          "spoiled: bias_add returned a status the contract does not have (99): it did not say why");
  instance_free(instance);
  instance = make_of("status_silent", "spoiled");
  status = instance_bias(instance, &tile, &err);
  must_be(status, &err, ERROR_SCHEME_FAILED, "spoiled: bias_add returned PE_ERR_INTERNAL (8): it did not say why");
  instance_free(instance);
}

static void test_wrong_derived(void **state) {
  (void)state;
  struct error err = {0};
  pe_derived value;
  double *data;
  struct instance *instance = make_of("derived_grows", "spoiled");
  int status = instance_derived(instance, 4, 0, &value, &data, &err);
  must_be(status, &err, ERROR_SCHEME_FAILED, "derived value inv_freq needs 2 elements, then 3");
  instance_free(instance);
  instance = make_of("derived_nameless", "spoiled");
  status = instance_derived(instance, 4, 0, &value, &data, &err);
  must_be(status, &err, ERROR_SCHEME_FAILED, "derived value 0 has no name");
  instance_free(instance);
}

static void test_fp_state(void **state) {
  (void)state;
  struct error err = {0};
  bool changed = true;
  assert_int_equal(embed_at("sound", "sound_embed", 2, &err, &changed), 0);
  assert_false(changed);
  static const char *const PLUGINS[] = {"fp_flush_to_zero", "fp_rounding", "fp_traps"};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(embed_at(PLUGINS[i], "spoiled", 2, &err, &changed), 0);
    assert_true(changed);
    volatile double smallest = DBL_MIN, zero = 0;
    assert_true(smallest / 4 == 5.56268464626800345e-309);
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_true(isinf(1 / zero));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answers_of_create),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_params),
      cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_shuffled),
      cmocka_unit_test(test_is_trained),
      cmocka_unit_test(test_embed_and_padding),
      cmocka_unit_test(test_rotate_and_padding),
      cmocka_unit_test(test_no_site),
      cmocka_unit_test(test_bias_and_padding),
      cmocka_unit_test(test_undefined),
      cmocka_unit_test(test_not_a_number),
      cmocka_unit_test(test_not_its_fault),
      cmocka_unit_test(test_wrong_status),
      cmocka_unit_test(test_wrong_derived),
      cmocka_unit_test(test_fp_state),
  };
  return cmocka_run_group_tests(tests, open_host, close_host);
}
