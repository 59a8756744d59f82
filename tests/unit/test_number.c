/* Numbers as configs spell them. Expected values are exact, or what Python's float() gives. */
#include "comma_locale.h"
#include "config/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct spelling {
  const char *text;
  double value;
};

static const struct spelling spellings[] = {
    {"1e-4", 0x1.a36e2eb1c432dp-14},
    {"1e4", 10000},
    {"1.0e4", 10000},
    {".5", 0.5},
    {"5.", 5},
    {"-1E-3", -0x1.0624dd2f1a9fcp-10},
    {"+7", 7},
    {"0", 0},
    {"-0", 0},
    {"0.1", 0x1.999999999999ap-4},
    {"12.34e5", 1234000},
    {"0e5", 0},
    {"0x1F", 31},
    {"0o17", 15},
    {"9007199254740993", 0x1.0000000000000p+53}, /* as a double: to even */
    {"1.7976931348623157e308", 0x1.fffffffffffffp+1023},
    {"4.9e-324", 0x0.0000000000001p-1022},
    {"2.2250738585072014e-308", 0x1p-1022},
    {"8.41e21", 0x1.c7e83209e90b2p+72},
    {"9007199254740992.999", 0x1.0p+53},
};

static void check_spellings(void) {
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    struct number number;
    if (number_parse(spellings[i].text, &number) != NUMBER_OK || number.real != spellings[i].value) {
      fail_msg("%s: expected %a, got %a", spellings[i].text, spellings[i].value, number.real);
    }
  }
}

static void values_are_the_nearest_doubles(void **state) {
  (void)state;
  check_spellings();
}

static void other_texts_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum number_status status;
  } cases[] = {
      {"", NUMBER_NOT},
      {"x", NUMBER_NOT},
      {"1x", NUMBER_NOT},
      {"1 ", NUMBER_NOT},
      {" 1", NUMBER_NOT},
      {".", NUMBER_NOT},
      {"-", NUMBER_NOT},
      {"e5", NUMBER_NOT},
      {"1e", NUMBER_NOT},
      {"1e+", NUMBER_NOT},
      {"1_000", NUMBER_NOT},
      {"1:30", NUMBER_NOT},
      {"1,5", NUMBER_NOT},
      {"1.2.3", NUMBER_NOT},
      {"0x", NUMBER_NOT},
      {"0xg", NUMBER_NOT},
      {"0o8", NUMBER_NOT},
      {"-0x1", NUMBER_NOT},
      {"--1", NUMBER_NOT},
      {"010", NUMBER_LEADING_ZERO},
      {"-007", NUMBER_LEADING_ZERO},
      {"00.5", NUMBER_LEADING_ZERO},
      {".inf", NUMBER_NOT_FINITE},
      {"-.INF", NUMBER_NOT_FINITE},
      {".nan", NUMBER_NOT_FINITE},
      {"NaN", NUMBER_NOT_FINITE},
      {"Infinity", NUMBER_NOT_FINITE},
      {"1e400", NUMBER_TOO_LARGE},
      {"-1e99999999999999999999", NUMBER_TOO_LARGE},
      {"0xffffffffffffffff", NUMBER_TOO_LARGE},
      {"1e-400", NUMBER_TOO_SMALL},
      {"1e-99999999999999999999", NUMBER_TOO_SMALL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct number number;
    if (number_parse(cases[i].text, &number) != cases[i].status) {
      fail_msg("'%s'", cases[i].text);
    }
  }
}

static void whole_numbers_are_exact_to_64_bits(void **state) {
  (void)state;
  struct number number;
  assert_int_equal(number_parse("9223372036854775807", &number), NUMBER_OK);
  assert_true(number.whole && number.integer == INT64_MAX);
  assert_int_equal(number_parse("-9223372036854775808", &number), NUMBER_OK);
  assert_true(number.whole && number.integer == INT64_MIN);
  assert_int_equal(number_parse("9223372036854775808", &number), NUMBER_OK);
  assert_true(!number.whole && number.whole_form);
  assert_int_equal(number_parse("1e3", &number), NUMBER_OK);
  assert_true(number.whole && number.integer == 1000 && !number.whole_form);
  assert_int_equal(number_parse("1.5", &number), NUMBER_OK);
  assert_true(!number.whole && !number.whole_form);
  assert_int_equal(number_parse("9007199254740993", &number), NUMBER_OK);
  assert_true(number.whole && number.integer == 9007199254740993);
}

static void very_long_texts_are_no_numbers(void **state) {
  (void)state;
  char *text = malloc(100001);
  memset(text, '1', 100000);
  text[100000] = '\0';
  struct number number;
  assert_int_equal(number_parse(text, &number), NUMBER_NOT);
  free(text);
}

static void a_decimal_comma_changes_nothing(void **state) {
  (void)state;
  if (!comma_locale_set()) {
    skip();
  }
  assert_true(strtod("0,5", NULL) == 0.5); /* the locale is at work */
  check_spellings();
  struct number number;
  assert_int_equal(number_parse("0,5", &number), NUMBER_NOT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_the_nearest_doubles),     cmocka_unit_test(other_texts_are_told_apart),
      cmocka_unit_test(whole_numbers_are_exact_to_64_bits), cmocka_unit_test(very_long_texts_are_no_numbers),
      cmocka_unit_test(a_decimal_comma_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
