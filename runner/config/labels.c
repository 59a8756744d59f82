#include "config/labels.h"

#include <string.h>

enum { LABEL_MAX = 64 };

/* Axes of measures and tensors: variables of these names stand beside the schemes' in a comparison. */
static const char *const axis_names[] = {"applied",
                                         "bound",
                                         "bucket",
                                         "channel",
                                         "column",
                                         "condition",
                                         "coordinate",
                                         "distance",
                                         "dtype",
                                         "end",
                                         "frequency",
                                         "head",
                                         "inside_span",
                                         "kernel_distance",
                                         "key",
                                         "last",
                                         "last_position",
                                         "layer",
                                         "length",
                                         "mask",
                                         "offset",
                                         "pair",
                                         "permutation",
                                         "place",
                                         "position",
                                         "position_2",
                                         "quantile",
                                         "quarter",
                                         "query",
                                         "row",
                                         "saved_key",
                                         "saved_query",
                                         "seed",
                                         "shift",
                                         "span",
                                         "stage",
                                         "step",
                                         "text",
                                         "time",
                                         "token",
                                         "trained_with",
                                         "window",
                                         "window_key",
                                         "window_query",
                                         NULL};

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_well_formed(const char *label) {
  size_t length = 0;
  for (const char *c = label; *c; c++, length++) {
    if (!is_letter(*c) && (c == label || !((*c >= '0' && *c <= '9') || *c == '_'))) {
      return false;
    }
  }
  return length >= 1 && length <= LABEL_MAX;
}

static bool is_axis(const char *label) {
  for (const char *const *axis = axis_names; *axis; axis++) {
    if (!strcmp(*axis, label)) {
      return true;
    }
  }
  return false;
}

const char *label_refusal(const char *label, bool of_experiment) {
  static const char status[] = "_status";
  size_t length = strlen(label);
  if (!is_well_formed(label)) {
    return "a label is a letter and then letters, digits and _, 64 at most; free text goes into title:";
  }
  if (!strncmp(label, "comparison", strlen("comparison"))) {
    return "names that start with comparison are used in the results";
  }
  if (length >= strlen(status) && !strcmp(label + length - strlen(status), status)) {
    return "names that end in _status are used in the results";
  }
  if (is_axis(label)) {
    return "it is the name of an axis in the results";
  }
  if (of_experiment && strcmp(label, "run") >= 0) {
    return "an experiment's label must sort before run, which stands last in the results";
  }
  return NULL;
}

bool label_check(struct reader *reader, const char *label, bool of_experiment, const struct node *at,
                 const char *path) {
  const char *reason = label_refusal(label, of_experiment);
  if (reason) {
    reader_report(reader, ERROR_CONFIG_LABEL, at, path, "'%.80s' cannot be a label: %s", label, reason);
  }
  return !reason;
}
