/* From text to token ids: the longest piece, words, unknown characters, and the seeded corpus. */
#include "input/corpus.h"
#include "input/model.h"
#include "input/vocabulary.h"
#include "model_section.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MARK "\xe2\x96\x81"

static char *copy_text(const char *text) {
  char *copy = calloc(strlen(text) + 1, 1);
  assert_non_null(copy);
  memcpy(copy, text, strlen(text));
  return copy;
}

static struct vocabulary vocabulary_of(const char *const *pieces, size_t count, size_t reserved) {
  char **copies = calloc(count, sizeof *copies);
  assert_non_null(copies);
  for (size_t i = 0; i < count; i++) {
    copies[i] = copy_text(pieces[i]);
  }
  struct vocabulary vocabulary;
  struct error err;
  assert_int_equal(vocabulary_init(&vocabulary, copies, count, reserved, &err), 0);
  return vocabulary;
}

static void expect_ids(const struct vocabulary *vocabulary, const char *text, const int32_t *ids, size_t count) {
  struct token_list list = {0};
  struct error err;
  if (vocabulary_cut(vocabulary, "text", text, strlen(text), false, &list, &err)) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(list.count, count);
  assert_memory_equal(list.ids, ids, count * sizeof *ids);
  free(list.ids);
}

static void expect_refused(const struct vocabulary *vocabulary, const char *text, size_t length, const char *expected) {
  struct token_list list = {0};
  struct error err = {ERROR_NONE, ""};
  assert_int_equal(vocabulary_cut(vocabulary, "text", text, length, false, &list, &err), ERROR_TOKENS);
  assert_string_equal(err.text, expected);
  free(list.ids);
}

/* 0: reserved; 5 stands twice, as 9. */
static const char *const pieces[] = {"<s>", MARK, MARK "he", MARK "work", "s", "work", "h", "e", MARK "works", "work"};

static void the_longest_piece_is_taken(void **state) {
  (void)state;
  struct vocabulary vocabulary = vocabulary_of(pieces, 10, 1);
  expect_ids(&vocabulary, "he works", (const int32_t[]){2, 8}, 2);
  expect_ids(&vocabulary, "  he\n\t works\r\n", (const int32_t[]){2, 8}, 2);
  expect_ids(&vocabulary, "hehework", (const int32_t[]){2, 6, 7, 5}, 4);
  expect_ids(&vocabulary, "see", (const int32_t[]){1, 4, 7, 7}, 4);
  expect_ids(&vocabulary, "", NULL, 0);
  vocabulary_destroy(&vocabulary);
}

static void what_no_piece_matches_is_named_with_its_place(void **state) {
  (void)state;
  struct vocabulary vocabulary = vocabulary_of(pieces, 10, 1);
  static const char text[] = "he works\nhe \xc3\xa9s works\xc3\xa9q <s>";
  expect_refused(&vocabulary, text, strlen(text),
                 "text:2:4: no piece of the vocabulary matches '\xc3\xa9', 'q', '<', '>' (5 places in the text); "
                 "`unknown: skip` leaves such places out");
  struct token_list list = {0};
  struct error err;
  assert_int_equal(vocabulary_cut(&vocabulary, "text", text, strlen(text), true, &list, &err), 0);
  const int32_t ids[] = {2, 8, 2, 1, 4, 8, 1, 4};
  assert_int_equal(list.count, 8);
  assert_memory_equal(list.ids, ids, sizeof ids);
  free(list.ids);
  expect_refused(&vocabulary, "z", 1,
                 "text:1:1: no piece of the vocabulary matches 'z' (1 place in the text); `unknown: skip` leaves such "
                 "places out");
  expect_refused(
      &vocabulary, "a b c d f g i j k", 17,
      "text:1:1: no piece of the vocabulary matches 'a', 'b', 'c', 'd', 'f', 'g', 'i', 'j', ... (9 places in "
      "the text); `unknown: skip` leaves such places out");
  vocabulary_destroy(&vocabulary);
}

static void text_must_be_utf8(void **state) {
  (void)state;
  struct vocabulary vocabulary = vocabulary_of(pieces, 10, 1);
  expect_refused(&vocabulary, "he\nhe caf\xe9", 10, "text:2:7: byte 0xe9 is not text in UTF-8");
  expect_refused(&vocabulary, "he\0he", 5, "text:1:3: byte 0x00 is not text in UTF-8");
  expect_refused(&vocabulary, "\xed\xa0\x80", 3, "text:1:1: byte 0xed is not text in UTF-8"); /* a surrogate */
  expect_refused(&vocabulary, "\xc0\xaf", 2, "text:1:1: byte 0xc0 is not text in UTF-8");     /* over-long */
  expect_refused(&vocabulary, "he \xe2\x96", 5, "text:1:4: byte 0xe2 is not text in UTF-8");  /* cut off */
  vocabulary_destroy(&vocabulary);
}

