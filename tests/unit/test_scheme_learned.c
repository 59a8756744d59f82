/* Learned tables: which row a position reads, what lies past the end, and what is refused. Tables hold their own row
 * numbers, so that a value tells the row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin_fixture.h"

enum { WIDTH = 2 };

/* rows [n][WIDTH]: row r holds r and -r. */
static float *numbered_table(size_t n) {
  float *table = calloc(n * WIDTH, sizeof *table);
  assert_non_null(table);
  for (size_t r = 0; r < n; r++) {
    table[r * WIDTH] = (float)r;
    table[r * WIDTH + 1] = -(float)r;
  }
  return table;
}

static pe_status open_numbered(plugin_fixture *fixture, const float *table, size_t n, double train_len,
                               const plugin_setting *settings, size_t n_settings) {
  const plugin_tensor tensors[] = {{.name = "table", .dims = {.rank = 2, .dim = {n, WIDTH}}, .data = table}};
  return plugin_fixture_open(fixture, "learned",
                             &(plugin_request){.d_model = WIDTH,
                                               .train_len = train_len,
                                               .settings = settings,
                                               .n_settings = n_settings,
                                               PLUGIN_TENSORS(tensors)});
}

#define OPEN_NUMBERED(fixture, table, n, train_len, settings)                                                          \
  open_numbered(fixture, table, n, train_len, settings, sizeof(settings) / sizeof((settings)[0]))

/* What is read at a position of a call of this length: the row number, or a blend of two. */
static double read_at(plugin_fixture *fixture, double position, double length) {
  float out[WIDTH] = {0};
  assert_int_equal(plugin_fixture_embed(fixture, length, 1, &position, out), PE_OK);
  assert_true(out[1] == -out[0]);
  return (double)out[0];
}

static void expect_refused(plugin_fixture *fixture, double position, pe_status expected) {
  float out[WIDTH] = {5, 6};
  assert_int_equal(plugin_fixture_embed(fixture, 0, 1, &position, out), expected);
  assert_true(out[0] == 5 && out[1] == 6);
}

/* OPT: two rows more than positions; position 0 reads row 2 (huggingface/transformers#20761). */
static void test_offset(void **state) {
  (void)state;
  float *table = numbered_table(2050);
  plugin_setting settings[] = {PLUGIN_NUMBER("max_positions", 2048), PLUGIN_NUMBER("offset", 2)};
  plugin_fixture fixture;
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 2050, 0, settings), PE_OK);
  assert_true(read_at(&fixture, 0, 0) == 2);
  assert_true(read_at(&fixture, 2047, 0) == 2049);
  assert_true(read_at(&fixture, -1, 0) == 1);
  assert_true(read_at(&fixture, -2, 0) == 0);
  expect_refused(&fixture, 2048, PE_ERR_POS_RANGE);
  expect_refused(&fixture, -3, PE_ERR_POS_RANGE);
  expect_refused(&fixture, 0.5, PE_ERR_POS_KIND);
  assert_true(fixture.domain.integer_only == 1 && fixture.domain.min == -2 && fixture.domain.max == 2047);
  plugin_fixture_close(&fixture);
  free(table);
}

static void expect_message(plugin_fixture *fixture, pe_status status, pe_status expected, const char *first,
                           const char *second) {
  if (status != expected || !strstr(fixture->error.msg, first) || !strstr(fixture->error.msg, second)) {
    fail_msg("status %d, \"%s\"; expected %d with \"%s\" and \"%s\"", status, fixture->error.msg, expected, first,
             second);
  }
  assert_null(fixture->instance);
  plugin_fixture_close(fixture);
}

/* A table of another row count is refused, and both counts are named. */
static void test_row_count(void **state) {
  (void)state;
  float *table = numbered_table(2050);
  plugin_fixture fixture;
  plugin_setting no_offset[] = {PLUGIN_NUMBER("max_positions", 2048)};
  expect_message(&fixture, OPEN_NUMBERED(&fixture, table, 2050, 0, no_offset), PE_ERR_SHAPE, "2050", "2048");
  plugin_setting too_short[] = {PLUGIN_NUMBER("max_positions", 2048), PLUGIN_NUMBER("offset", 2)};
  expect_message(&fixture, OPEN_NUMBERED(&fixture, table, 2048, 0, too_short), PE_ERR_SHAPE, "2048 rows", "2050");
  plugin_setting all_offset[] = {PLUGIN_NUMBER("offset", 2050)};
  expect_message(&fixture, OPEN_NUMBERED(&fixture, table, 2050, 0, all_offset), PE_ERR_SHAPE, "2050 rows",
                 "offset 2050");
  const plugin_tensor wide[] = {{.name = "table", .dims = {.rank = 2, .dim = {10, WIDTH + 1}}, .data = table}};
  pe_status status =
      plugin_fixture_open(&fixture, "learned", &(plugin_request){.d_model = WIDTH, PLUGIN_TENSORS(wide)});
  expect_message(&fixture, status, PE_ERR_SHAPE, "rows of 3", "d_model is 2");
  free(table);
}

