#include "comma_locale.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool has_comma(void) {
  return !strcmp(localeconv()->decimal_point, ",");
}

bool comma_locale_set(void) {
  static const char folder[] = TEST_BUILD_DIR "/locale";
  if (setlocale(LC_ALL, "de_DE.UTF-8") && has_comma()) {
    return true;
  }
  mkdir(folder, 0777);
  /* Its exit status does not tell: warnings count as failures. */
  (void)!system("localedef -i de_DE -f UTF-8 " TEST_BUILD_DIR "/locale/de_DE.UTF-8 >/dev/null 2>&1");
  setenv("LOCPATH", folder, 1);
  return setlocale(LC_ALL, "de_DE.UTF-8") && has_comma();
}
