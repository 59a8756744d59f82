/* write_sample OUTPUT: the sample results file, for the viewers. */
#include "results/results.h"
#include "sample_results.h"

#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 2) {
    fputs("usage: write_sample OUTPUT\n", stderr);
    return 2;
  }
  struct sample_results sample;
  struct error err;
  sample_results_make(&sample, "Does it open? \"quoted\" 'single' `id` </script> größer");
  int failed = results_write(argv[1], &sample.file, &err);
  if (failed) {
    fprintf(stderr, "write_sample: %s\n", err.text);
  }
  sample_results_free(&sample);
  return failed ? 1 : 0;
}
