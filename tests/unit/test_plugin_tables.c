/* Tables of a plugin that are not sound, each with the sentence it is refused by. Everything is done in memory: one
 * sound entry, one member broken at a time. */
#include "host/plugin_tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static pe_status create(const pe_host *host, const pe_shape *shape, const pe_value *values, pe_instance **out,
                        pe_error *err) {
  (void)host, (void)shape, (void)values, (void)out;
  return pe_fail(err, PE_ERR_INTERNAL, -1, "not called");
}
static void destroy(pe_instance *self) {
  (void)self;
}
static pe_status tensor_shape(const pe_instance *self, uint32_t which, pe_dims *out) {
  (void)self, (void)which, (void)out;
  return PE_OK;
}
static pe_status tensor_bind(pe_instance *self, const float *const *tensors) {
  (void)self, (void)tensors;
  return PE_OK;
}
static uint32_t derived_count(const pe_instance *self, double seq_len) {
  (void)self, (void)seq_len;
  return 0;
}
static pe_status rows_call(const pe_instance *self, const pe_rows *rows, void *scratch, pe_error *err) {
  (void)self, (void)rows, (void)scratch, (void)err;
  return PE_OK;
}
static pe_status bias_add(const pe_instance *self, const pe_tile *tile, void *scratch, pe_error *err) {
  (void)self, (void)tile, (void)scratch, (void)err;
  return PE_OK;
}

enum { REAL, INTEGER, WORD, LIST, SWITCH, OPTIONAL, N_PARAMS };
static const char *const WORDS[] = {"half", "interleaved", NULL};
static const char *const TWICE[] = {"half", "half", NULL};
static const char *const NO_WORDS[] = {NULL};
static const double NUMBERS[] = {1, 2, 3};
static const double INFINITE[] = {1, INFINITY};

/* A plugin of two schemes whose rows can be changed. */
struct fixture {
  pe_param params[N_PARAMS];
  pe_tensor tensors[2];
  pe_scheme first, second;
  const pe_scheme *schemes[2];
  pe_entry entry;
};

static void make_sound(struct fixture *f) {
  memset(f, 0, sizeof *f);
  f->params[REAL] =
      (pe_param){.key = "base", .doc = "d", .type = PE_REAL, .min = 1, .max = INFINITY, .dflt = {.r = 10}};
  f->params[INTEGER] = (pe_param){.key = "buckets", .doc = "d", .type = PE_INT, .min = 2, .max = 64, .dflt = {.i = 32}};
  f->params[WORD] = (pe_param){.key = "layout", .doc = "d", .type = PE_CHOICE, .choices = WORDS, .dflt = {.i = 1}};
  f->params[LIST] = (pe_param){.key = "factors",
                               .doc = "d",
                               .type = PE_REAL_LIST,
                               .min = 0,
                               .max = 9,
                               .dflt = {.list = NUMBERS, .n = 3},
                               .list_min = 1,
                               .list_max = 3};
  f->params[SWITCH] = (pe_param){.key = "exact", .doc = "d", .type = PE_BOOL, .dflt = {.i = 1}};
  f->params[OPTIONAL] =
      (pe_param){.key = "scale", .doc = "d", .type = PE_REAL, .flags = PE_PARAM_OPTIONAL, .min = 0, .max = 1};
  f->tensors[0] = (pe_tensor){.name = "table", .doc = "d", .init = PE_INIT_NORMAL, .init_b = 0.02};
  f->tensors[1] = (pe_tensor){.name = "A", .doc = "d", .init = PE_INIT_UNIFORM, .init_a = -1, .init_b = 1};
  f->first = (pe_scheme){.struct_size = sizeof(pe_scheme),
                         .version = 1,
                         .id = "first",
                         .title = "t",
                         .reference = "r",
                         .sites = PE_SITE_QK | PE_SITE_BIAS,
                         .traits = PE_TRAIT_RELATIVE,
                         .params = f->params,
                         .n_params = N_PARAMS,
                         .param_stride = sizeof(pe_param),
                         .tensors = f->tensors,
                         .n_tensors = 2,
                         .tensor_stride = sizeof(pe_tensor),
                         .create = create,
                         .destroy = destroy,
                         .tensor_shape = tensor_shape,
                         .tensor_bind = tensor_bind,
                         .qk_apply = rows_call,
                         .bias_add = bias_add};
  f->second = (pe_scheme){.struct_size = sizeof(pe_scheme),
                          .id = "second",
                          .title = "t",
                          .reference = "r",
                          .sites = PE_SITE_EMBED,
                          .create = create,
                          .destroy = destroy,
                          .embed_add = rows_call};
  f->schemes[0] = &f->first;
  f->schemes[1] = &f->second;
  f->entry = (pe_entry){.magic = PE_ABI_MAGIC,
                        .struct_size = sizeof(pe_entry),
                        .abi_major = PE_ABI_MAJOR,
                        .abi_minor = PE_ABI_MINOR,
                        .name = "n",
                        .version = "1",
                        .schemes = f->schemes,
                        .n_schemes = 2};
}

