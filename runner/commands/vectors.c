/* pe-run vectors SCHEME [key=value ...]: golden vectors for other projects' tests. */
#include "commands/vectors.h"

#include "base/memory.h"
#include "commands/commands.h"
#include "commands/session.h"
#include "commands/usage.h"

#include <stdlib.h>

struct arguments {
  struct session_options session;
  struct vectors_request request;
  const char **settings;
};

enum {
  OPTION_OUT = 0x500,
  OPTION_POSITIONS,
  OPTION_HEADS,
  OPTION_HEAD_DIM,
  OPTION_D_MODEL,
  OPTION_SEQ_LEN,
  OPTION_TRAIN_LENGTH,
  OPTION_SEED,
  OPTION_PLUGIN
};

static const struct argp_option options[] = {
    {"out", OPTION_OUT, "FILE", 0, "FILE.h5 or FILE.json; replaces the file once it is whole", 1},
    {"positions", OPTION_POSITIONS, "POSITIONS", 0,
     "A:B[:STEP] (B not included), a,b,c, FILE.h5:/dataset or FILE.npy (default 0:16)", 1},
    {"heads", OPTION_HEADS, "N", 0, "number of heads (default 2)", 1},
    {"head-dim", OPTION_HEAD_DIM, "N", 0, "width of a query or key row (default 16)", 1},
    {"d-model", OPTION_D_MODEL, "N", 0, "width of the input (default heads x head-dim)", 1},
    {"seq-len", OPTION_SEQ_LEN, "N", 0, "length of the sequence (default: the largest position plus one)", 1},
    {"train-length", OPTION_TRAIN_LENGTH, "N", 0, "training length, for schemes that depend on it", 1},
    {"seed", OPTION_SEED, "N", 0, "of the rows, and of tensors that are not given (default 0)", 1},
    {"plugin", OPTION_PLUGIN, "FILE", 0, "take the scheme from this file", 1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  struct vectors_request *request = &a->request;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    return 0;
  case OPTION_OUT:
    session_once(state, "out", &request->out, argument);
    return 0;
  case OPTION_POSITIONS:
    request->positions = argument;
    return 0;
  case OPTION_HEADS:
    request->heads = (unsigned)session_number(state, "heads", argument, 1, 65536);
    return 0;
  case OPTION_HEAD_DIM:
    request->head_dim = (unsigned)session_number(state, "head-dim", argument, 1, 1 << 16);
    return 0;
  case OPTION_D_MODEL:
    request->d_model = (unsigned)session_number(state, "d-model", argument, 1, 1 << 24);
    return 0;
  case OPTION_SEQ_LEN:
    request->seq_len = session_number(state, "seq-len", argument, 0, 9007199254740992.0);
    return 0;
  case OPTION_TRAIN_LENGTH:
    request->train_length = session_number(state, "train-length", argument, 1, 9007199254740992.0);
    return 0;
  case OPTION_SEED:
    request->seed = (uint64_t)session_number(state, "seed", argument, 0, 9007199254740992.0);
    return 0;
  case OPTION_PLUGIN:
    session_once(state, "plugin", &request->scheme.plugin, argument);
    return 0;
  case ARGP_KEY_ARG:
    if (!request->scheme.id) {
      request->scheme.id = argument;
    } else {
      a->settings[request->scheme.n_settings++] = argument;
    }
    return 0;
  case ARGP_KEY_END:
    if (!request->scheme.id) {
      argp_error(state, "no SCHEME given; `pe-run list` names them");
    }
    if (!request->out) {
      argp_error(state, "--out is missing: FILE.h5 or FILE.json");
    }
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "SCHEME [KEY=VALUE ...]",
    .doc = "Write golden vectors of a variant, for the tests of another implementation: positions, derived values, the "
           "scheme's tensors, tables of cosines and sines, embeddings, rows before and after, biases, scores.\v"
           "  pe-run vectors rope scaling=yarn factor=4 original_max_position_embeddings=4096 --out yarn.json\n"
           "  pe-run vectors alibi --heads 12 --positions 0:32 --out alibi.h5",
    .children = children,
};

int command_vectors(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.request = {.heads = 2, .head_dim = 16, .positions = "0:16", .seq_len = -1}};
  a.settings = memory_new((size_t)argc, sizeof *a.settings, "arguments", &err);
  if (!a.settings) {
    return command_fail(&err);
  }
  a.request.scheme.settings = a.settings;
  command_parse(&argp, argc, argv, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  if (!code) {
    code = vectors(&session, &a.request, &err) ? command_fail(&err) : 0;
    session_close(&session);
  }
  free(a.settings);
  return code;
}
