/* YAML text to a tree with places; what is refused, with its message. */
#include "base/text.h"
#include "config/yaml_tree.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A node as flow text: quoted scalars in quotes, null as nothing. */
static void dump(struct text *out, const struct node *node) {
  if (node->kind == NODE_SCALAR) {
    text_printf(out, node->quoted ? "\"%s\"" : "%s", node->text);
    return;
  }
  text_append(out, node->kind == NODE_LIST ? "[" : "{");
  for (size_t i = 0; i < node->count; i++) {
    text_append(out, i ? ", " : "");
    if (node->kind == NODE_MAPPING) {
      dump(out, node->keys[i]);
      text_append(out, ": ");
    }
    dump(out, node->items[i]);
  }
  text_append(out, node->kind == NODE_LIST ? "]" : "}");
}

static char *printed(const struct diagnostics *diagnostics) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  diagnostics_print(diagnostics, stream);
  fclose(stream);
  return text;
}

/* What a text of `length` bytes gives: the tree, or what is wrong with it. To be freed. */
static char *outcome_of_bytes(const char *bytes, size_t length) {
  struct diagnostics diagnostics = {0};
  struct reader reader = {.diagnostics = &diagnostics, .folder = ""};
  struct source source = {.place = "a.yaml", .text = bytes, .length = length};
  const struct node *tree = source_check(&reader, &source) ? tree_parse(&reader, &source, 0) : NULL;
  struct text text = {0};
  struct error err;
  char *outcome;
  if (tree && !diagnostics.count) {
    dump(&text, tree);
    outcome = text_take(&text, &err);
  } else {
    outcome = printed(&diagnostics);
  }
  assert_false(reader.arena.failed);
  arena_free(&reader.arena);
  diagnostics_free(&diagnostics);
  return outcome;
}

static void check(const char *text, const char *expected) {
  char *outcome = outcome_of_bytes(text, strlen(text));
  assert_string_equal(outcome, expected);
  free(outcome);
}

static void reads_what_configs_are_made_of(void **state) {
  (void)state;
  check("a: 1\nb: [x, 'y', \"z\"]\nc:\n  - d: e\n", "{a: 1, b: [x, \"y\", \"z\"], c: [{d: e}]}");
  check("a:\nb: ~\n", "{a: , b: ~}");
  check("a: |\n  two\n  lines\n", "{a: \"two\nlines\n\"}");
  check("---\na: 1\n...\n", "{a: 1}");
  check("%YAML 1.1\n---\na: 1\n", "{a: 1}");
  check("a: 1\r\nb: 2\r\n", "{a: 1, b: 2}");
  check("a: \xc3\xa9\n", "{a: \xc3\xa9}");
  check("", "");
  check("# nothing\n", "");
}

static void aliases_become_copies(void **state) {
  (void)state;
  check("a: &x [1, {b: 2}]\nc: *x\nd: &y 3\ne: [*y, *x]\n",
        "{a: [1, {b: 2}], c: [1, {b: 2}], d: 3, e: [3, [1, {b: 2}]]}");
  check("a: &x 1\nb: &x 2\nc: *x\n", "{a: 1, b: 2, c: 2}");
}

static void nodes_know_their_places(void **state) {
  (void)state;
  static const char text[] = "a: \xc3\xa9\xc3\xa9  # two characters of two bytes\n\"\xc3\xa9\": {k: v}\n";
  struct diagnostics diagnostics = {0};
  struct reader reader = {.diagnostics = &diagnostics, .folder = ""};
  struct source source = {.place = "a.yaml", .text = text, .length = strlen(text)};
  const struct node *tree = tree_parse(&reader, &source, 0);
  assert_non_null(tree);
  assert_int_equal(tree->items[0]->line, 1);
  assert_int_equal(tree->items[0]->column, 4);
  const struct node *inner = tree->items[1];
  assert_int_equal(inner->line, 2);
  assert_int_equal(inner->column, 6); /* characters, not bytes */
  assert_int_equal(inner->items[0]->column, 10);
  arena_free(&reader.arena);
}

struct refusal {
  const char *text, *message;
};

