#include "gnuplot_here.h"

#include "results/gnuplot.h"

#include <stdlib.h>

bool gnuplot_is_here(void) {
  struct text script = {0};
  struct error err;
  size_t count;
  text_append(&script, "print 1\n");
  char *output = gnuplot_run(&script, &count, &err);
  text_free(&script);
  free(output);
  return output != NULL;
}