static void must_pass(const struct fixture *f) {
  struct error err = {0};
  if (plugin_tables_check("x.so", &f->entry, &err)) {
    fail_msg("refused: %s", err.text);
  }
}

static void must_fail(const struct fixture *f, enum error_code code, const char *phrase) {
  struct error err = {0};
  int status = plugin_tables_check("x.so", &f->entry, &err);
  if (status != (int)code || strncmp(err.text, "x.so: ", 6) != 0 || !strstr(err.text, phrase)) {
    fail_msg("expected %d with \"%s\", got %d: %s", (int)code, phrase, status, status ? err.text : "");
  }
}

/* One broken member. */
#define BROKEN(phrase, change)                                                                                         \
  do {                                                                                                                 \
    struct fixture f;                                                                                                  \
    make_sound(&f);                                                                                                    \
    change;                                                                                                            \
    must_fail(&f, ERROR_PLUGIN_TABLE, phrase);                                                                         \
  } while (0)
#define WRONG_ABI(phrase, change)                                                                                      \
  do {                                                                                                                 \
    struct fixture f;                                                                                                  \
    make_sound(&f);                                                                                                    \
    change;                                                                                                            \
    must_fail(&f, ERROR_PLUGIN_ABI, phrase);                                                                           \
  } while (0)
#define ACCEPTED(change)                                                                                               \
  do {                                                                                                                 \
    struct fixture f;                                                                                                  \
    make_sound(&f);                                                                                                    \
    change;                                                                                                            \
    must_pass(&f);                                                                                                     \
  } while (0)

static void test_sound(void **state) {
  (void)state;
  ACCEPTED((void)0);
  ACCEPTED(f.first.id = "a123456789b123456789c123456789d123456789e123456789f123456789_123");
  ACCEPTED(f.first.title = "Su et al. 2021, \xe2\x80\x9cRoFormer\xe2\x80\x9d, \xf0\x9f\x8c\x80");
  ACCEPTED(f.params[REAL].dflt.r = 1);
  ACCEPTED(f.params[OPTIONAL].dflt.r = NAN);
  ACCEPTED((f.params[LIST].dflt = (pe_value){0}, f.params[LIST].list_min = 0));
  ACCEPTED((f.first.n_params = 0, f.first.params = NULL, f.first.param_stride = 0));
  ACCEPTED((f.params[WORD].flags = PE_PARAM_OR_LIST, f.params[WORD].list_max = 8));
}

static void test_version(void **state) {
  (void)state;
  WRONG_ABI("the magic of pe_plugin_entry is 0x00000000, 0x50452d31 is needed", f.entry.magic = 0);
  WRONG_ABI("built for version 99.7 of the plugin contract, this pe-run has 0.1",
            (f.entry.abi_major = 99, f.entry.abi_minor = 7));
  /* One field fewer, as an older layout would be: nothing after the first four members is read. */
  WRONG_ABI(
      "the struct_size of pe_plugin_entry is 40 (built for version 0.0 of the plugin contract); this pe-run, with "
      "version 0.1, needs at least 44 bytes",
      (f.entry.struct_size = 40, f.entry.abi_minor = 0, f.entry.schemes = NULL));
  BROKEN("scheme 0: its struct_size is 16", f.first.struct_size = 16);
}

