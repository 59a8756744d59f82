#include "experiments/literature.h"

#include <string.h>

static const struct literature table[] = {
    {"none", LITERATURE_MIXED,
     "best of five on small tasks at twice the length (Kazemnejad et al. 2023), breaks in a 1.3B code model by 2 L "
     "(ibid.)"},
    {"sinusoidal", LITERATURE_DEGRADES,
     "WikiText-103 perplexity 20.05 at L = 512, 43.54 at 1012 (Press et al. 2022, table 2)"},
    {"learned", LITERATURE_UNDEFINED, "no row beyond the table (Press et al. 2022, section 2)"},
    {"rope", LITERATURE_DEGRADES,
     "20.07 at L = 512, 21.37 at 1012, 35.54 at 3512 (Press et al. 2022, table 2); LLaMA-7B above 10^3 unscaled (Chen "
     "et "
     "al. 2023)"},
    {"xpos", LITERATURE_HOLDS, "claimed by its authors (Sun et al. 2022)"},
    {"alibi", LITERATURE_HOLDS,
     "19.73 at L = 512, 18.40 at 3512 (Press et al. 2022, table 2); flat with a sliding window (ibid., table 14)"},
    {"t5", LITERATURE_MIXED, "19.65 at L = 512, 18.79 at 1012, 22.91 at 3512 (Press et al. 2022, table 2)"},
    {"kerple", LITERATURE_HOLDS, "claimed by its authors (Chi et al. 2022)"},
    {"fire", LITERATURE_HOLDS, "claimed by its authors (Li et al. 2024)"},
    {"sandwich", LITERATURE_HOLDS, "claimed by its authors (Chi et al. 2023)"},
};
static const struct literature not_stated = {"", LITERATURE_NOT_STATED, "-"};

const struct literature *literature_of(const char *id) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (!strcmp(table[i].id, id)) {
      return &table[i];
    }
  }
  return &not_stated;
}

const char *literature_word_name(enum literature_word word) {
  static const char *const names[] = {"not stated", "holds", "degrades", "undefined", "mixed"};
  return names[word];
}
