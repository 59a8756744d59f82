#include "host/check/value_set.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/plugin_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer lists are not tried. */
enum { LONGEST_LIST = 256 };

int value_set_new(const pe_scheme *table, struct value_set *out, struct error *err) {
  *out = (struct value_set){.table = table};
  out->values = memory_new(table->n_params, sizeof *out->values, "parameter values", err);
  out->numbers = memory_new_3d(table->n_params, LONGEST_LIST, 1, sizeof *out->numbers, "parameter lists", err);
  if (!out->values || !out->numbers) {
    value_set_free(out);
    return ERROR_MEMORY;
  }
  value_set_defaults(out);
  return 0;
}

void value_set_free(struct value_set *set) {
  free(set->values);
  free(set->numbers);
  *set = (struct value_set){0};
}

static int64_t whole(double value) {
  return fabs(value) < 0x1p62 ? (int64_t)value : value > 0 ? INT64_MAX : INT64_MIN;
}

/* A number of a PE_INT, PE_REAL as the host passes it. */
static pe_value number(const pe_param *param, double value) {
  if (param->type == PE_INT) {
    value = floor(value);
  }
  return (pe_value){.i = whole(value), .r = value, .given = 1};
}

static pe_value list_of(struct value_set *set, size_t which, size_t n, double value, bool of_choice) {
  double *numbers = set->numbers + which * LONGEST_LIST;
  for (size_t i = 0; i < n; i++) {
    numbers[i] = value;
  }
  return (pe_value){.i = of_choice ? -1 : 0, .list = numbers, .n = n, .given = 1};
}

/* A finite number inside the bounds, near the lower one where there is one. */
static double some_number(const pe_param *param) {
  if (isfinite(param->min)) {
    return param->min;
  }
  return isfinite(param->max) ? param->max : 1;
}

static pe_value default_of(struct value_set *set, size_t which) {
  const pe_param *param = plugin_param(set->table, which);
  if (param->flags & PE_PARAM_OPTIONAL) {
    return (pe_value){0};
  }
  if (param->flags & PE_PARAM_REQUIRED) {
    if (param->type == PE_REAL_LIST) {
      return list_of(set, which, param->list_min <= LONGEST_LIST ? param->list_min : 0, some_number(param), false);
    }
    return param->type == PE_INT || param->type == PE_REAL ? number(param, some_number(param)) : (pe_value){.given = 1};
  }
  pe_value value = param->dflt;
  value.given = 1;
  value.reserved = 0;
  if (param->type == PE_INT) {
    value.r = (double)value.i;
  } else if (param->type == PE_REAL) {
    value.i = whole(value.r);
  }
  return value;
}

void value_set_defaults(struct value_set *set) {
  for (size_t i = 0; i < set->table->n_params; i++) {
    set->values[i] = default_of(set, i);
  }
}

static size_t choices_of(const pe_param *param) {
  size_t n = 0;
  while (param->choices && param->choices[n]) {
    n++;
  }
  return n;
}

/* The finite ones of min and max. */
static size_t finite_bounds(const pe_param *param, double bounds[2]) {
  size_t n = 0;
  if (isfinite(param->min)) {
    bounds[n++] = param->min;
  }
  if (isfinite(param->max) && param->max != param->min) {
    bounds[n++] = param->max;
  }
  return n;
}

static bool list_variant(struct value_set *set, size_t which, size_t variant, bool of_choice) {
  const pe_param *param = plugin_param(set->table, which);
  double bounds[2];
  size_t n_bounds = finite_bounds(param, bounds);
  if (n_bounds == 0) {
    bounds[n_bounds++] = 1;
  }
  size_t lengths[2] = {param->list_min, param->list_max < 16 ? param->list_max : 16};
  if (lengths[1] < lengths[0]) {
    lengths[1] = lengths[0];
  }
  if (variant >= 2 * n_bounds || lengths[1] > LONGEST_LIST) {
    return false;
  }
  set->values[which] = list_of(set, which, lengths[variant % 2], bounds[variant / 2], of_choice);
  return true;
}