/* Word vectors: whole words and marks, in lower case where the vocabulary is. */
static void whole_words_are_found_in_any_case(void **state) {
  (void)state;
  static const char *const words[] = {"he", "works", ".", ",", "u.s.", "can't", "works."};
  struct vocabulary vocabulary = vocabulary_of(words, 6, 0);
  expect_ids(&vocabulary, "He WORKS, he works.", (const int32_t[]){0, 1, 3, 0, 1, 2}, 6);
  expect_ids(&vocabulary, "U.S. can't.", (const int32_t[]){4, 5, 2}, 3);
  static const char text[] = "He workshops at work.";
  expect_refused(&vocabulary, text, strlen(text),
                 "text:1:4: no piece of the vocabulary matches 'workshops', 'at', 'work' (3 places in the text); "
                 "`unknown: skip` leaves such places out");
  vocabulary_destroy(&vocabulary);
}

/* Every form of a regular and an irregular verb, as any grammar has them. */
static void forms_agree_with_their_subjects(void **state) {
  (void)state;
  static const char *const work[CORPUS_TENSES][CORPUS_SUBJECTS] = {
      {"I work", "we work", "you work", "he works", "she works", "it works", "they work"},
      {"I worked", "we worked", "you worked", "he worked", "she worked", "it worked", "they worked"},
      {"I am working", "we are working", "you are working", "he is working", "she is working", "it is working",
       "they are working"},
      {"I have worked", "we have worked", "you have worked", "he has worked", "she has worked", "it has worked",
       "they have worked"},
      {"I will work", "we will work", "you will work", "he will work", "she will work", "it will work",
       "they will work"}};
  static const char *const go[CORPUS_TENSES][2] = {{"I go", "he goes"},
                                                   {"I went", "he went"},
                                                   {"I am going", "he is going"},
                                                   {"I have gone", "he has gone"},
                                                   {"I will go", "he will go"}};
  for (unsigned tense = 0; tense < CORPUS_TENSES; tense++) {
    for (unsigned subject = 0; subject < CORPUS_SUBJECTS; subject++) {
      struct text text = {0};
      corpus_clause(&text, 0, tense, subject);
      assert_string_equal(text.data, work[tense][subject]);
      text_free(&text);
      corpus_clause(&text, 8, tense, subject);
      if (subject == 0 || subject == 3) {
        assert_string_equal(text.data, go[tense][subject == 3]);
      }
      text_free(&text);
    }
  }
}

static struct model *model_of(struct section *section, uint64_t seed) {
  model_section_text(section, "weights", TEST_SOURCE_DIR "/data/use-lite.h5");
  struct error err;
  struct model *model = model_open(section, seed, &err);
  if (!model) {
    fail_msg("%s", err.text);
  }
  section_free(section);
  return model;
}

static struct model *corpus_of(double length, uint64_t seed) {
  struct section *section = model_section_new();
  model_section_number(section, "tokens.corpus.length", length);
  return model_of(section, seed);
}

static void the_corpus_is_as_long_as_asked_and_its_seed_decides(void **state) {
  (void)state;
  struct model *large = corpus_of(20000, 5), *small = corpus_of(777, 5), *other = corpus_of(777, 6);
  assert_int_equal(large->texts[0].count, 20000);
  assert_int_equal(small->texts[0].count, 777);
  assert_string_equal(small->texts[0].name, "corpus");
  assert_memory_equal(small->texts[0].ids, large->texts[0].ids, 777 * sizeof(int32_t));
  assert_true(memcmp(other->texts[0].ids, small->texts[0].ids, 777 * sizeof(int32_t)) != 0);
  model_close(large);
  model_close(small);
  model_close(other);
}

