/* A plugin's tables as the config sees them. */
#include "host/scheme_tables.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const WORDS[] = {"vaswani", "tensor2tensor", NULL};
static const double NUMBERS[] = {1, 0.1, 1e-30};
enum { REAL, INTEGER, WORD, LIST, SWITCH, OPTIONAL, REQUIRED, EMPTY, N_PARAMS };
static const pe_param PARAMS[N_PARAMS] = {
    [REAL] = {.key = "base", .doc = "a base", .type = PE_REAL, .min = 1, .max = INFINITY, .dflt = {.r = 5e5}},
    [INTEGER] = {.key = "buckets", .doc = "d", .type = PE_INT, .min = 2, .max = 64, .dflt = {.i = 32}},
    [WORD] = {.key = "frequencies",
              .doc = "d",
              .type = PE_CHOICE,
              .flags = PE_PARAM_OR_LIST,
              .choices = WORDS,
              .dflt = {.i = 1},
              .list_min = 1,
              .list_max = 9},
    [LIST] = {.key = "factors",
              .doc = "d",
              .type = PE_REAL_LIST,
              .max = 9,
              .dflt = {.list = NUMBERS, .n = 3},
              .list_max = 3},
    [SWITCH] = {.key = "exact", .doc = "d", .type = PE_BOOL, .dflt = {.i = 1}},
    [OPTIONAL] = {.key = "scale", .doc = "d", .type = PE_REAL, .flags = PE_PARAM_OPTIONAL, .max = 1},
    [REQUIRED] = {.key = "width", .doc = "d", .type = PE_INT, .flags = PE_PARAM_REQUIRED, .max = 1},
    [EMPTY] = {.key = "none_yet", .doc = "d", .type = PE_REAL_LIST, .list_max = 3}};
static const pe_tensor TENSORS[] = {
    {.name = "table", .doc = "rows", .init = PE_INIT_NORMAL, .flags = PE_TENSOR_GIVEN, .init_a = 0.5, .init_b = 0.02}};
static const pe_scheme SCHEME = {.struct_size = sizeof(pe_scheme),
                                 .version = 3,
                                 .id = "scheme",
                                 .title = "a title",
                                 .reference = "a paper",
                                 .sites = PE_SITE_QK,
                                 .traits = PE_TRAIT_RELATIVE,
                                 .params = PARAMS,
                                 .n_params = N_PARAMS,
                                 .param_stride = sizeof(pe_param),
                                 .tensors = TENSORS,
                                 .n_tensors = 1,
                                 .tensor_stride = sizeof(pe_tensor)};
static const pe_entry ENTRY = {.name = "plugin", .version = "1.2"};

static void test_copy(void **state) {
  (void)state;
  char path[] = "/a/scheme.so";
  struct plugin_file file = {.path = path, .sha256 = "0123"};
  struct scheme_info info;
  struct error err;
  assert_int_equal(scheme_tables_copy(&ENTRY, &SCHEME, &file, &info, &err), 0);
  memset(path, 'x', sizeof path - 1); /* it is a copy */
  assert_string_equal(info.id, "scheme");
  assert_string_equal(info.title, "a title");
  assert_string_equal(info.reference, "a paper");
  assert_string_equal(info.path, "/a/scheme.so");
  assert_string_equal(info.sha256, "0123");
  assert_string_equal(info.plugin_name, "plugin");
  assert_string_equal(info.plugin_version, "1.2");
  assert_int_equal(info.version, 3);
  assert_int_equal(info.sites, PE_SITE_QK);
  assert_int_equal(info.traits, PE_TRAIT_RELATIVE);
  assert_string_equal(info.params.name, "scheme");
  assert_int_equal(info.params.count, N_PARAMS);

  const struct key_spec *keys = info.params.keys;
  assert_string_equal(keys[REAL].key, "base");
  assert_string_equal(keys[REAL].doc, "a base");
  assert_int_equal(keys[REAL].type, KEY_REAL);
  assert_true(keys[REAL].min == 1 && isinf(keys[REAL].max));
  static const enum key_type TYPES[N_PARAMS] = {KEY_REAL, KEY_INT,  KEY_CHOICE, KEY_REAL_LIST,
                                                KEY_BOOL, KEY_REAL, KEY_INT,    KEY_REAL_LIST};
  static const char *const FALLBACKS[N_PARAMS] = {"500000", "32", "tensor2tensor", "[1, 0.1, 1e-30]", "true", NULL,
                                                  NULL,     "[]"};
  static const unsigned FLAGS[N_PARAMS] = {0, 0, KEY_OR_LIST, 0, 0, KEY_OPTIONAL, KEY_REQUIRED, 0};
  for (size_t i = 0; i < N_PARAMS; i++) {
    assert_int_equal(keys[i].type, TYPES[i]);
    assert_int_equal(keys[i].flags, FLAGS[i]);
    if (FALLBACKS[i]) {
      assert_string_equal(keys[i].fallback, FALLBACKS[i]);
    } else {
      assert_null(keys[i].fallback);
    }
  }
  assert_string_equal(keys[WORD].choices[1], "tensor2tensor");
  assert_null(keys[WORD].choices[2]);
  assert_int_equal(keys[WORD].list_max, 9);

  assert_int_equal(info.n_tensors, 1);
  assert_string_equal(info.tensors[0].name, "table");
  assert_int_equal(info.tensors[0].flags, PE_TENSOR_GIVEN);
  assert_true(info.tensors[0].init_a == 0.5 && info.tensors[0].init_b == 0.02);
  scheme_info_clear(&info);
  assert_null(info.id);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
