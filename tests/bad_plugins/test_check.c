/* Every plugin that breaks a rule fails the check that proves the rule, with the sentence that helps; those that are
 * sound fail none. */
#include "host/check/check.h"
#include "host/check/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct expected {
  const char *plugin, *id;
  enum check_outcome outcome;
  const char *phrase;
} EXPECTED[] = {
    /* loading */
    {"wrong_magic", "load", CHECK_FAIL, "the magic of pe_plugin_entry"},
    {"newer_major", "load", CHECK_FAIL, "of the plugin contract, this pe-run has"},
    {"older_layout", "load", CHECK_FAIL, "the struct_size of pe_plugin_entry is 40"},
    {"no_entry", "load", CHECK_FAIL, "exports no pe_plugin_entry"},
    {"entry_is_function", "load", CHECK_FAIL, "pe_plugin_entry is no data"},
    {"entry_too_small", "load", CHECK_FAIL, "takes 4 bytes"},
    {"undefined_symbol", "load", CHECK_FAIL, "undefined symbol: missing_fn"},
    {"null_member", "load", CHECK_FAIL, "bias_add is NULL"},
    {"null_create", "load", CHECK_FAIL, "create is NULL"},
    {"null_schemes", "load", CHECK_FAIL, "schemes is NULL"},
    {"id_with_slash", "load", CHECK_FAIL, "its id does not match"},
    {"ids_twice", "load", CHECK_FAIL, "the id stands twice"},
    {"default_out_of_range", "load", CHECK_FAIL, "the default 11 is not in [1, 10]"},
    {"deadly/constructor_crashes", "load", CHECK_CRASHED, "signal 11"},
    {"deadly/constructor_exits", "load", CHECK_CRASHED, "ended the process, with exit status 0, in: loading"},
    {"deadly/constructor_hangs", "load", CHECK_CRASHED, "not finished after 2 s, in: loading"},
    {"deadly/destructor_crashes", "exit", CHECK_CRASHED, "signal 11"},
    {"fast_math", "load.environment", CHECK_FAIL, "-ffast-math"},
    {"exports_more", "load.symbols", CHECK_FAIL, "exports helper_for_all beside pe_plugin_entry"},
    {"helper_1", "load.symbols", CHECK_FAIL, "exports helper beside pe_plugin_entry"},
    {"extension_any", "extension", CHECK_FAIL, "extension(\"pe.nothing/1\") is not NULL"},
    /* instances */
    {"create_nothing", "create.defaults", CHECK_FAIL, "PE_OK and no instance"},
    {"create_refuses_defaults", "create.defaults", CHECK_FAIL, "base must be a power of two, it is 10000"},
    {"create_crashes", "create.defaults", CHECK_CRASHED, "in: create with heads 4"},
    {"create_crashes_at_bound", "create.bounds", CHECK_CRASHED, "slope=0"},
    {"create_ignores_shape", "create.shapes", CHECK_FAIL, "beyond the end of in"},
    {"create_touches_out", "create.shapes", CHECK_FAIL, "has written *out"},
    {"create_silent", "create.shapes", CHECK_FAIL, "says nothing"},
    {"create_wrong_status", "create.shapes", CHECK_FAIL, "which is for positions"},
    {"create_leaks", "create.leaks", CHECK_FAIL, "per instance"},
    {"destroy_null", "destroy", CHECK_CRASHED, "destroy(NULL)"},
    {"destroy_twice", "create.defaults", CHECK_CRASHED, "in: destroy"},
    {"domain_nonsense", "create.defaults", CHECK_FAIL, "domain makes no sense"},
    {"traits_lost", "create.defaults", CHECK_FAIL, "instance_traits gives 0x0"},
    {"width_zero", "create.defaults", CHECK_FAIL, "qk_width is 0"},
    {"scale_nan", "create.defaults", CHECK_FAIL, "score_scale gives"},
    {"shape_overflow", "create.defaults", CHECK_FAIL, "tensor_shape of gain makes no sense"},
    {"tensor_kept", "tensors", CHECK_FAIL, "it keeps something"},
    /* memory */
    {"writes_after", "write.bounds", CHECK_FAIL, "beyond the end of out"},
    {"writes_before", "write.bounds", CHECK_FAIL, "before the beginning of out"},
    {"writes_far", "write.bounds", CHECK_FAIL, "beyond the end of out"},
    {"writes_padding", "write.bounds", CHECK_FAIL, "the gap between rows of s"},
    {"writes_input", "write.bounds", CHECK_FAIL, "in, which is read-only"},
    {"writes_null", "write.bounds", CHECK_CRASHED, "in: bias_add, head 0"},
    {"frees_host_memory", "write.bounds", CHECK_CRASHED, "bias_add"},
    {"trait_content_not_told", "write.bounds", CHECK_CRASHED, "bias_add"},
    {"scratch_too_small", "write.bounds", CHECK_FAIL, "scratch"},
    {"scratch_assumed_zero", "scratch", CHECK_FAIL, "scratch of zeros against"},
    {"qk_unwritten", "write.all", CHECK_FAIL, "left element 7 of head 0, row 0 unwritten"},
    {"overwrites", "additive", CHECK_FAIL, "bias: element"},
    {"overwrites_embedding", "additive", CHECK_FAIL, "embedding: element"},
    {"empty_crashes", "empty", CHECK_FAIL, "before the beginning of an empty tile"},
    {"in_place", "in_place", CHECK_FAIL, "out of place against in place"},
    {"strides_ignored", "strides", CHECK_FAIL, "contiguous rows against"},
    /* values and status */
    {"status_unknown", "calls", CHECK_FAIL, "bias_add, head 0"},
    {"status_silent", "calls", CHECK_FAIL, "returned status 8"},
    {"ends_memory", "calls", CHECK_FAIL, "no memory for a table"},
    {"embed_nan", "values", CHECK_FAIL, "embedding: element 0 of row 0 is"},
    {"qk_nan", "values", CHECK_FAIL, "query: element 0 of row 0 is"},
    {"bias_infinite", "values", CHECK_FAIL, "is -inf"},
    {"values_subnormal", "values", CHECK_WARN, "subnormal"},
    /* the same bits */
    {"split_rows", "split.rows", CHECK_FAIL, "against 1 row per call"},
    {"split_heads", "split.heads", CHECK_FAIL, "against 1 head per call"},
    {"split_tiles", "split.tiles", CHECK_FAIL, "against tiles of 1 queries and 1 keys"},
    {"split_tiles", "decode", CHECK_FAIL, "one token at a time"},
    {"state_counter", "repeat", CHECK_FAIL, "the first time against the next"},
    {"state_counter", "globals", CHECK_FAIL, "changed the plugin's own data"},
    {"state_random", "repeat", CHECK_FAIL, "the first time against the next"},
    {"state_address", "addresses", CHECK_FAIL, "at other addresses"},
    {"state_longest", "order", CHECK_FAIL, "before against after a longer sequence"},
    {"state_shared_buffer", "globals", CHECK_FAIL, "changed the plugin's own data"},
    {"state_shared_buffer", "threads", CHECK_FAIL, "one thread alone against 4 at once"},
    {"thread_destructor", "globals", CHECK_FAIL, "changed the plugin's own data"},
    /* the domain */
    {"domain_unchecked", "domain.outside", CHECK_FAIL, "is outside the domain, and the status is PE_OK"},
    {"domain_checked_late", "domain.outside", CHECK_FAIL, "is refused, but the output was written"},
    {"domain_wrong_where", "domain.outside", CHECK_FAIL, "the error names row 2"},
    {"domain_nan", "domain.outside", CHECK_FAIL, "position nan"},
    {"domain_fraction", "domain.outside", CHECK_FAIL, "position 1.5 is outside the domain"},
    {"domain_silent", "domain.outside", CHECK_FAIL, "without a sentence"},
    {"domain_inside_refused", "domain.inside", CHECK_FAIL, "position 1000000 is inside the domain"},
    {"distance_unchecked", "domain.outside", CHECK_FAIL, "farther than max_distance"},
    /* promises */
    {"trait_not_relative", "trait.relative", CHECK_FAIL, "the same bits are promised"},
    {"trait_rotation_not_relative", "trait.relative", CHECK_FAIL, "the score is"},
    {"trait_length_not_told", "trait.length", CHECK_FAIL, "without PE_TRAIT_LENGTH_DEPENDENT"},
    {"derived_nan", "derived", CHECK_FAIL, "element 0 is nan"},
    {"derived_grows", "derived", CHECK_FAIL, "asked again with a buffer of 4 elements"},
    {"derived_nameless", "derived", CHECK_FAIL, "name NULL"},
    {"derived_wrong", "derived.pinned", CHECK_FAIL, "inv_freq: pair 0"},
    {"slopes_wrong", "derived.pinned", CHECK_FAIL, "slopes: head 0"},
    {"buckets_wrong", "derived.pinned", CHECK_FAIL, "bucket_edges: distances 2 and 3 are in bucket 2"},
    {"gradient_sign", "gradient.bias", CHECK_FAIL, "bias_vjp: along a direction"},
    {"gradient_overwrites", "gradient.bias", CHECK_FAIL, "bias_vjp: along a direction"},
    {"gradient_forward", "gradient.rows", CHECK_FAIL, "rows_vjp of queries"},
    /* the process */
    {"fp_flush_to_zero", "environment.fp", CHECK_FAIL, "control bits 0x1f80 to 0x9fc0"},
    {"fp_rounding", "environment.fp", CHECK_FAIL, "rounding mode"},
    {"fp_traps", "environment.fp", CHECK_FAIL, "control bits"},
    {"process_locale", "environment.process", CHECK_FAIL, "the locale from C to C.UTF-8"},
    {"process_folder", "environment.process", CHECK_FAIL, "the working directory from"},
    {"process_umask", "environment.process", CHECK_FAIL, "the file creation mask from"},
    {"process_signals", "environment.process", CHECK_FAIL, "what happens on signal 2"},
    {"process_signal_mask", "environment.process", CHECK_FAIL, "the signal mask: signal 15"},
    {"process_environment", "environment.process", CHECK_FAIL, "the environment variables"},
    {"process_closes_files", "environment.process", CHECK_FAIL, "file descriptor 0 closed"},
    {"process_leaks_files", "environment.process", CHECK_FAIL, "open"},
    {"process_prints", "environment.process", CHECK_FAIL, "wrote to the standard output"},
    {"process_thread", "environment.process", CHECK_FAIL, "left 1 threads running"},
    {"process_forks", "environment.process", CHECK_FAIL, "left a child process"},
    {"ends_exit", "calls", CHECK_CRASHED, "ended the process, with exit status 0, in: embed_add"},
    {"ends_exit_now", "calls", CHECK_CRASHED, "ended the process, with exit status 0, in: embed_add"},
    {"ends_abort", "calls", CHECK_CRASHED, "signal 6"},
    {"ends_stack", "calls", CHECK_CRASHED, "signal 11"},
    {"ends_never", "calls", CHECK_CRASHED, "not finished after 2 s, in: embed_add"},
    {"ends_never_stubborn", "calls", CHECK_CRASHED, "not finished after 2 s, in: embed_add"},
};
enum { EXPECTED_COUNT = sizeof EXPECTED / sizeof EXPECTED[0] };