static void test_newer_minor(void **state) {
  (void)state;
  ACCEPTED((f.entry.abi_minor = PE_ABI_MINOR + 1, f.entry.struct_size += 64, f.first.struct_size += 64));
  ACCEPTED((f.entry.abi_minor = PE_ABI_MINOR + 1, f.first.traits |= 0x8000, f.params[REAL].flags = 0x100));
  BROKEN("traits have bits that version 0.1 of the contract does not know: 0x8000", f.first.traits |= 0x8000);
  BROKEN("the flags of a parameter have bits", f.params[REAL].flags = 0x100);
  /* Rows that a newer minor made longer. */
  struct {
    pe_param row;
    double more[2];
  } rows[2] = {{.row = {.key = "a", .doc = "d", .type = PE_BOOL}, .more = {NAN, NAN}},
               {.row = {.key = "b", .doc = "d", .type = PE_BOOL}}};
  ACCEPTED((f.first.params = &rows[0].row, f.first.n_params = 2, f.first.param_stride = sizeof rows[0]));
  /* An older one that ends with bias_add. */
  ACCEPTED(f.first.struct_size = offsetof(pe_scheme, extension));
}

static void test_entry(void **state) {
  (void)state;
  BROKEN("the plugin's name is NULL", f.entry.name = NULL);
  BROKEN("the plugin's version is not one line of clean UTF-8", f.entry.version = "1\n2");
  BROKEN("schemes is NULL, n_schemes is 2", f.entry.schemes = NULL);
  BROKEN("schemes is set, n_schemes is 0", f.entry.n_schemes = 0);
  BROKEN("n_schemes is 4294967295", f.entry.n_schemes = UINT32_MAX);
  BROKEN("scheme 1: it is NULL", f.schemes[1] = NULL);
}

static void test_scheme(void **state) {
  (void)state;
  BROKEN("scheme 0: its id is NULL", f.first.id = NULL);
  BROKEN("scheme 0: its id does not match", f.first.id = "");
  BROKEN("scheme 0: its id does not match", f.first.id = "../first");
  BROKEN("scheme 0: its id does not match", f.first.id = "1st");
  BROKEN("scheme 0: its id does not match",
         f.first.id = "a123456789b123456789c123456789d123456789e123456789f123456789_1234");
  BROKEN("scheme none: the id has a meaning of its own", f.first.id = "none");
  BROKEN("scheme comparison_x: the id has a meaning of its own", f.first.id = "comparison_x");
  BROKEN("scheme first: the id stands twice in this plugin", f.second.id = "first");
  BROKEN("scheme first: its title is NULL", f.first.title = NULL);
  BROKEN("scheme first: its reference is not one line", f.first.reference = "caf\xe9");
  BROKEN("sites is 0x0: it acts nowhere", (f.first.sites = 0, f.first.qk_apply = NULL, f.first.bias_add = NULL));
  BROKEN("sites have bits", f.first.sites |= 8);
  BROKEN("sites names PE_SITE_QK, but qk_apply is NULL", f.first.qk_apply = NULL);
  BROKEN("sites names PE_SITE_BIAS, but bias_add is NULL", f.first.bias_add = NULL);
  BROKEN("sites names PE_SITE_EMBED, but embed_add is NULL", f.second.embed_add = NULL);
  BROKEN("embed_add is set, but sites does not name PE_SITE_EMBED", f.first.embed_add = rows_call);
  BROKEN("create is NULL", f.first.create = NULL);
  BROKEN("destroy is NULL", f.first.destroy = NULL);
  BROKEN("tensor_shape is NULL, but there are tensors", f.first.tensor_shape = NULL);
  BROKEN("tensor_bind is NULL, but there are tensors", f.first.tensor_bind = NULL);
  BROKEN("derived_count is set, but derived is NULL", f.first.derived_count = derived_count);
  BROKEN("PE_TRAIT_CONTENT goes with PE_SITE_BIAS alone", f.second.traits = PE_TRAIT_CONTENT);
}

