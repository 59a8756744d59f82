/* The keys of a config. Whatever can be set stands here once: reading, defaults, describe and the schema follow. */
#include "config/plan.h"
#include "config/plan_parts.h"

#include <math.h>

#define TABLE(keys_) .keys = keys_, .count = sizeof keys_ / sizeof *keys_
#define ANY .min = -INFINITY, .max = INFINITY

/* Sizes of a model beyond these are slips. */
#define MAX_HEADS 65536
#define MAX_WIDTH 1048576
#define MAX_TOKENS 1073741824

static const char *const unknown_choices[] = {"error", "skip", NULL};

static const struct key_spec corpus_keys[] = {
    {.key = "length",
     .doc = "tokens of the generated text",
     .type = KEY_INT,
     .min = 1,
     .max = MAX_TOKENS,
     .fallback = "2048"},
};
static const struct key_table corpus_table = {
    .name = "corpus", .doc = "A seeded text of verb-grammar sentences", TABLE(corpus_keys)};

static const struct key_spec tokens_keys[] = {
    {.key = "ids",
     .doc = "token ids; -1 is padding: masked as a key, and the tokens after it count from 0",
     .type = KEY_INT_LIST,
     .flags = KEY_OPTIONAL,
     .min = -1,
     .max = 2147483647,
     .list_min = 1},
    {.key = "text",
     .doc = "a text, or several, cut into the longest pieces of the model's vocabulary",
     .type = KEY_TEXT_LIST,
     .flags = KEY_OPTIONAL,
     .list_min = 1},
    {.key = "file", .doc = "a text file, or several", .type = KEY_PATH_LIST, .flags = KEY_OPTIONAL, .list_min = 1},
    {.key = "corpus",
     .doc = "a generated text of any length",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &corpus_table},
    {.key = "unknown",
     .doc = "what to do with text that no piece of the vocabulary spells",
     .type = KEY_CHOICE,
     .fallback = "error",
     .choices = unknown_choices},
};
static const struct key_table tokens_table = {
    .name = "tokens", .doc = "What the model reads: one of ids, text, file, corpus", TABLE(tokens_keys)};

static const struct key_spec positions_keys[] = {
    {.key = "start",
     .doc = "position of the first token; 0 where only step is given",
     .type = KEY_REAL,
     .flags = KEY_OPTIONAL,
     ANY},
    {.key = "step",
     .doc = "from one token to the next; 1 where only start is given",
     .type = KEY_REAL,
     .flags = KEY_OPTIONAL,
     ANY},
    {.key = "grid",
     .doc = "[rows, columns]: two coordinates per token, row by row",
     .type = KEY_INT_LIST,
     .flags = KEY_OPTIONAL,
     .min = 1,
     .max = MAX_TOKENS,
     .list_min = 2,
     .list_max = 2},
    {.key = "list",
     .doc = "one position per token, or a list of coordinates per token",
     .type = KEY_TENSOR,
     .flags = KEY_OPTIONAL,
     ANY},
};
static const struct key_table positions_table = {
    .name = "positions", .doc = "Positions of the tokens: start and step, grid, or list", TABLE(positions_keys)};

static const struct key_spec matrix_keys[] = {
    {.key = "x", .doc = "content, one row per token", .type = KEY_MATRIX, .flags = KEY_REQUIRED, ANY},
    {.key = "scale", .doc = "score scale", .type = KEY_REAL, ANY, .fallback = "1"},
    {.key = "heads",
     .doc = "attention heads; each takes its share of the columns",
     .type = KEY_INT,
     .min = 1,
     .max = MAX_HEADS,
     .fallback = "1"},
};
static const struct key_table matrix_table = {
    .name = "matrix", .doc = "Content as written, with identity projections", TABLE(matrix_keys)};

static const struct key_spec random_keys[] = {
    {.key = "heads", .doc = "query heads", .type = KEY_INT, .min = 1, .max = MAX_HEADS, .fallback = "4"},
    {.key = "kv_heads",
     .doc = "key heads, a divisor of heads; as many as heads where it is not given",
     .type = KEY_INT,
     .flags = KEY_OPTIONAL,
     .min = 1,
     .max = MAX_HEADS},
    {.key = "head_dim",
     .doc = "width of a query or key",
     .type = KEY_INT,
     .min = 1,
     .max = MAX_WIDTH,
     .fallback = "64"},
    {.key = "d_model", .doc = "width of the content", .type = KEY_INT, .min = 1, .max = MAX_WIDTH, .fallback = "256"},
    {.key = "correlation",
     .doc = "correlation of the query and key projections: 1 the same, 0 independent",
     .type = KEY_REAL,
     .min = -1,
     .max = 1,
     .fallback = "0.5"},
    {.key = "length",
     .doc = "tokens of the text; any number where it is not given",
     .type = KEY_INT,
     .flags = KEY_OPTIONAL,
     .min = 1,
     .max = MAX_TOKENS},
};
static const struct key_table random_table = {
    .name = "random", .doc = "Gaussian content and projections", TABLE(random_keys)};

