/* A locale whose numbers have a comma, as de_DE.UTF-8 has. */
#ifndef PE_TESTS_COMMA_LOCALE_H
#define PE_TESTS_COMMA_LOCALE_H

#include <stdbool.h>

/* Make this process use one for everything; where the system has none, one is compiled into the build folder. False
 * where that cannot be done (the package `locales` is missing): then skip the test. */
bool comma_locale_set(void);

#endif
