#include "comma_locale.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_comma(void) {
  return !strcmp(localeconv()->decimal_point, ",");
}

bool comma_locale_set(void) {
  static const char name[] = "de_DE.UTF-8", folder[] = TEST_BUILD_DIR "/locale";
  if (setlocale(LC_ALL, name) && has_comma()) {
    return true;
  }
  setenv("LOCPATH", folder, 1);
  if (setlocale(LC_ALL, name) && has_comma()) {
    return true;
  }
  /* Compiled aside and renamed: tests run at the same time. The exit status does not tell, for warnings count as
   * failures. */
  char command[512], made[256], place[256];
  mkdir(folder, 0777);
  snprintf(made, sizeof made, "%s/%ld", folder, (long)getpid());
  snprintf(place, sizeof place, "%s/%s", folder, name);
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s' >/dev/null 2>&1", made);
  (void)!system(command);
  (void)!rename(made, place);
  return setlocale(LC_ALL, name) && has_comma();
}