static const struct key_spec qk_keys[] = {
    {.key = "q",
     .doc = "queries before positions, [layer, head, token, head_dim] or [head, token, head_dim]",
     .type = KEY_TENSOR,
     .flags = KEY_REQUIRED,
     ANY},
    {.key = "k", .doc = "keys before positions, likewise", .type = KEY_TENSOR, .flags = KEY_REQUIRED, ANY},
    {.key = "v", .doc = "values, likewise", .type = KEY_TENSOR, .flags = KEY_OPTIONAL, ANY},
    {.key = "texts",
     .doc = "tokens of each text, one behind the other in q and k; auto: one text",
     .type = KEY_INT_LIST,
     .flags = KEY_AUTO,
     .min = 1,
     .max = MAX_TOKENS,
     .fallback = "auto",
     .list_min = 1,
     .list_max = 10000},
    {.key = "scale",
     .doc = "score scale; auto: 1/sqrt(head_dim)",
     .type = KEY_REAL,
     .flags = KEY_AUTO,
     ANY,
     .fallback = "auto"},
};
static const struct key_table qk_table = {
    .name = "qk", .doc = "Queries and keys of a model of your own", TABLE(qk_keys)};

static const struct key_spec embeddings_keys[] = {
    {.key = "file",
     .doc = "word vectors: FILE.h5:/dataset, FILE.npy or GloVe text (word v1 v2 ...)",
     .type = KEY_PATH,
     .flags = KEY_REQUIRED},
    {.key = "heads", .doc = "attention heads", .type = KEY_INT, .min = 1, .max = MAX_HEADS, .fallback = "4"},
    {.key = "head_dim",
     .doc = "width of a query or key",
     .type = KEY_INT,
     .min = 1,
     .max = MAX_WIDTH,
     .fallback = "64"},
    {.key = "scale", .doc = "factor on the vectors", .type = KEY_REAL, ANY, .fallback = "1"},
};
static const struct key_table embeddings_table = {
    .name = "embeddings", .doc = "Word vectors with seeded random projections", TABLE(embeddings_keys)};

static const struct key_spec model_keys[] = {
    {.key = "weights", .doc = "HDF5 file of trained projections", .type = KEY_PATH, .flags = KEY_OPTIONAL},
    {.key = "matrix",
     .doc = "content as written",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &matrix_table},
    {.key = "random",
     .doc = "Gaussian content and projections",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &random_table},
    {.key = "qk",
     .doc = "queries and keys from files",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &qk_table},
    {.key = "embeddings",
     .doc = "word vectors",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &embeddings_table},
    {.key = "layer",
     .doc = "layer of the weights or of q and k, from 0",
     .type = KEY_INT,
     .min = 0,
     .max = 65535,
     .fallback = "0"},
    {.key = "tokens",
     .doc = "what the model reads; needed with weights and embeddings",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &tokens_table},
    {.key = "positions",
     .doc = "positions of the tokens, where they are not 0, 1, 2, ...",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL | KEY_OR_LIST,
     .section = &positions_table},
};
static const struct key_table model_table = {
    .name = "model", .doc = "One of weights, matrix, random, qk, embeddings, and what it reads", TABLE(model_keys)};

static const struct key_spec root_keys[] = {
    {.key = "title", .doc = "what the run is for, one line", .type = KEY_TEXT, .fallback = "\"\""},
    {.key = "seed",
     .doc = "every random number follows from it",
     .type = KEY_INT,
     .min = 0,
     .max = INFINITY,
     .fallback = "17"},
    {.key = "seeds",
     .doc = "jobs are run for so many seeds, seed and up; for random models; auto: 1; there 5 for extrapolation, whose "
            "intervals are taken over seeds",
     .type = KEY_INT,
     .flags = KEY_AUTO,
     .min = 1,
     .max = 10000,
     .fallback = "auto"},
    {.key = "output",
     .doc = "results file, relative to the current folder; results/<name of the config>.h5 where it is not given",
     .type = KEY_PATH,
     .flags = KEY_OPTIONAL | KEY_OUTPUT},
    {.key = "model",
     .doc = "where queries and keys come from",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &model_table},
    {.key = "schemes", .doc = "the encodings to look at", .type = KEY_ENTRIES, .flags = KEY_REQUIRED},
    {.key = "experiments", .doc = "what to find out", .type = KEY_ENTRIES, .flags = KEY_REQUIRED},
    {.key = "sweep",
     .doc = "keys of schemes and experiments, each with a list of values; their cross product is run",
     .type = KEY_SWEEP,
     .flags = KEY_OPTIONAL},
    {.key = "expect",
     .doc = "what must hold of the results, such as truncation_jsd.alibi.mean < 0.1",
     .type = KEY_TEXT_LIST,
     .flags = KEY_OPTIONAL},
    {.key = "decision",
     .doc = "which scheme to take, and by which conditions",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &decision_table},
};
static const struct key_table root_table = {.name = "config", .doc = "A config of pe-run", TABLE(root_keys)};

