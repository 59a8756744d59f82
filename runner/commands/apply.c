/* pe-run apply SCHEME [key=value ...]: a scheme on the user's own tensor. */
#include "commands/apply.h"
#include "commands/commands.h"
#include "commands/session.h"
#include "commands/usage.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
  struct session_options session;
  struct apply_request request;
  const char **settings;
};

enum {
  OPTION_SITE = 0x300,
  OPTION_POSITIONS,
  OPTION_IN,
  OPTION_OUT,
  OPTION_ROLE,
  OPTION_HEADS,
  OPTION_QUERIES,
  OPTION_KEYS,
  OPTION_SEQ_LEN,
  OPTION_DERIVED,
  OPTION_TRAIN_LENGTH,
  OPTION_LAYER,
  OPTION_SEED,
  OPTION_PLUGIN
};

static const struct argp_option options[] = {
    {"site", OPTION_SITE, "SITE", 0,
     "embed: add to [T, d_model]; qk: turn [T, head_dim] or [heads, T, head_dim]; bias: make [heads, Tq, Tk]", 1},
    {"positions", OPTION_POSITIONS, "POSITIONS", 0,
     "of the T rows: A:B[:STEP] (B not included), a,b,c, FILE.h5:/dataset or FILE.npy", 1},
    {"in", OPTION_IN, "TENSOR", 0, "FILE.h5:/dataset or FILE.npy, of any float or integer type", 1},
    {"out", OPTION_OUT, "TENSOR", 0,
     "FILE.h5 (dataset /result), FILE.h5:/dataset or FILE.npy; float32; replaces the file once it is whole", 1},
    {"role", OPTION_ROLE, "ROLE", 0, "qk: the rows are query (default) or key rows", 1},
    {"heads", OPTION_HEADS, "N", 0, "bias: number of heads", 1},
    {"queries", OPTION_QUERIES, "POSITIONS", 0, "bias: positions of the queries", 1},
    {"keys", OPTION_KEYS, "POSITIONS", 0, "bias: positions of the keys", 1},
    {"seq-len", OPTION_SEQ_LEN, "N", 0, "length of the sequence (default: the largest position plus one)", 1},
    {"derived", OPTION_DERIVED, NULL, 0, "write the values that follow from the parameters, too: /derived in FILE.h5",
     1},
    {"train-length", OPTION_TRAIN_LENGTH, "N", 0, "training length, for schemes that depend on it", 1},
    {"layer", OPTION_LAYER, "N", 0, "layer, from 0 (default 0)", 1},
    {"seed", OPTION_SEED, "N", 0, "of tensors that are not given (default 0)", 1},
    {"plugin", OPTION_PLUGIN, "FILE", 0, "take the scheme from this file", 1},
    {0}};

static int choose(struct argp_state *state, const char *option, const char *text, const char *const *words) {
  int index = 0;
  while (words[index] && strcmp(words[index], text)) {
    index++;
  }
  if (!words[index]) {
    argp_error(state, "--%s: '%s' is not one of %s, %s%s%s", option, text, words[0], words[1], words[2] ? ", " : "",
               words[2] ? words[2] : "");
  }
  return index;
}