/* Sanitizers change how three kinds of plugins end. Checks that count memory, symbols, the plugin's own data and an
 * ordinary end are passed over. There is no limit of memory, and memory that is freed is not given out again at once,
 * so that who takes all of it or goes by addresses is not tried. And a process that ends by itself may end with a
 * report of the sanitizer's, and its exit status. */
static struct expected expected_here(const struct expected *expected) {
  static const char *const PASSED_OVER[] = {"exit", "load.symbols", "create.leaks", "globals"};
  static const char *const NOT_TRIED[] = {"ends_memory", "state_address"};
  struct expected here = *expected;
  for (size_t i = 0; CHECK_SANITIZED && i < sizeof PASSED_OVER / sizeof PASSED_OVER[0]; i++) {
    if (!strcmp(expected->id, PASSED_OVER[i])) {
      here.outcome = CHECK_SKIP;
      here.phrase = "sanitizers change what it measures";
    }
  }
  for (size_t i = 0; CHECK_SANITIZED && i < sizeof NOT_TRIED / sizeof NOT_TRIED[0]; i++) {
    if (!strcmp(expected->plugin, NOT_TRIED[i])) {
      here.plugin = NULL;
    }
  }
  if (CHECK_SANITIZED && strstr(expected->phrase, "ended the process, with exit status 0")) {
    here.phrase = "ended the process, with exit status";
  }
  return here;
}

