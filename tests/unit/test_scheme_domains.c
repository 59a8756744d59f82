/* Where row schemes are defined, and what they refuse to be made for: sinusoidal, xpos, rope2d. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin_fixture.h"

/* Negative and fractional positions are as good as whole ones: the formula in extended precision. */
static void test_sinusoidal_positions(void **state) {
  (void)state;
  enum { WIDTH = 16 };
  static const double positions[] = {-3, -0.25, 0, 0.5, 127.75, -100000.5};
  enum { N = sizeof positions / sizeof positions[0] };
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "sinusoidal", &(plugin_request){.d_model = WIDTH});
  assert_int_equal(fixture.domain.integer_only, 0);
  float out[N * WIDTH] = {0};
  assert_int_equal(plugin_fixture_embed(&fixture, 0, N, positions, out), PE_OK);
  for (size_t r = 0; r < N; r++) {
    for (size_t i = 0; i < WIDTH / 2; i++) {
      long double angle = (long double)positions[r] * powl(10000, -2 * (long double)i / WIDTH);
      assert_true(fabs((double)(sinl(angle) - (long double)out[r * WIDTH + 2 * i])) <= 3.1e-8);
      assert_true(fabs((double)(cosl(angle) - (long double)out[r * WIDTH + 2 * i + 1])) <= 3.1e-8);
    }
  }
  plugin_fixture_close(&fixture);
}

static pe_status xpos_status(plugin_fixture *fixture, int32_t role, double length, double position) {
  float row[4] = {1, 1, 1, 1};
  const float kept[4] = {1, 1, 1, 1};
  pe_status status = plugin_fixture_qk(fixture, role, 1, length, 1, &position, row, row);
  if (status != PE_OK) {
    assert_memory_equal(row, kept, sizeof row);
  }
  return status;
}

/* A factor zeta_0^(+-(p - c)/scale_base) must be a normal float32. zeta_0 = 0.4/1.4. */
static void test_xpos_range(void **state) {
  (void)state;
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "xpos", &(plugin_request){.head_dim = 4});
  const double length = 200000;
  const double centre = 100000;
  double shrink = 512 * log((double)FLT_MIN) / log(0.4 / 1.4); /* distances from the centre, about 35,694 and 36,260 */
  double grow = -512 * log((double)FLT_MAX) / log(0.4 / 1.4);
  static const int32_t roles[] = {PE_ROLE_QUERY, PE_ROLE_KEY};
  for (size_t i = 0; i < 2; i++) {
    /* Queries shrink ahead of the centre and grow behind it, keys the other way round. */
    double ahead = i == 0 ? shrink : grow;
    double behind = i == 0 ? grow : shrink;
    assert_int_equal(xpos_status(&fixture, roles[i], length, floor(centre + ahead)), PE_OK);
    assert_int_equal(xpos_status(&fixture, roles[i], length, ceil(centre + ahead)), PE_ERR_POS_RANGE);
    assert_int_equal(xpos_status(&fixture, roles[i], length, ceil(centre - behind)), PE_OK);
    assert_int_equal(xpos_status(&fixture, roles[i], length, floor(centre - behind)), PE_ERR_POS_RANGE);
  }
  /* Calls up to about twice that are defined throughout, longer ones from the ends on not. */
  assert_int_equal(xpos_status(&fixture, PE_ROLE_QUERY, 71000, 0), PE_OK);
  assert_int_equal(xpos_status(&fixture, PE_ROLE_QUERY, 71000, 70999), PE_OK);
  assert_int_equal(xpos_status(&fixture, PE_ROLE_QUERY, 73000, 0), PE_ERR_POS_RANGE);
  plugin_fixture_close(&fixture);
  assert_int_equal(plugin_fixture_open(&fixture, "xpos", &(plugin_request){.head_dim = 5}), PE_ERR_SHAPE);
  assert_non_null(strstr(fixture.error.msg, "head_dim 5 is odd"));
  plugin_fixture_close(&fixture);
}

typedef struct refusal {
  uint32_t head_dim;
  pe_status status;
  const char *says;
  plugin_setting settings[4];
} refusal;

static const double short_of[] = {2, 1, 0};
static const double fraction[] = {2, 1.5, 0.5};
static const double crowded[] = {0, 4, 0};
static const double fitting[] = {2, 1, 1};

#define MROPE PLUGIN_TEXT("variant", "mrope")

static const refusal refusals[] = {
    {0, PE_ERR_SHAPE, "head_dim 0", {{.key = NULL}}},
    {6, PE_ERR_SHAPE, "rotary width 6 is not a multiple of 4", {{.key = NULL}}},
    {8, PE_ERR_PARAM, "rotary width 6 is not a multiple of 4", {PLUGIN_NUMBER("rotary_dim", 6)}},
    {8, PE_ERR_PARAM, "rotary_dim 12 is wider than a head, 8", {PLUGIN_NUMBER("rotary_dim", 12)}},
    {8, PE_ERR_PARAM, "variant mrope needs mrope_section", {MROPE}},
    {8, PE_ERR_PARAM, "go with variant mrope", {PLUGIN_LIST("mrope_section", fitting, 3)}},
    {8, PE_ERR_PARAM, "adds up to 3, rotary width 8 has 4 pairs", {MROPE, PLUGIN_LIST("mrope_section", short_of, 3)}},
    {8, PE_ERR_PARAM, "mrope_section[1] is 1.5", {MROPE, PLUGIN_LIST("mrope_section", fraction, 3)}},
    {8,
     PE_ERR_PARAM,
     "mrope_section[1] is 4, but in turns only 1 of 4",
     {MROPE, PLUGIN_LIST("mrope_section", crowded, 3), PLUGIN_NUMBER("mrope_interleaved", 1)}},
};

static void test_rope2d_refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    size_t n = 0;
    while (n < 4 && refusals[i].settings[n].key) {
      n++;
    }
    plugin_fixture fixture;
    pe_status status = plugin_fixture_open(
        &fixture, "rope2d",
        &(plugin_request){.head_dim = refusals[i].head_dim, .settings = refusals[i].settings, .n_settings = n});
    if (status != refusals[i].status || !strstr(fixture.error.msg, refusals[i].says)) {
      fail_msg("case %zu, \"%s\": status %d, \"%s\"", i, refusals[i].says, status, fixture.error.msg);
    }
    plugin_fixture_close(&fixture);
  }
}

/* A row is refused for any of its coordinates, under its own index. */
static void test_rope2d_coordinates(void **state) {
  (void)state;
  plugin_setting settings[] = {MROPE, PLUGIN_LIST("mrope_section", fitting, 3)};
  plugin_fixture fixture;
  plugin_fixture_require(&fixture, "rope2d", &(plugin_request){.head_dim = 8, PLUGIN_SETTINGS(settings)});
  assert_int_equal(fixture.domain.pos_axes, 3);
  const double positions[] = {0, 1, 2, 3, 4, (double)NAN};
  const float in[16] = {0};
  float out[16];
  assert_int_equal(plugin_fixture_qk(&fixture, PE_ROLE_KEY, 1, 5, 2, positions, in, out), PE_ERR_POS_RANGE);
  assert_int_equal(fixture.error.where, 1);
  plugin_fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sinusoidal_positions),
      cmocka_unit_test(test_xpos_range),
      cmocka_unit_test(test_rope2d_refusals),
      cmocka_unit_test(test_rope2d_coordinates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