static void test_params(void **state) {
  (void)state;
  BROKEN("params is NULL, n_params is 6", f.first.params = NULL);
  BROKEN("n_params is 100000", f.first.n_params = 100000);
  BROKEN("param_stride is 8", f.first.param_stride = 8);
  BROKEN("parameter 1: its key is NULL", f.params[INTEGER].key = NULL);
  BROKEN("parameter 0: its key does not match", f.params[REAL].key = "Base");
  BROKEN("parameter 0: its key does not match", f.params[REAL].key = "rope theta");
  BROKEN("parameter base stands twice", f.params[INTEGER].key = "base");
  BROKEN("parameter label: the word has a meaning of its own", f.params[REAL].key = "label");
  BROKEN("the doc of a parameter is NULL", f.params[REAL].doc = NULL);
  BROKEN("parameter base: its type is 9", f.params[REAL].type = 9);
  BROKEN("parameter base: both optional and required", f.params[REAL].flags = PE_PARAM_OPTIONAL | PE_PARAM_REQUIRED);
  BROKEN("parameter base: PE_PARAM_OR_LIST goes with PE_CHOICE", f.params[REAL].flags = PE_PARAM_OR_LIST);
  BROKEN("parameter base: choices, but", f.params[REAL].choices = WORDS);
  BROKEN("parameter base: its bounds are min 5 and max 4", (f.params[REAL].min = 5, f.params[REAL].max = 4));
  BROKEN("parameter base: its bounds are min nan", f.params[REAL].min = NAN);
  BROKEN("parameter base: the default 0.5 is not in [1, inf]", f.params[REAL].dflt.r = 0.5);
  BROKEN("parameter base: the default nan is not in", f.params[REAL].dflt.r = NAN);
  BROKEN("parameter base: the default inf is not in", f.params[REAL].dflt.r = INFINITY);
  BROKEN("parameter buckets: the default 65 is not in [2, 64]", f.params[INTEGER].dflt.i = 65);
  BROKEN("parameter buckets: the bounds 2 and 64.5 of a PE_INT must be whole", f.params[INTEGER].max = 64.5);
  BROKEN("parameter exact: the default of a PE_BOOL is 2", f.params[SWITCH].dflt.i = 2);
  BROKEN("parameter layout: a PE_CHOICE without choices", f.params[WORD].choices = NULL);
  BROKEN("parameter layout: a PE_CHOICE without choices", f.params[WORD].choices = NO_WORDS);
  BROKEN("parameter layout: the choice half stands twice", f.params[WORD].choices = TWICE);
  BROKEN("parameter layout: the default is choice 2 of 2", f.params[WORD].dflt.i = 2);
  BROKEN("parameter layout: the default is choice -1 of 2", f.params[WORD].dflt.i = -1);
  BROKEN("parameter factors: the default has 4 elements, 1 to 3 are allowed", f.params[LIST].dflt.n = 4);
  BROKEN("parameter factors: list_min is 4, list_max 3", f.params[LIST].list_min = 4);
  BROKEN("parameter factors: list_min is 0, list_max 0", (f.params[LIST].list_min = 0, f.params[LIST].list_max = 0));
  BROKEN("parameter factors: the default's list is NULL", f.params[LIST].dflt.list = NULL);
  BROKEN("parameter factors: the default inf is not in [0, 9]",
         (f.params[LIST].dflt.list = INFINITE, f.params[LIST].dflt.n = 2));
}

static void test_tensors(void **state) {
  (void)state;
  BROKEN("tensors is NULL, n_tensors is 2", f.first.tensors = NULL);
  BROKEN("tensor_stride is 0", f.first.tensor_stride = 0);
  BROKEN("tensor 0: its name is NULL", f.tensors[0].name = NULL);
  BROKEN("tensor 0: its name does not match", f.tensors[0].name = "table/rows");
  BROKEN("tensor table stands twice", f.tensors[1].name = "table");
  BROKEN("base is the name of a parameter and of a tensor", f.tensors[1].name = "base");
  BROKEN("tensor table: its init is 7", f.tensors[0].init = 7);
  BROKEN("tensor table: init_a is 0, init_b -1", f.tensors[0].init_b = -1);
  BROKEN("tensor A: init_a is nan", f.tensors[1].init_a = NAN);
  BROKEN("the flags of a tensor have bits", f.tensors[1].flags = 0x10);
  BROKEN("the doc of a tensor is NULL", f.tensors[0].doc = NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sound),   cmocka_unit_test(test_version), cmocka_unit_test(test_newer_minor),
      cmocka_unit_test(test_entry),   cmocka_unit_test(test_scheme),  cmocka_unit_test(test_params),
      cmocka_unit_test(test_tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
