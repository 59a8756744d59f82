/* Pictures need gnuplot; a test of them is skipped without it. */
#ifndef PE_TESTS_GNUPLOT_HERE_H
#define PE_TESTS_GNUPLOT_HERE_H

#include <stdbool.h>

/* Whether the runner finds a gnuplot that works. */
bool gnuplot_is_here(void);

#endif
