/* What `show` prints of a results file. Expected texts follow from sample_results.c. */
#include "results/gnuplot.h"
#include "results/show_results.h"
#include "results/show_table.h"
#include "sample_results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_table(struct table *table, enum table_format format, const char *expected) {
  char *shown = NULL;
  size_t size;
  FILE *stream = open_memstream(&shown, &size);
  struct table_style style = {.format = format};
  struct error err;
  assert_int_equal(table_show(table, &style, stream, &err), 0);
  fclose(stream);
  assert_string_equal(shown, expected);
  free(shown);
  table_free(table);
}

static void test_file(void **state) {
  (void)state;
  struct sample_results sample;
  struct table table = {0};
  struct error err;
  sample_results_make(&sample, "Title");
  assert_int_equal(show_file(&sample.file, &table, &err), 0);
  assert_table(&table, TABLE_TERMINAL,
               "Title (complete)\n"
               "path                      status    tensors  holds\n"
               "extrapolation                                What happens past the training length?\n"
               "extrapolation/rope        measured        4  Title\n"
               "extrapolation/broken      failed          0  broken: signal 11 while it was computing\n"
               "extrapolation/comparison  measured        4  Title\n"
               "relative_position                            Does the score depend on m - n only?\n"
               "relative_position/rope    measured        2  Title\n"
               "run/config                                   text, 25 bytes\n"
               "run/versions                                 JSON, 19 bytes\n");
  sample_results_free(&sample);
}

static void test_record_and_tensor(void **state) {
  (void)state;
  struct sample_results sample;
  struct table table = {0};
  struct error err;
  sample_results_make(&sample, "Title");
  assert_int_equal(show_record(&sample.records[0], false, &table, &err), 0);
  assert_table(&table, TABLE_CSV,
               "# extrapolation/rope: Title\n"
               "tensor,axes,type,smallest,largest,missing,meaning\n"
               "defined,length 4,uint8,0,1,0,defined\n"
               "mass_beyond,\"length 4, head 2\",float64,0,0.75,1,attention mass beyond L\n"
               "samples,length 4,int64,0,1099511627776,0,samples\n"
               "noise_floor,a single value,float64,1e-07,1e-07,0,noise_floor\n");
  assert_int_equal(show_attributes(&sample.records[1], &table, &err), 0);
  assert_table(&table, TABLE_CSV,
               "# extrapolation/broken\n"
               "name,value\n"
               "status,failed\n"
               "error_id,E0706\n"
               "error,broken: signal 11 while it was computing\n"
               "seed,17\n");
  const struct tensor *mass = record_find(&sample.records[0], "mass_beyond");
  assert_int_equal(show_tensor(&sample.records[0], mass, &table, &err), 0);
  assert_table(&table, TABLE_CSV,
               "# extrapolation/rope/mass_beyond: attention mass beyond L\n"
               "name,value\n"
               "type,float64\n"
               "axes,\"length 4, head 2\"\n"
               "axis length,4 values from 128 to 1024: sequence length\n"
               "axis head,2 values from 0 to 1: head\n"
               "units,1\n"
               "smallest,0\n"
               "largest,0.75\n"
               "mean,0.375\n"
               "missing,1\n");
  sample_results_free(&sample);
}

static void test_values(void **state) {
  (void)state;
  struct sample_results sample;
  struct table table = {0};
  struct error err;
  sample_results_make(&sample, "Title");
  const struct tensor *mass = record_find(&sample.records[0], "mass_beyond");
  assert_int_equal(show_values(&sample.records[0], mass, &table, &err), 0);
  assert_table(&table, TABLE_CSV,
               "# extrapolation/rope/mass_beyond: attention mass beyond L\n"
               "length,head,mass_beyond\n"
               "128,0,0\n128,1,0.125\n256,0,0.25\n256,1,0.375\n512,0,0.5\n512,1,0.625\n1024,0,0.75\n1024,1,\n");
  assert_int_equal(show_grid(&sample.records[0], mass, &table, &err), 0);
  assert_table(&table, TABLE_TERMINAL,
               "extrapolation/rope/mass_beyond: length down, head to the right\n"
               "length     0      1\n"
               "   128     0  0.125\n"
               "   256  0.25  0.375\n"
               "   512   0.5  0.625\n"
               "  1024  0.75      -\n");
  sample_results_free(&sample);
}

/* Text stays text, whatever gnuplot would make of it. */
static void test_quoting(void **state) {
  (void)state;
  struct text script = {0};
  gnuplot_quote(&script, "it's `id` \"x\" @y $z\n\\");
  assert_string_equal(script.data, "'it''s `id` \"x\" @y $z \\'");
  text_free(&script);
}

static void test_curves(void **state) {
  (void)state;
  struct sample_results sample;
  struct error err;
  sample_results_make(&sample, "it's `touch pwned` \"x\" größer");
  const struct record *comparison = &sample.records[2];
  char *curves = show_curves(comparison, &comparison->tensors[0], 80, &err);
  if (!curves) {
    print_message("left out: %s\n", err.text);
    sample_results_free(&sample);
    skip();
  }
  assert_non_null(strstr(curves, "it's `touch pwned` \"x\" größer"));
  assert_non_null(strstr(curves, "sequence length"));
  assert_non_null(strstr(curves, "rope ***A***"));
  free(curves);
  sample_results_free(&sample);
}

static void test_gnuplot_complains(void **state) {
  (void)state;
  struct text script = {0};
  struct error err;
  size_t count;
  text_append(&script, "set nonsense\n");
  assert_null(gnuplot_run(&script, &count, &err));
  assert_int_equal(err.code, ERROR_FILE_READ);
  assert_non_null(strstr(err.text, "gnuplot"));
  text_free(&script);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_file),   cmocka_unit_test(test_record_and_tensor),
      cmocka_unit_test(test_values), cmocka_unit_test(test_quoting),
      cmocka_unit_test(test_curves), cmocka_unit_test(test_gnuplot_complains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
