#include "host/check/subject.h"
#include "host/check/value_set.h"

#include <stdio.h>

/* Places that a sequence can stand at. The first is the usual one; how many are tried depends on the level. */
static const struct { double first, step; } PLACES[] = {{0, 0}, {40, 1}, {0, 0.375}, {1000, 7}, {-6, 1}, {99990, 1}};

static size_t places_at(enum check_level level) {
  return level == CHECK_QUICK ? 1 : level == CHECK_FULL ? 3 : sizeof PLACES / sizeof PLACES[0];
}

/* False once there is a failure. */
static bool at_places(struct check_run *run, const struct value_set *set, size_t places,
                      void (*each)(struct subject *)) {
  for (size_t place = 0; place < places; place++) {
    struct subject_wish wish = {.values = set->values, .first = PLACES[place].first, .step = PLACES[place].step};
    char values[100];
    value_set_describe(set, values, sizeof values);
    snprintf(run->variant, sizeof run->variant, "%s, positions from %g in steps of %g", values, wish.first,
             wish.step != 0 ? wish.step : 1);
    struct subject subject;
    pe_error why;
    if (subject_open(run, &wish, &subject, &why) == PE_OK) {
      each(&subject);
    }
    subject_close(&subject);
    if (check_failed(run)) {
      return false;
    }
  }
  return true;
}

static bool at_notable_values(struct check_run *run, struct value_set *set, size_t places,
                              void (*each)(struct subject *)) {
  for (size_t which = 0; which < run->table->n_params; which++) {
    for (size_t variant = 0;; variant++) {
      value_set_defaults(set);
      if (!value_set_variant(set, which, variant)) {
        break;
      }
      if (!at_places(run, set, places, each)) {
        return false;
      }
    }
  }
  return true;
}

/* Sanitizers look for what any call shows, and make each many times as dear: they get fewer draws and places. */
static size_t draws_at(enum check_level level) {
  return level == CHECK_DEEP && !CHECK_SANITIZED ? 40 : 4;
}

static size_t places_of_variants(enum check_level level) {
  return level == CHECK_DEEP && !CHECK_SANITIZED ? 3 : 1;
}

void subject_each(struct check_run *run, void (*each)(struct subject *)) {
  /* The defaults must do; for them alone, that there is no instance is worth a verdict. */
  struct subject subject;
  run->variant[0] = '\0';
  if (!subject_require(run, &(struct subject_wish){0}, &subject)) {
    return;
  }
  each(&subject);
  subject_close(&subject);
  struct value_set set;
  struct error err;
  enum check_level level = run->options->level;
  if (check_failed(run) || level == CHECK_QUICK) {
    return;
  }
  if (value_set_new(run->table, &set, &err)) {
    check_fail(run, "%s", err.text);
    return;
  }
  bool sound =
      at_places(run, &set, places_at(level), each) && at_notable_values(run, &set, places_of_variants(level), each);
  struct rng rng = check_rng(run, "parameters");
  size_t draws = draws_at(level);
  for (uint64_t draw = 0; sound && draw < draws; draw++) {
    value_set_random(&set, &rng, draw);
    sound = at_places(run, &set, level == CHECK_DEEP && !CHECK_SANITIZED ? 2 : 1, each);
  }
  value_set_free(&set);
  if (sound) {
    run->variant[0] = '\0';
  }
}
