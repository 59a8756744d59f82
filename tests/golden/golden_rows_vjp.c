/* Gradients of the schemes that act on rows, from PyTorch's autograd in float64: the vjp_learned_* and vjp_rope_* cases
 * of tests/golden/data/training.h5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "golden_check.h"
#include "plugin_fixture.h"

/* Rotations: 3e-7 |x|, |x| <= 2, for a float32 program with double angles (data/README.md). Tables: a sum of at most 16
 * gradients of up to 2, each product and each sum rounded to float32, 2^-24 of up to 32 each. */
static const golden_tolerance rotation_tolerance = {.absolute = 3e-7 * 2};
static const golden_tolerance row_tolerance = {.absolute = 1.2e-7};
static const golden_tolerance table_tolerance = {.absolute = 2e-6};

static void check_learned(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array table = golden_read(file, name, "in_table");
  golden_array positions = golden_read(file, name, "in_positions");
  golden_array gradient = golden_read(file, name, "in_gradient");
  golden_array rows = golden_read(file, name, "out_rows");
  golden_array expected = golden_read(file, name, "out_gradient_table");
  float *values = golden_floats(&table);
  float *g = golden_floats(&gradient);
  float *out = calloc(rows.n, sizeof *out);
  float *dw = calloc(table.n, sizeof *dw);
  assert_non_null(out);
  assert_non_null(dw);
  char beyond[32];
  assert_true(golden_text(file, name, "beyond", beyond, sizeof beyond));
  plugin_setting settings[] = {PLUGIN_TEXT("beyond", beyond),
                               PLUGIN_NUMBER("max_positions", golden_number(file, name, "max_positions"))};
  plugin_tensor tensors[] = {
      {.name = "table", .dims = {.rank = 2, .dim = {table.dim[0], table.dim[1]}}, .data = values}};
  plugin_fixture fixture;
  plugin_fixture_require(
      &fixture, "learned",
      &(plugin_request){.d_model = (uint32_t)table.dim[1], PLUGIN_SETTINGS(settings), PLUGIN_TENSORS(tensors)});
  double length = golden_number_or(file, name, "seq_len", 0);
  length = length > 0 ? length : plugin_fixture_length(positions.data, positions.n);
  assert_int_equal(plugin_fixture_embed(&fixture, length, positions.n, positions.data, out), PE_OK);
  golden_check_floats(tally, "out_rows", &rows, out, row_tolerance);

  const pe_ext_vjp *vjp = fixture.scheme->extension(PE_EXT_VJP);
  assert_non_null(vjp);
  pe_rows x = {.struct_size = sizeof x,
               .role = PE_ROLE_EMBED,
               .n_heads = 1,
               .seq_len = length,
               .n = positions.n,
               .pos = positions.data};
  pe_rows by_row = x;
  by_row.in = g;
  by_row.in_stride = gradient.dim[1];
  float *const blocks[] = {dw};
  assert_int_equal(vjp->rows_vjp(fixture.instance, &x, &by_row, blocks, NULL, &fixture.error), PE_OK);
  golden_check_floats(tally, "out_gradient_table", &expected, dw, table_tolerance);

  plugin_fixture_close(&fixture);
  free(dw);
  free(out);
  free(g);
  free(values);
  golden_array_free(&expected);
  golden_array_free(&rows);
  golden_array_free(&gradient);
  golden_array_free(&positions);
  golden_array_free(&table);
}

static void check_rope(golden_tally *tally, const golden_file *file, const char *name) {
  golden_array positions = golden_read(file, name, "in_positions");
  golden_array in = golden_read(file, name, "in_x");
  golden_array gradient = golden_read(file, name, "in_gradient");
  golden_array expected_out = golden_read(file, name, "out_x");
  golden_array expected_back = golden_read(file, name, "out_gradient_x");
  float *x = golden_floats(&in);
  float *g = golden_floats(&gradient);
  float *out = calloc(in.n, sizeof *out);
  assert_non_null(out);
  plugin_setting settings[] = {
      PLUGIN_NUMBER("base", golden_number(file, name, "base")),
      PLUGIN_NUMBER("rotary_dim", golden_number(file, name, "rotary_dim")),
      PLUGIN_TEXT("layout", golden_text_is(file, name, "layout", "interleaved") ? "interleaved" : "half")};
  uint32_t heads = (uint32_t)in.dim[0];
  plugin_fixture fixture;
  plugin_fixture_require(
      &fixture, "rope",
      &(plugin_request){.n_heads = heads, .head_dim = (uint32_t)in.dim[2], PLUGIN_SETTINGS(settings)});
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_QUERY, heads, 0, positions.n, positions.data, x, out), PE_OK);
  golden_check_floats(tally, "out_x", &expected_out, out, rotation_tolerance);

  const pe_ext_vjp *vjp = fixture.scheme->extension(PE_EXT_VJP);
  assert_non_null(vjp);
  pe_rows forward = {.struct_size = sizeof forward,
                     .role = PE_ROLE_QUERY,
                     .n_heads = heads,
                     .seq_len = plugin_fixture_length(positions.data, positions.n),
                     .n = positions.n,
                     .pos = positions.data,
                     .in = x,
                     .in_stride = in.dim[2],
                     .in_head_stride = in.dim[1] * in.dim[2]};
  pe_rows back = forward;
  back.in = g;
  back.out = g; /* in place */
  back.out_stride = back.in_stride;
  back.out_head_stride = back.in_head_stride;
  void *scratch = plugin_fixture_scratch(&fixture, positions.n, positions.n);
  assert_int_equal(vjp->rows_vjp(fixture.instance, &forward, &back, NULL, scratch, &fixture.error), PE_OK);
  golden_check_floats(tally, "out_gradient_x", &expected_back, g, rotation_tolerance);

  free(scratch);
  plugin_fixture_close(&fixture);
  free(out);
  free(g);
  free(x);
  golden_array_free(&expected_back);
  golden_array_free(&expected_out);
  golden_array_free(&gradient);
  golden_array_free(&in);
  golden_array_free(&positions);
}

static void test_file(void **state) {
  (void)state;
  golden_file file;
  golden_file_open(&file, "training.h5");
  golden_tally tally;
  golden_tally_begin(&tally, "training.h5 vjp_learned_*, vjp_rope_*");
  for (size_t i = 0; i < file.n_cases; i++) {
    const char *name = file.cases[i];
    if (golden_case_begins(name, "vjp_learned_")) {
      golden_tally_case(&tally, name);
      check_learned(&tally, &file, name);
    } else if (golden_case_begins(name, "vjp_rope_")) {
      golden_tally_case(&tally, name);
      check_rope(&tally, &file, name);
    }
  }
  golden_tally_end(&tally);
  golden_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