/* max_positions: given, else the table's rows, else the training length, else refused. */
static void test_count_from(void **state) {
  (void)state;
  float *table = numbered_table(12);
  plugin_fixture fixture;
  plugin_setting offset[] = {PLUGIN_NUMBER("offset", 2)};
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 12, 128, offset), PE_OK);
  assert_true(fixture.domain.max == 9);
  plugin_fixture_close(&fixture);
  plugin_fixture_require(&fixture, "learned",
                         &(plugin_request){.d_model = WIDTH, .train_len = 128, PLUGIN_SETTINGS(offset)});
  assert_true(fixture.domain.max == 127 && fixture.dims[0].dim[0] == 130 && fixture.dims[0].dim[1] == WIDTH);
  plugin_fixture_close(&fixture);
  expect_message(&fixture, plugin_fixture_open(&fixture, "learned", &(plugin_request){.d_model = WIDTH}), PE_ERR_PARAM,
                 "max_positions is needed", "training length");
  free(table);
}

/* Past a table of 4 rows, in each way. */
static void test_beyond(void **state) {
  (void)state;
  float *table = numbered_table(6);
  plugin_fixture fixture;
  plugin_setting refuse[] = {PLUGIN_NUMBER("max_positions", 4)};
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 4, 0, refuse), PE_OK);
  expect_refused(&fixture, 4, PE_ERR_POS_RANGE);
  assert_true(fixture.domain.trained_max == 3);
  plugin_fixture_close(&fixture);

  plugin_setting clamp[] = {PLUGIN_TEXT("beyond", "clamp")};
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 4, 0, clamp), PE_OK);
  assert_true(read_at(&fixture, 2, 0) == 2 && read_at(&fixture, 4, 0) == 3 && read_at(&fixture, 1e15, 0) == 3);
  assert_true(isinf(fixture.domain.trained_max) && isinf(fixture.domain.max));
  plugin_fixture_close(&fixture);

  /* Row p mod max_positions, the offset's rows apart. */
  plugin_setting wrap[] = {PLUGIN_TEXT("beyond", "wrap"), PLUGIN_NUMBER("offset", 2)};
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 6, 0, wrap), PE_OK);
  assert_true(read_at(&fixture, 3, 0) == 5 && read_at(&fixture, 4, 0) == 2 && read_at(&fixture, 11, 0) == 5);
  assert_true(isinf(fixture.domain.trained_max));
  plugin_fixture_close(&fixture);

  plugin_setting zero[] = {PLUGIN_TEXT("beyond", "zero")};
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 4, 0, zero), PE_OK);
  assert_true(read_at(&fixture, 3, 0) == 3 && read_at(&fixture, 4, 0) == 0);
  assert_true(fixture.domain.trained_max == 3);
  plugin_fixture_close(&fixture);

  plugin_setting untrained[] = {PLUGIN_TEXT("beyond", "untrained"), PLUGIN_NUMBER("max_positions", 4)};
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 6, 0, untrained), PE_OK);
  assert_true(read_at(&fixture, 3, 0) == 3 && read_at(&fixture, 5, 0) == 5);
  expect_refused(&fixture, 6, PE_ERR_POS_RANGE);
  assert_true(fixture.domain.trained_max == 3 && fixture.domain.max == 5);
  plugin_fixture_close(&fixture);
  free(table);
}

/* Seeded untrained rows belong to the one table. */
static void test_untrained_rows_are_seeded(void **state) {
  (void)state;
  plugin_setting settings[] = {PLUGIN_TEXT("beyond", "untrained"), PLUGIN_NUMBER("total_positions", 300),
                               PLUGIN_NUMBER("offset", 2)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "learned",
                         &(plugin_request){.d_model = WIDTH, .train_len = 128, PLUGIN_SETTINGS(settings)});
  assert_int_equal(fixture.dims[0].dim[0], 302);
  assert_true(fixture.domain.trained_max == 127 && fixture.domain.max == 299);
  const double position = 299;
  float out[WIDTH] = {0};
  assert_int_equal(plugin_fixture_embed(&fixture, 0, 1, &position, out), PE_OK);
  assert_memory_equal(out, fixture.bound[0] + (299 + 2) * WIDTH, sizeof out);
  plugin_fixture_close(&fixture);
}