/* What one run tells. */
struct heard {
  struct check_result worst; /* of the check that was asked for, else of all */
  const char *wanted;
  size_t count;
};

static void hear(void *context, const struct check_result *result) {
  struct heard *heard = context;
  heard->count++;
  if ((!heard->wanted || !strcmp(heard->wanted, result->id)) && result->outcome >= heard->worst.outcome) {
    heard->worst = *result;
  }
}

static struct heard run(const char *plugin, const char *only, double time_limit) {
  char path[600];
  struct error err;
  struct check_summary summary;
  struct heard heard = {.wanted = only};
  struct check_options options = {.level = CHECK_QUICK, .only = only, .seed = 17, .time_limit = time_limit};
  snprintf(path, sizeof path, "%s/%s.so", TEST_BAD_PLUGIN_DIR, plugin);
  if (check_plugin(path, &options, hear, &heard, &summary, &err)) {
    fail_msg("%s: %s", plugin, err.text);
  }
  return heard;
}

static void test_bad_plugins(void **state) {
  (void)state;
  size_t plugins = 0, tried = 0, missed = 0;
  for (size_t i = 0; i < EXPECTED_COUNT; i++) {
    const struct expected here = expected_here(&EXPECTED[i]), *expected = &here;
    if (!expected->plugin) {
      continue;
    }
    /* Limits are ten times as long under sanitizers. */
    bool hangs = strstr(expected->phrase, "not finished after 2 s") != NULL;
    struct heard heard = run(expected->plugin, expected->id, hangs ? (CHECK_SANITIZED ? 0.2 : 2) : 60);
    if (heard.worst.outcome != expected->outcome || !strstr(heard.worst.text, expected->phrase)) {
      print_error("%s: %s should be %s with \"%s\", it is %s: %s\n", expected->plugin, expected->id,
                  check_outcome_name(expected->outcome), expected->phrase, check_outcome_name(heard.worst.outcome),
                  heard.worst.text);
      missed++;
    }
    tried++;
    plugins += i == 0 || strcmp(expected->plugin, EXPECTED[i - 1].plugin) != 0;
  }
  print_message("%zu checks; %zu bad plugins, %zu of %d faults tried, %zu missed\n", check_count(), plugins, tried,
                EXPECTED_COUNT, missed);
  assert_int_equal(missed, 0);
}