static void refuses_with_a_place_and_a_reason(void **state) {
  (void)state;
  static const struct refusal refusals[] = {
      {"b: [1, 2",
       "a.yaml:1:4: error[E0101]: did not find expected ',' or ']' before the end (while parsing a flow sequence "
       "that starts here)\n"
       "    1 | b: [1, 2\n"
       "      |    ^\n"},
      {"b: [1,\n  2\nc: 3\n",
       "a.yaml:3:2: error[E0101]: did not find expected ',' or ']' (while parsing a flow sequence that starts in line "
       "1)\n"
       "    3 | c: 3\n"
       "      |  ^\n"},
      {"a:\n\tb: 1\n", "a.yaml:2:1: error[E0101]: a tab cannot indent; use spaces\n"
                       "    2 |  b: 1\n"
                       "      | ^\n"},
      {"title: a: b\n",
       "a.yaml:1:9: error[E0101]: a second ': ' in one value; quote a text that has one, and indent keys alike\n"
       "    1 | title: a: b\n"
       "      |         ^\n"},
      {"heads: 8\nheads: 12\n", "a.yaml:2:1: error[E0104]: heads: the key stands twice, in lines 1 and 2\n"
                                "    2 | heads: 12\n"
                                "      | ^\n"},
      {"a:\n  - {heads: 8, \"heads\": 12}\n", "a.yaml:2:16: error[E0104]: a[0].heads: the key stands twice in line 2\n"
                                              "    2 |   - {heads: 8, \"heads\": 12}\n"
                                              "      |                ^\n"},
      {"heads: 8\n---\nheads: 12\n",
       "a.yaml:2:1: error[E0111]: a second document starts here; a config is one document\n"
       "    2 | ---\n"
       "      | ^\n"},
      {"heads: 8\n---\nheads: [\n",
       "a.yaml:2:1: error[E0111]: a second document starts here; a config is one document\n"
       "    2 | ---\n"
       "      | ^\n"},
      {"a: &a [*a]\n", "a.yaml:1:8: error[E0114]: the alias *a stands inside of what it stands for\n"
                       "    1 | a: &a [*a]\n"
                       "      |        ^\n"},
      {"a: *b\n", "a.yaml:1:4: error[E0114]: the alias *b has no anchor &b before it\n"
                  "    1 | a: *b\n"
                  "      |    ^\n"},
      {"a: &a {k: 1}\nb:\n  <<: *a\n",
       "a.yaml:3:3: error[E0114]: merge keys (<<) are not read; write the keys out, or use an alias for a whole value\n"
       "    3 |   <<: *a\n"
       "      |   ^\n"},
      {"[a, b]: 1\n", "a.yaml:1:1: error[E0105]: a key must be a plain word, not a list or a mapping\n"
                      "    1 | [a, b]: 1\n"
                      "      | ^\n"},
      {"a: !!int 5\n",
       "a.yaml:1:4: error[E0101]: tags (tag:yaml.org,2002:int) are not read; quote a value to make it text\n"
       "    1 | a: !!int 5\n"
       "      |    ^\n"},
      {"a: \"x\\0y\"\n", "a.yaml:1:4: error[E0110]: a text with NUL in it\n"
                         "    1 | a: \"x\\0y\"\n"
                         "      |    ^\n"},
      {"title: caf\xe9\n", "a.yaml:1:11: error[E0110]: byte 0xe9 at offset 10 is not UTF-8; save the file as UTF-8\n"
                           "    1 | title: caf?\n"
                           "      |           ^\n"},
      {"a: 1\nb: \xc3\xa9 \xed\xa0\x80\n",
       "a.yaml:2:6: error[E0110]: byte 0xed at offset 11 is not UTF-8; save the file as UTF-8\n"
       "    2 | b: \xc3\xa9 ???\n"
       "      |      ^\n"},
      {"a: \xc0\x80\n", "a.yaml:1:4: error[E0110]: byte 0xc0 at offset 3 is not UTF-8; save the file as UTF-8\n"
                        "    1 | a: ??\n"
                        "      |    ^\n"},
      {"a: \x07\n", "a.yaml:1:4: error[E0110]: character U+0007 at offset 3 cannot stand in a config\n"
                    "    1 | a: ?\n"
                    "      |    ^\n"},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    check(refusals[i].text, refusals[i].message);
  }
}

static void refuses_a_zero_byte(void **state) {
  (void)state;
  char *outcome = outcome_of_bytes("a: 1\nb\0: 2\n", 11);
  assert_string_equal(outcome, "a.yaml:2:2: error[E0110]: character U+0000 at offset 6 cannot stand in a config\n"
                               "    2 | b\n"
                               "      |  ^\n");
  free(outcome);
}

/* `count` times `piece`. */
static void repeat(struct text *text, const char *piece, size_t count) {
  for (size_t i = 0; i < count; i++) {
    text_append(text, piece);
  }
}

static void expect_start(struct text *text, const char *start) {
  struct error err;
  char *whole = text_take(text, &err);
  char *outcome = outcome_of_bytes(whole, strlen(whole));
  if (strncmp(outcome, start, strlen(start))) {
    fail_msg("expected %s, got %.200s", start, outcome);
  }
  free(outcome);
  free(whole);
}

