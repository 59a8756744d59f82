/* Typed keys: one table drives parsing, defaults, validation, describe, the JSON Schema and the attributes saved with
 * the results. The config's sections, the experiments and the schemes' parameters are all tables of this kind.
 */
#ifndef PE_BASE_KEYS_H
#define PE_BASE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_type {
  KEY_BOOL,        /* true | false -> integer 0 or 1 */
  KEY_INT,         /* whole number in [min, max] -> integer, real */
  KEY_REAL,        /* finite number in [min, max] -> real */
  KEY_CHOICE,      /* one of choices -> integer is its index, text its name */
  KEY_TEXT,        /* any text; what YAML would read as a number or boolean is the text as written */
  KEY_PATH,        /* an input file, relative to the config's folder; resolved to a path -> text */
  KEY_INT_LIST,    /* whole numbers -> list, count */
  KEY_REAL_LIST,   /* -> list, count */
  KEY_CHOICE_LIST, /* one word or a list of them -> list of indices, count, is_list */
  KEY_TEXT_LIST,   /* one text or a list of them -> texts, count, is_list */
  KEY_PATH_LIST,   /* one path or a list -> texts, count, is_list */
  KEY_MATRIX,      /* list of equally long lists of numbers, row-major -> list, rows, columns */
  KEY_TENSOR,   /* FILE:/dataset or FILE.npy (text, resolved against the config's folder), or nested lists of numbers of
                   any rank up to 4 (list, rank, dim) */
  KEY_SECTION,  /* a mapping with its own table */
  KEY_SECTIONS, /* a list of mappings that share a table -> sections, count */
  KEY_ENTRIES,  /* a list of `name: {keys}`, whose tables depend on the name (schemes, experiments): only by_user */
  KEY_SWEEP     /* a mapping of keys to lists of values: only by_user */
};

enum key_flags {
  KEY_REQUIRED = 1, /* must be given */
  KEY_OPTIONAL = 2, /* no default: absent unless given */
  KEY_AUTO = 4,     /* the word `auto` is accepted as well -> is_auto */
  KEY_OR_LIST = 8,  /* KEY_CHOICE: a list of numbers is accepted as well -> integer -1, list; KEY_INT, KEY_REAL: one
                       number or a list of them -> list, count, is_list; KEY_SECTION: a list or FILE:/dataset is
                       accepted as well and stands for the section {list: ...} */
  KEY_OUTPUT = 16   /* KEY_PATH: relative to the current folder, not to the config's */
};

struct key_spec {
  const char *key;      /* as written */
  const char *doc;      /* one line: meaning, with unit */
  enum key_type type;   /* KEY_* */
  unsigned flags;       /* KEY_REQUIRED ... */
  double min, max;      /* inclusive, of numbers and of list elements; -INFINITY, INFINITY: none */
  const char *fallback; /* the default as it would be written in a config; NULL with KEY_REQUIRED or KEY_OPTIONAL */
  const char *const *choices;      /* names ended by NULL */
  size_t list_min, list_max;       /* number of list elements; list_max 0: no bound */
  const struct key_table *section; /* KEY_SECTION, KEY_SECTIONS */
};

struct key_table {
  const char *name; /* of the section */
  const char *doc;
  const struct key_spec *keys;
  size_t count;
};

/* The value of one key. Strings and lists are owned by the section that holds it. */
struct key_value {
  bool given;   /* by the user (config or command line) or by the default */
  bool by_user; /* by the user */
  bool is_auto; /* the word auto */
  bool is_list; /* was written as a list where a single value is allowed too */
  int64_t integer;
  double real;
  char *text;
  double *list;
  char **texts;
  size_t count;         /* elements of list or texts */
  size_t rows, columns; /* KEY_MATRIX */
  unsigned rank;        /* KEY_TENSOR given as lists */
  size_t dim[4];
  struct section *section;   /* KEY_SECTION */
  struct section **sections; /* KEY_SECTIONS, [count] */
  int line, column; /* 1-based, in the config; 0: from a default, negative: argument -line of the command line */
};

/* One mapping read against its table: values[i] belongs to table->keys[i]. */
struct section {
  const struct key_table *table;
  struct key_value *values; /* [table->count] */
};

/* The value of `key`; asserts that the table has it (a programmer's error otherwise). NULL where section is NULL. */
const struct key_value *section_get(const struct section *section, const char *key);

/* Release what a value owns and make it empty. */
void key_value_clear(struct key_value *value);

/* Release a section and all it owns; NULL is allowed. */
void section_free(struct section *section);

#endif