static void test_sound_plugins(void **state) {
  (void)state;
  static const char *const SOUND[] = {"sound", "sound_gradient", "newer_minor"};
  for (size_t i = 0; i < sizeof SOUND / sizeof SOUND[0]; i++) {
    struct heard heard = run(SOUND[i], NULL, 60);
    assert_true(heard.count >= check_count());
    if (heard.worst.outcome > CHECK_SKIP) {
      fail_msg("%s: %s is %s: %s", SOUND[i], heard.worst.id, check_outcome_name(heard.worst.outcome), heard.worst.text);
    }
  }
}

/* What stands in the way of a judgement is named once; what depends on it steps back. */
static void test_gates(void **state) {
  (void)state;
  struct error err;
  struct check_summary summary;
  struct heard heard = {.wanted = NULL};
  struct check_options options = {.level = CHECK_QUICK, .seed = 17};
  assert_int_equal(check_plugin(TEST_BAD_PLUGIN_DIR "/create_nothing.so", &options, hear, &heard, &summary, &err), 0);
  assert_int_equal(summary.count[CHECK_FAIL] + summary.count[CHECK_CRASHED], 1);
  assert_string_equal(heard.worst.id, "create.defaults");
  heard = (struct heard){.wanted = "values"};
  assert_int_equal(check_plugin(TEST_BAD_PLUGIN_DIR "/writes_after.so", &options, hear, &heard, &summary, &err), 0);
  assert_int_equal(heard.worst.outcome, CHECK_SKIP);
  assert_string_equal(heard.worst.text, "not to be judged: see write.bounds");
}

/* What is no plugin at all is told apart from one that fails. */
static void must_fail_as_file(const char *path, const char *phrase) {
  struct error err;
  struct check_summary summary;
  struct heard heard = {.wanted = NULL};
  struct check_options options = {.level = CHECK_QUICK, .seed = 17, .time_limit = 10};
  assert_int_equal(check_plugin(path, &options, hear, &heard, &summary, &err), 0);
  assert_int_equal(heard.count, 1);
  assert_string_equal(heard.worst.id, "file");
  assert_int_equal(heard.worst.outcome, CHECK_FAIL);
  if (!strstr(heard.worst.text, phrase)) {
    fail_msg("%s: %s", path, heard.worst.text);
  }
}

static void test_files(void **state) {
  (void)state;
  char folder[] = "/tmp/pe-run-check-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/it.so", folder);
  must_fail_as_file(path, "No such file");
  must_fail_as_file("", "names no file");
  must_fail_as_file(folder, "a folder");
  assert_int_equal(mkfifo(path, 0600), 0);
  must_fail_as_file(path, "a FIFO");
  assert_int_equal(unlink(path), 0);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs("#!/bin/sh\n", file) >= 0);
  assert_int_equal(fclose(file), 0);
  must_fail_as_file(path, "no ELF file");
  assert_int_equal(truncate(path, 0), 0);
  must_fail_as_file(path, "empty");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

static void test_only(void **state) {
  (void)state;
  struct error err;
  struct check_summary summary;
  struct heard heard = {.wanted = NULL};
  struct check_options options = {.only = "split"};
  assert_int_equal(check_plugin(TEST_BAD_PLUGIN_DIR "/sound.so", &options, hear, &heard, &summary, &err), 0);
  assert_int_equal(heard.count, 6); /* three checks on two schemes */
  options.only = "spli";
  assert_int_equal(check_plugin(TEST_BAD_PLUGIN_DIR "/sound.so", &options, hear, &heard, &summary, &err), ERROR_USAGE);
  assert_non_null(strstr(err.text, "no check is called spli"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_plugins), cmocka_unit_test(test_sound_plugins), cmocka_unit_test(test_gates),
      cmocka_unit_test(test_files),       cmocka_unit_test(test_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