static void bombs_do_not_go_off(void **state) {
  (void)state;
  struct text text = {0};
  text_append(&text, "a: ");
  repeat(&text, "[", 64000);
  repeat(&text, "]", 64000);
  expect_start(&text, "a.yaml:1:67: error[E0109]: nested deeper than 64\n");
  repeat(&text, "- ", 64000);
  expect_start(&text, "a.yaml:1:129: error[E0109]: nested deeper than 64\n");
  text_append(&text, "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
  for (int i = 1; i <= 25; i++) {
    text_printf(&text, "a%d: &a%d [", i, i);
    for (int j = 0; j < 9; j++) {
      text_printf(&text, "%s*a%d", j ? ", " : "", i - 1);
    }
    text_append(&text, "]\n");
  }
  /* 10, 91, 820, 7381, 66430 values: the second *a4 is too many. */
  expect_start(&text, "a.yaml:6:15: error[E0109]: more than 200000 values, copies counted\n");
  for (int i = 0; i < 70; i++) {
    text_printf(&text, i ? "a%d: &a%d [*a%d]\n" : "a%d: &a%d []\n", i, i, i - 1);
  }
  expect_start(&text, "a.yaml:64:12: error[E0109]: nested deeper than 64 by the alias *a62\n");
  text_append(&text, "a: [");
  repeat(&text, "1,", 250000);
  text_append(&text, "]");
  /* Mapping, key and list come before; element i stands in column 3 + 2 i. */
  expect_start(&text, "a.yaml:1:399999: error[E0109]: more than 200000 values; keep tensors in files of their own\n");
  for (int i = 0; i < 1100; i++) {
    text_printf(&text, "k%d: 1\n", i);
  }
  expect_start(&text, "a.yaml:1001:1: error[E0109]: more than 1000 keys in one mapping\n");
  for (int i = 0; i < 1100; i++) {
    text_printf(&text, "- &k%d 1\n", i);
  }
  expect_start(&text, "a.yaml:1001:3: error[E0109]: more than 1000 anchors\n");
}

/* What a file gives: its number of bytes without the mark, or the message with the path replaced by FILE. */
static void check_file(const char *path, const char *expected) {
  struct diagnostics diagnostics = {0};
  struct reader reader = {.diagnostics = &diagnostics, .folder = ""};
  struct source source;
  const char *bytes;
  char *outcome = NULL;
  if (source_read(&reader, path, &source, &bytes)) {
    assert_true(asprintf(&outcome, "%zu", source.length) > 0);
    assert_string_equal(outcome, expected);
  } else {
    outcome = printed(&diagnostics);
    assert_memory_equal(outcome, path, strlen(path));
    assert_string_equal(outcome + strlen(path), expected);
  }
  free(outcome);
  arena_free(&reader.arena);
  diagnostics_free(&diagnostics);
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void only_regular_files_of_a_sane_size_are_read(void **state) {
  (void)state;
  char folder[] = "/tmp/pe-run-test-XXXXXX";
  assert_non_null(mkdtemp(folder));
  assert_int_equal(chdir(folder), 0);
  write_file("good.yaml", "a: 1\n");
  check_file("good.yaml", "5");
  write_file("mark.yaml", "\xef\xbb\xbf"
                          "a: 1\n");
  check_file("mark.yaml", "5");
  check_file("missing.yaml", ": error[E0102]: cannot be read: No such file or directory\n");
  check_file(folder, ": error[E0102]: cannot be read: it is a directory; a config is a file\n");
  check_file("/dev/zero", ": error[E0102]: cannot be read: it is a character device; a config is a file\n");
  assert_int_equal(mkfifo("fifo.yaml", 0600), 0);
  check_file("fifo.yaml", ": error[E0102]: cannot be read: it is a FIFO; a config is a file\n");
  write_file("big.yaml", "a: 1\n");
  assert_int_equal(truncate("big.yaml", 100 << 20), 0);
  check_file("big.yaml", ": error[E0109]: is too large: 104857600 bytes, at most 1048576 are read; keep tensors in "
                         "files of their own\n");
  write_file("secret.yaml", "a: 1\n");
  assert_int_equal(chmod("secret.yaml", 0), 0);
  if (access("secret.yaml", R_OK)) { /* not so for root */
    check_file("secret.yaml", ": error[E0102]: cannot be read: Permission denied\n");
  }
  static const char *const names[] = {"good.yaml", "mark.yaml", "fifo.yaml", "big.yaml", "secret.yaml"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    unlink(names[i]);
  }
  assert_int_equal(chdir("/"), 0);
  rmdir(folder);
}

static void long_lines_are_shown_around_the_column(void **state) {
  (void)state;
  struct text text = {0};
  text_append(&text, "a: \"");
  repeat(&text, "x", 300);
  text_append(&text, "\" b");
  struct error err;
  char *whole = text_take(&text, &err), *outcome = outcome_of_bytes(whole, strlen(whole));
  text_append(&text, "a.yaml:1:307: error[E0101]: did not find expected key (while parsing a block mapping)\n"
                     "    1 | ...");
  repeat(&text, "x", 58);
  text_append(&text, "\" b\n      | ");
  repeat(&text, " ", 63);
  text_append(&text, "^\n");
  char *expected = text_take(&text, &err);
  assert_string_equal(outcome, expected);
  free(whole);
  free(outcome);
  free(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_configs_are_made_of),
      cmocka_unit_test(aliases_become_copies),
      cmocka_unit_test(nodes_know_their_places),
      cmocka_unit_test(refuses_with_a_place_and_a_reason),
      cmocka_unit_test(refuses_a_zero_byte),
      cmocka_unit_test(bombs_do_not_go_off),
      cmocka_unit_test(only_regular_files_of_a_sane_size_are_read),
      cmocka_unit_test(long_lines_are_shown_around_the_column),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