static void texts_and_files_become_one_text_each(void **state) {
  (void)state;
  struct section *section = model_section_new();
  model_section_text(section, "tokens.text", "he works");
  model_section_text(section, "tokens.text", "I work he");
  struct model *model = model_of(section, 1);
  assert_int_equal(model->n_texts, 2);
  assert_string_equal(model->texts[1].name, "text 2");
  assert_int_equal(model->texts[0].count, 2);
  assert_int_equal(model->texts[1].count, 3);
  assert_string_equal(model_piece(model, model->texts[0].ids[1]), MARK "works");
  assert_string_equal(model_piece(model, 8001), "");
  model_close(model);
  section = model_section_new();
  model_section_text(section, "tokens.file", TEST_SOURCE_DIR "/data/text-a.txt");
  model_section_text(section, "tokens.file", TEST_SOURCE_DIR "/data/text-b.txt");
  model = model_of(section, 1);
  assert_int_equal(model->n_texts, 2);
  assert_string_equal(model->texts[0].name, "text-a.txt");
  /* Lengths up to 2048 need no text twice. */
  assert_true(model->texts[0].count >= 2048 && model->texts[1].count >= 2048);
  model_close(model);
}

static void expect_no_model(struct section *section, enum error_code code, const char *expected) {
  model_section_text(section, "weights", TEST_SOURCE_DIR "/data/use-lite.h5");
  struct error err = {ERROR_NONE, ""};
  assert_null(model_open(section, 1, &err));
  assert_string_equal(err.text, expected);
  assert_int_equal(err.code, code);
  section_free(section);
}

static struct section *ids_section(const double *ids, size_t count) {
  struct section *section = model_section_new();
  model_section_list(section, "tokens.ids", ids, count);
  return section;
}

static struct section *file_section(const char *path) {
  struct section *section = model_section_new();
  model_section_text(section, "tokens.file", path);
  return section;
}

static void padding_is_marked_and_wrong_ids_are_refused(void **state) {
  (void)state;
  struct model *model = model_of(ids_section((const double[]){-1, 40, -1, 171}, 4), 1);
  const uint8_t padding[4] = {1, 0, 1, 0};
  assert_memory_equal(model->texts[0].padding, padding, 4);
  float x[4 * 256], zeros[256] = {0};
  struct error err;
  assert_int_equal(model_content(model, 0, (const size_t[]){0, 1, 2, 4}, 4, x, &err), 0);
  assert_memory_equal(x, zeros, sizeof zeros);
  assert_true(memcmp(x + 256, zeros, sizeof zeros) != 0);
  assert_memory_equal(x + 768, zeros, sizeof zeros); /* index 4 is token 0 again */
  model_close(model);
  expect_no_model(ids_section((const double[]){40, 8002}, 2), ERROR_TOKENS,
                  "model.tokens.ids[1]: 8002; the model has ids 0 to 8001, and -1 for padding");
  expect_no_model(ids_section((const double[]){-1, -1}, 2), ERROR_TOKENS,
                  "model.tokens.ids: all 2 ids are -1 (padding); at least one must be a token");
}

static void unusable_texts_are_refused(void **state) {
  (void)state;
  struct section *section = model_section_new();
  model_section_text(section, "tokens.text", " \n");
  expect_no_model(section, ERROR_TOKENS, "model.tokens.text: holds no token");
  section = model_section_new();
  model_section_text(section, "tokens.text", "he works");
  model_section_text(section, "tokens.text", "he \xe2\x98\x83 works");
  expect_no_model(section, ERROR_TOKENS,
                  "model.tokens.text[1]:1:4: no piece of the vocabulary matches '\xe2\x98\x83' (1 place in the text); "
                  "`unknown: skip` leaves such places out");
  expect_no_model(model_section_new(), ERROR_CONFIG_MISSING,
                  "model.tokens: needed with this model: ids, text, file or corpus");
  static const char fifo[] = TEST_BUILD_DIR "/test_tokens_fifo";
  unlink(fifo);
  assert_int_equal(mkfifo(fifo, 0600), 0);
  expect_no_model(file_section(fifo), ERROR_FILE_REFUSED,
                  TEST_BUILD_DIR "/test_tokens_fifo: is a FIFO; needed is a text file");
  unlink(fifo);
  expect_no_model(file_section("/no/such/file.txt"), ERROR_FILE_READ,
                  "/no/such/file.txt: cannot be opened: No such file or directory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_longest_piece_is_taken),
      cmocka_unit_test(what_no_piece_matches_is_named_with_its_place),
      cmocka_unit_test(text_must_be_utf8),
      cmocka_unit_test(whole_words_are_found_in_any_case),
      cmocka_unit_test(forms_agree_with_their_subjects),
      cmocka_unit_test(the_corpus_is_as_long_as_asked_and_its_seed_decides),
      cmocka_unit_test(texts_and_files_become_one_text_each),
      cmocka_unit_test(padding_is_marked_and_wrong_ids_are_refused),
      cmocka_unit_test(unusable_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