static error_t parse_request(int key, char *argument, struct argp_state *state, struct apply_request *request) {
  static const char *const sites[] = {"embed", "qk", "bias", NULL}, *const roles[] = {"query", "key", NULL};
  switch (key) {
  case OPTION_SITE:
    request->site = 1 << choose(state, "site", argument, sites);
    return 0;
  case OPTION_POSITIONS:
    session_once(state, "positions", &request->positions, argument);
    return 0;
  case OPTION_IN:
    session_once(state, "in", &request->in, argument);
    return 0;
  case OPTION_OUT:
    session_once(state, "out", &request->out, argument);
    return 0;
  case OPTION_ROLE:
    request->role = choose(state, "role", argument, roles) ? PE_ROLE_KEY : PE_ROLE_QUERY;
    return 0;
  case OPTION_HEADS:
    request->heads = (unsigned)session_number(state, "heads", argument, 1, 65536);
    return 0;
  case OPTION_QUERIES:
    session_once(state, "queries", &request->queries, argument);
    return 0;
  case OPTION_KEYS:
    session_once(state, "keys", &request->keys, argument);
    return 0;
  case OPTION_SEQ_LEN:
    request->seq_len = session_number(state, "seq-len", argument, 0, 9007199254740992.0);
    return 0;
  case OPTION_DERIVED:
    request->derived = true;
    return 0;
  case OPTION_TRAIN_LENGTH:
    request->train_length = session_number(state, "train-length", argument, 1, 9007199254740992.0);
    return 0;
  case OPTION_LAYER:
    request->layer = (unsigned)session_number(state, "layer", argument, 0, 65535);
    return 0;
  case OPTION_SEED:
    request->seed = (uint64_t)session_number(state, "seed", argument, 0, 9007199254740992.0);
    return 0;
  case OPTION_PLUGIN:
    session_once(state, "plugin", &request->scheme.plugin, argument);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* What each site needs, and what does not go with it. */
static void check_request(struct argp_state *state, const struct apply_request *request) {
  if (!request->scheme.id) {
    argp_error(state, "no SCHEME given; `pe-run list` names them");
  }
  if (!request->site) {
    argp_error(state, "--site is missing: embed, qk or bias");
  }
  if (!request->out) {
    argp_error(state, "--out is missing: FILE.h5, FILE.h5:/dataset or FILE.npy");
  }
  bool bias = request->site == PE_SITE_BIAS;
  if (bias && (request->in || request->positions)) {
    argp_error(state, "--site bias makes a tensor: it takes --heads, --queries and --keys, no --in and no --positions");
  }
  if (bias && !(request->heads && request->queries && request->keys)) {
    argp_error(state, "--site bias needs --heads, --queries and --keys");
  }
  if (!bias && (request->heads || request->queries || request->keys)) {
    argp_error(state, "--heads, --queries and --keys go with --site bias; heads of q and k are those of the tensor");
  }
  if (!bias && !(request->in && request->positions)) {
    argp_error(state, "--site %s needs --in and --positions", request->site == PE_SITE_QK ? "qk" : "embed");
  }
  if (request->site != PE_SITE_QK && request->role != PE_ROLE_EMBED) {
    argp_error(state, "--role goes with --site qk");
  }
}

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    return 0;
  case ARGP_KEY_ARG:
    if (!a->request.scheme.id) {
      a->request.scheme.id = argument;
    } else {
      a->settings[a->request.scheme.n_settings++] = argument;
    }
    return 0;
  case ARGP_KEY_END:
    check_request(state, &a->request);
    return 0;
  default:
    return parse_request(key, argument, state, &a->request);
  }
}

static const struct argp_child children[] = {{&session_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "SCHEME [KEY=VALUE ...]",
    .doc =
        "Apply a scheme to your own tensor, from any language: add it to an embedding, turn queries or keys, or make "
        "the biases of scores.\v"
        "  pe-run apply rope base=5e5 --site qk --positions 0:128 --in q.npy --out turned.npy\n"
        "  pe-run apply alibi --site bias --heads 8 --queries 0:64 --keys 0:64 --out bias.h5\n"
        "  pe-run apply learned table=gpt2.h5:/wpe --site embed --positions 0:64 --in x.h5:/x --out y.h5:/x",
    .children = children,
};

int command_apply(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.request = {.seq_len = -1}};
  a.settings = memory_new((size_t)argc, sizeof *a.settings, "arguments", &err);
  if (!a.settings) {
    return command_fail(&err);
  }
  a.request.scheme.settings = a.settings;
  command_parse(&argp, argc, argv, &a);
  struct session session;
  int code = session_open(&a.session, &session);
  if (!code) {
    code = apply(&session, &a.request, &err) ? command_fail(&err) : 0;
    session_close(&session);
  }
  free(a.settings);
  return code;
}