/* Stretching: position p of a call of T tokens reads p (M-1)/(T-1), so 5 rows over 9 tokens read every half row. */
static void test_interpolate(void **state) {
  (void)state;
  float *table = numbered_table(7);
  plugin_fixture fixture;
  plugin_setting settings[] = {PLUGIN_TEXT("beyond", "interpolate"), PLUGIN_NUMBER("offset", 2)};
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 7, 0, settings), PE_OK);
  for (size_t p = 0; p < 9; p++) {
    assert_true(read_at(&fixture, (double)p, 9) == 2 + (double)p / 2);
  }
  for (size_t p = 0; p < 5; p++) {
    assert_true(read_at(&fixture, (double)p, 5) == 2 + (double)p); /* no longer than the table */
    assert_true(read_at(&fixture, (double)p, p + 1 > 3 ? (double)p + 1 : 3) == 2 + (double)p);
  }
  assert_true(read_at(&fixture, 0.25, 5) == 2.25);
  assert_true(read_at(&fixture, -1, 9) == 1); /* rows of the offset stay where they are */
  expect_refused(&fixture, -1.5, PE_ERR_POS_KIND);
  assert_true(fixture.domain.integer_only == 0 && isinf(fixture.domain.trained_max));
  float out[WIDTH] = {5, 6};
  const double past = 9;
  assert_int_equal(plugin_fixture_embed(&fixture, 9, 1, &past, out), PE_ERR_POS_RANGE);
  plugin_fixture_close(&fixture);
  free(table);
}

/* Of a table that is longer than the training was, the rows past it were never moved, however it goes on. */
static void test_trained_part(void **state) {
  (void)state;
  static const char *const ways[] = {"error", "clamp", "wrap", "zero", "interpolate"};
  float *table = numbered_table(512);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    plugin_setting settings[] = {PLUGIN_TEXT("beyond", ways[i])};
    plugin_fixture fixture;
    assert_int_equal(OPEN_NUMBERED(&fixture, table, 512, 128, settings), PE_OK);
    assert_true(fixture.domain.trained_max == 127);
    plugin_fixture_close(&fixture);
  }
  free(table);
}

static void test_misplaced(void **state) {
  (void)state;
  plugin_fixture fixture;
  plugin_setting total[] = {PLUGIN_NUMBER("max_positions", 4), PLUGIN_NUMBER("total_positions", 8)};
  pe_status status = plugin_fixture_open(&fixture, "learned", &(plugin_request){.d_model = 2, PLUGIN_SETTINGS(total)});
  expect_message(&fixture, status, PE_ERR_PARAM, "total_positions goes with beyond untrained", "not with error");
  plugin_setting corners[] = {PLUGIN_NUMBER("max_positions", 4), PLUGIN_NUMBER("align_corners", 1),
                              PLUGIN_TEXT("beyond", "clamp")};
  status = plugin_fixture_open(&fixture, "learned", &(plugin_request){.d_model = 2, PLUGIN_SETTINGS(corners)});
  expect_message(&fixture, status, PE_ERR_PARAM, "align_corners goes with beyond interpolate", "not with clamp");
  plugin_setting none[] = {PLUGIN_NUMBER("max_positions", 4), PLUGIN_TEXT("beyond", "untrained")};
  status = plugin_fixture_open(&fixture, "learned", &(plugin_request){.d_model = 2, PLUGIN_SETTINGS(none)});
  expect_message(&fixture, status, PE_ERR_PARAM, "beyond untrained needs total_positions", "");
  plugin_setting fewer[] = {PLUGIN_NUMBER("max_positions", 4), PLUGIN_TEXT("beyond", "untrained"),
                            PLUGIN_NUMBER("total_positions", 3)};
  status = plugin_fixture_open(&fixture, "learned", &(plugin_request){.d_model = 2, PLUGIN_SETTINGS(fewer)});
  expect_message(&fixture, status, PE_ERR_PARAM, "total_positions 3", "max_positions 4");
}

/* The caller may change the table between calls. */
static void test_table_is_read_anew(void **state) {
  (void)state;
  float *table = numbered_table(4);
  plugin_setting settings[] = {PLUGIN_NUMBER("max_positions", 4)};
  plugin_fixture fixture;
  assert_int_equal(OPEN_NUMBERED(&fixture, table, 4, 0, settings), PE_OK);
  assert_true(read_at(&fixture, 3, 0) == 3);
  table[3 * WIDTH] = 30;
  table[3 * WIDTH + 1] = -30;
  assert_true(read_at(&fixture, 3, 0) == 30);
  plugin_fixture_close(&fixture);
  free(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_offset),
      cmocka_unit_test(test_row_count),
      cmocka_unit_test(test_count_from),
      cmocka_unit_test(test_beyond),
      cmocka_unit_test(test_untrained_rows_are_seeded),
      cmocka_unit_test(test_interpolate),
      cmocka_unit_test(test_trained_part),
      cmocka_unit_test(test_misplaced),
      cmocka_unit_test(test_table_is_read_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
