#include "input/corpus.h"

#include "base/rng.h"

#include <assert.h>

static const struct verb {
  const char *base, *third, *past, *ing, *participle, *complement;
} verbs[CORPUS_VERBS] = {
    {"work", "works", "worked", "working", "worked", "with them"},
    {"walk", "walks", "walked", "walking", "walked", "home"},
    {"talk", "talks", "talked", "talking", "talked", "to them"},
    {"play", "plays", "played", "playing", "played", "there"},
    {"help", "helps", "helped", "helping", "helped", "them"},
    {"call", "calls", "called", "calling", "called", "them"},
    {"want", "wants", "wanted", "wanting", "wanted", "more"},
    {"live", "lives", "lived", "living", "lived", "here"},
    {"go", "goes", "went", "going", "gone", "there"},
    {"come", "comes", "came", "coming", "come", "back"},
    {"see", "sees", "saw", "seeing", "seen", "them"},
    {"eat", "eats", "ate", "eating", "eaten", "well"},
    {"take", "takes", "took", "taking", "taken", "it"},
    {"give", "gives", "gave", "giving", "given", "more"},
    {"write", "writes", "wrote", "writing", "written", "to them"},
    {"speak", "speaks", "spoke", "speaking", "spoken", "with them"},
    {"know", "knows", "knew", "knowing", "known", "them"},
    {"make", "makes", "made", "making", "made", "it"},
    {"run", "runs", "ran", "running", "run", "away"},
    {"sing", "sings", "sang", "singing", "sung", "together"},
};

/* Every subject with its forms of be and have; only the third person singular takes the verb's -s. */
static const struct subject {
  const char *pronoun, *be, *have;
  int third_singular;
} subjects[CORPUS_SUBJECTS] = {
    {"I", "am", "have", 0},  {"we", "are", "have", 0}, {"you", "are", "have", 0},  {"he", "is", "has", 1},
    {"she", "is", "has", 1}, {"it", "is", "has", 1},   {"they", "are", "have", 0},
};

/* First and last subject of each person, so that persons are equally likely. */
static const struct { unsigned first, count; } persons[3] = {{0, 2}, {2, 1}, {3, 4}};

static const char *const times[] = {"", "", " now", " today", " often", " again", " every day", " early", " late"};
static const char *const connectives[] = {", and", ", but", " because", " when", " while", " before", " after", ", so"};

enum {
  TIMES = sizeof times / sizeof *times,
  CONNECTIVES = sizeof connectives / sizeof *connectives,
  DRAWS_PER_SENTENCE = 16, /* of the random stream; clauses draw 5 each */
  SECOND_CLAUSE_AT = 8
};

void corpus_clause(struct text *text, unsigned verb_index, unsigned tense, unsigned subject_index) {
  assert(verb_index < CORPUS_VERBS && tense < CORPUS_TENSES && subject_index < CORPUS_SUBJECTS);
  const struct verb *verb = &verbs[verb_index];
  const struct subject *subject = &subjects[subject_index];
  text_append(text, subject->pronoun);
  switch (tense) {
  case 0:
    text_printf(text, " %s", subject->third_singular ? verb->third : verb->base);
    break;
  case 1:
    text_printf(text, " %s", verb->past);
    break;
  case 2:
    text_printf(text, " %s %s", subject->be, verb->ing);
    break;
  case 3:
    text_printf(text, " %s %s", subject->have, verb->participle);
    break;
  default:
    text_printf(text, " will %s", verb->base);
  }
}

static void append_clause(struct text *text, const struct rng *rng, uint64_t draw) {
  unsigned person = rng_below(rng, draw, 3);
  unsigned subject = persons[person].first + rng_below(rng, draw + 1, persons[person].count);
  unsigned verb = rng_below(rng, draw + 2, CORPUS_VERBS);
  corpus_clause(text, verb, rng_below(rng, draw + 3, CORPUS_TENSES), subject);
  text_printf(text, " %s%s", verbs[verb].complement, times[rng_below(rng, draw + 4, TIMES)]);
}

void corpus_sentence(struct text *text, uint64_t seed, uint64_t index) {
  struct rng rng = rng_stream(seed, "corpus");
  uint64_t draw = index * DRAWS_PER_SENTENCE;
  append_clause(text, &rng, draw);
  /* Two sentences of three go on with a second clause. */
  if (rng_below(&rng, draw + SECOND_CLAUSE_AT - 1, 3)) {
    text_printf(text, "%s ", connectives[rng_below(&rng, draw + SECOND_CLAUSE_AT - 2, CONNECTIVES)]);
    append_clause(text, &rng, draw + SECOND_CLAUSE_AT);
  }
  text_append(text, ". ");
}