bool value_set_variant(struct value_set *set, size_t which, size_t variant) {
  const pe_param *param = plugin_param(set->table, which);
  if (param->flags & PE_PARAM_OPTIONAL) {
    if (variant == 0) {
      set->values[which] = (pe_value){0};
      return true;
    }
    variant--;
  }
  double bounds[2];
  size_t n_choices = choices_of(param), n_bounds = finite_bounds(param, bounds);
  switch (param->type) {
  case PE_BOOL:
    set->values[which] = (pe_value){.i = (int64_t)variant, .given = 1};
    return variant < 2;
  case PE_CHOICE:
    if (variant >= n_choices) {
      return (param->flags & PE_PARAM_OR_LIST) && list_variant(set, which, variant - n_choices, true);
    }
    set->values[which] = (pe_value){.i = (int64_t)variant, .given = 1};
    return true;
  case PE_REAL_LIST:
    return list_variant(set, which, variant, false);
  default:
    if (variant < n_bounds) {
      set->values[which] = number(param, bounds[variant]);
    }
    return variant < n_bounds;
  }
}

/* A number in the bounds: around `near` by a factor, or anywhere; by its logarithm where the range is wide. */
static double random_number(const pe_param *param, double near, double u, bool anywhere) {
  double min = isfinite(param->min) ? param->min : -1e6, max = isfinite(param->max) ? param->max : 1e6;
  if (max < min) {
    return some_number(param);
  }
  double value;
  if (anywhere && min > 0 && max / min > 100) {
    value = min * pow(max / min, u);
  } else if (anywhere) {
    value = min + (max - min) * u;
  } else {
    value = near * (0.5 + u) + (near == 0 ? u - 0.5 : 0);
  }
  return fmin(fmax(value, min), max);
}

void value_set_random(struct value_set *set, const struct rng *rng, uint64_t draw) {
  value_set_defaults(set);
  for (size_t i = 0; i < set->table->n_params; i++) {
    const pe_param *param = plugin_param(set->table, i);
    uint64_t at = (draw * set->table->n_params + i) * 4;
    double u = rng_uniform(rng, at), how = rng_uniform(rng, at + 1);
    if (how < 0.4) {
      continue; /* as it is by default */
    }
    size_t n_choices = choices_of(param);
    switch (param->type) {
    case PE_BOOL:
      set->values[i] = (pe_value){.i = u < 0.5, .given = 1};
      break;
    case PE_CHOICE:
      set->values[i] = (pe_value){.i = (int64_t)(u * (double)n_choices), .given = 1};
      break;
    case PE_REAL_LIST:
      if (how < 0.7) {
        size_t n = param->list_min + (size_t)(u * 8);
        n = n > param->list_max ? param->list_max : n;
        set->values[i] = list_of(set, i, n <= LONGEST_LIST ? n : 0, random_number(param, 1, u, true), false);
      }
      break;
    default:
      set->values[i] = number(param, random_number(param, set->values[i].given ? set->values[i].r : 1, u, how > 0.8));
    }
  }
}

void value_set_describe(const struct value_set *set, char *text, size_t size) {
  struct value_set defaults;
  struct error err;
  struct text out = {0};
  if (value_set_new(set->table, &defaults, &err)) {
    snprintf(text, size, "some values");
    return;
  }
  for (size_t i = 0; i < set->table->n_params; i++) {
    const pe_param *param = plugin_param(set->table, i);
    const pe_value *value = &set->values[i];
    if (!memcmp(value, &defaults.values[i], sizeof *value)) {
      continue;
    }
    text_printf(&out, "%s%s=", out.length ? ", " : "", param->key);
    if (!value->given) {
      text_append(&out, "(absent)");
    } else if (value->list) {
      text_printf(&out, "[%zu times ", value->n);
      text_append_double(&out, value->n ? value->list[0] : 0);
      text_append(&out, "]");
    } else if (param->type == PE_CHOICE) {
      text_append(&out, param->choices[value->i]);
    } else if (param->type == PE_REAL) {
      text_append_double(&out, value->r);
    } else {
      text_printf(&out, "%" PRId64, value->i);
    }
  }
  snprintf(text, size, "%s", out.length ? out.data : "the defaults");
  text_free(&out);
  value_set_free(&defaults);
}
