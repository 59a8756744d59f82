#include "jobs/measured.h"

#include "experiments/common.h"
#include "experiments/divergence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of `value` among the words, separated by spaces, that a tensor's attribute <axis>_names has. */
static bool place_by_name(const struct tensor *tensor, const struct axis *axis, const char *value, size_t *place) {
  char name[RECORD_NAME + 8];
  snprintf(name, sizeof name, "%s_names", axis->name);
  const struct attribute *names = attributes_find(&tensor->attributes, name);
  const char *word = names ? names->text : "";
  size_t length = strlen(value);
  for (size_t i = 0; *word && i < axis->length; i++) {
    size_t end = strcspn(word, " ");
    if (end == length && !strncmp(word, value, length)) {
      *place = i;
      return true;
    }
    word += end + strspn(word + end, " ");
  }
  return false;
}

/* Where on an axis the config points; false: nowhere. Masks are named by their words, and so are the places of an axis
 * that the tensor names. */
static bool place_on_axis(const struct tensor *tensor, const struct axis *axis, const char *value, size_t *place) {
  if (place_by_name(tensor, axis, value, place)) {
    return true;
  }
  char *end;
  double number = strtod(value, &end);
  for (size_t i = 0; *end && mask_names[i]; i++) {
    if (!strcmp(mask_names[i], value)) {
      number = (double)i;
      end = "";
    }
  }
  for (size_t i = 0; !*end && i < axis->length; i++) {
    if ((axis->values ? axis->values[i] : (double)i) == number) {
      *place = i;
      return true;
    }
  }
  return false;
}

/* at [rank]: the chosen place on each axis, axis->length where all count. */
bool measured_choose(const struct plan_expectation *e, const struct tensor *tensor, size_t at[],
                     char reason[MEASURED_REASON]) {
  for (unsigned a = 0; a < tensor->rank; a++) {
    at[a] = tensor->axis[a].length;
  }
  for (size_t c = 0; c < e->n_choices; c++) {
    const struct expect_choice *choice = &e->choices[c];
    bool found = false;
    for (unsigned a = 0; a < tensor->rank; a++) {
      if (!strcmp(tensor->axis[a].name, choice->axis)) {
        found = place_on_axis(tensor, &tensor->axis[a], choice->value, &at[a]);
      }
    }
    if (!found) {
      snprintf(reason, MEASURED_REASON, "there is no %.60s=%.60s", choice->axis, choice->value);
      return false;
    }
  }
  return true;
}

bool measured_is_chosen(const struct tensor *tensor, const size_t at[], size_t index) {
  for (unsigned a = tensor->rank; a-- > 0;) {
    size_t length = tensor->axis[a].length;
    if (at[a] < length && index % length != at[a]) {
      return false;
    }
    index /= length;
  }
  return true;
}

double measured_reduce(double *values, size_t n, enum expect_reduction reduction) {
  double result = values[0];
  switch (reduction) {
  case EXPECT_MEAN:
    return mean(values, n);
  case EXPECT_MEDIAN:
    for (size_t i = 0; i < n; i++) {
      if (isnan(values[i])) {
        return NAN;
      }
    }
    return quantile(values, n, 0.5);
  case EXPECT_MIN:
  case EXPECT_MAX:
    for (size_t i = 0; i < n; i++) {
      if (isnan(values[i])) {
        return NAN;
      }
      bool better = reduction == EXPECT_MIN ? values[i] < result : values[i] > result;
      result = better ? values[i] : result;
    }
    return result;
  case EXPECT_LAST:
    return values[n - 1];
  case EXPECT_FIRST:
  case EXPECT_VALUE:
    return result;
  }
  return NAN;
}