static const struct key_spec position_map_keys[] = {
    {.key = "offset", .doc = "positions are moved by it", .type = KEY_REAL, .flags = KEY_OPTIONAL, ANY},
    {.key = "divide",
     .doc = "positions are divided by it; auto: length / training length, at least 1 (position interpolation)",
     .type = KEY_REAL,
     .flags = KEY_OPTIONAL | KEY_AUTO,
     .min = 1e-6,
     .max = 1e12},
    {.key = "clamp",
     .doc = "positions end at this one less 1; auto: the training length",
     .type = KEY_REAL,
     .flags = KEY_OPTIONAL | KEY_AUTO,
     .min = 1,
     .max = 1e12},
    {.key = "wrap",
     .doc = "positions start again at this one; auto: the training length",
     .type = KEY_REAL,
     .flags = KEY_OPTIONAL | KEY_AUTO,
     .min = 1,
     .max = 1e12},
    {.key = "shuffled",
     .doc = "true: positions in a seeded random order, one order per length",
     .type = KEY_BOOL,
     .flags = KEY_OPTIONAL},
};
static const struct key_table position_map_table = {.name = "positions",
                                                    .doc =
                                                        "Which position the scheme is told for a token: one of these",
                                                    TABLE(position_map_keys)};

static const struct key_spec mixed_layers_keys[] = {
    {.key = "every",
     .doc = "the n-th layer, the 2 n-th, ... use the other scheme",
     .type = KEY_INT,
     .flags = KEY_REQUIRED,
     .min = 1,
     .max = 1024},
    {.key = "scheme", .doc = "the other scheme, with its defaults", .type = KEY_TEXT, .fallback = "none"},
};
static const struct key_table mixed_layers_table = {
    .name = "layers", .doc = "A mixed stack: what each n-th layer uses instead", TABLE(mixed_layers_keys)};

static const struct key_spec scheme_entry_keys[] = {
    {.key = "label",
     .doc = "name in the results, where it is not the scheme's",
     .type = KEY_TEXT,
     .flags = KEY_OPTIONAL},
    {.key = "positions",
     .doc = "positions changed before the scheme sees them",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &position_map_table},
    {.key = "plugin", .doc = "the shared object with the scheme", .type = KEY_PATH, .flags = KEY_OPTIONAL},
    {.key = "weights", .doc = "HDF5 file with the scheme's tensors by name", .type = KEY_PATH, .flags = KEY_OPTIONAL},
    {.key = "layers",
     .doc = "layers of a trained model that use another scheme",
     .type = KEY_SECTION,
     .flags = KEY_OPTIONAL,
     .section = &mixed_layers_table},
};
static const struct key_table scheme_entry_table = {
    .name = "schemes", .doc = "Beside a scheme's parameters", TABLE(scheme_entry_keys)};

static const struct key_spec experiment_entry_keys[] = {
    {.key = "label",
     .doc = "name in the results, where it is not the experiment's",
     .type = KEY_TEXT,
     .flags = KEY_OPTIONAL},
    {.key = "weights",
     .doc = "HDF5 file of trained projections in the place of model.weights; swept, it gives a grid trained with x "
            "applied",
     .type = KEY_PATH,
     .flags = KEY_OPTIONAL},
};
static const struct key_table experiment_entry_table = {
    .name = "experiments", .doc = "Beside an experiment's keys", TABLE(experiment_entry_keys)};

const struct key_table *config_root_table(void) {
  return &root_table;
}

const struct key_table *config_model_table(void) {
  return &model_table;
}

const struct key_table *config_scheme_entry_table(void) {
  return &scheme_entry_table;
}

const struct key_table *config_experiment_entry_table(void) {
  return &experiment_entry_table;
}
