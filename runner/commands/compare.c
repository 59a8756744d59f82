/* pe-run compare SCHEME [key=value ...] -- SCHEME|FILE [key=value ...] */
#include "commands/compare.h"

#include "base/memory.h"
#include "commands/commands.h"
#include "commands/session.h"
#include "commands/usage.h"

#include <stdlib.h>
#include <string.h>

struct arguments {
  struct session_options session;
  struct compare_request request;
  struct scheme_arguments *side; /* the one that words belong to */
  const char **settings;         /* of the side */
};

enum {
  OPTION_HEADS = 0x400,
  OPTION_HEAD_DIM,
  OPTION_D_MODEL,
  OPTION_POSITIONS,
  OPTION_SEQ_LEN,
  OPTION_TRAIN_LENGTH,
  OPTION_SEED,
  OPTION_ROUND
};

static const struct argp_option options[] = {
    {"heads", OPTION_HEADS, "N", 0, "number of heads (default 4; of a file: its own)", 1},
    {"head-dim", OPTION_HEAD_DIM, "N", 0, "width of a query or key row (default 64; of a file: its own)", 1},
    {"d-model", OPTION_D_MODEL, "N", 0, "width of the input (default heads x head-dim; of a file: its own)", 1},
    {"positions", OPTION_POSITIONS, "POSITIONS", 0,
     "where they are compared: A:B[:STEP] (B not included), a,b,c, FILE.h5:/dataset or FILE.npy (default 0:128; of a "
     "file: one per row from 0)",
     1},
    {"seq-len", OPTION_SEQ_LEN, "N", 0, "length of the sequence (default: the largest position plus one)", 1},
    {"train-length", OPTION_TRAIN_LENGTH, "N", 0, "training length, for schemes that depend on it", 1},
    {"seed", OPTION_SEED, "N", 0, "of the rows that are turned, and of tensors that are not given (default 0)", 1},
    {"round", OPTION_ROUND, "STAGE=FORMAT", 0,
     "round a stage of the first variant: position, frequency, angle, table, product or output = float32, bfloat16 or "
     "float16 "
     "(may be given again)",
     1},
    {0}};

static void read_rounding(struct argp_state *state, const char *text, struct angle_rounding *rounding) {
  const char *equals = strchr(text, '=');
  size_t length = equals ? (size_t)(equals - text) : 0;
  for (int stage = 0; equals && angle_stage_names[stage]; stage++) {
    for (int format = 0; number_format_names[format]; format++) {
      if (strlen(angle_stage_names[stage]) == length && !strncmp(angle_stage_names[stage], text, length) &&
          !strcmp(number_format_names[format], equals + 1)) {
        rounding->format[stage] = (enum number_format)format;
        return;
      }
    }
  }
  argp_error(state,
             "--round: '%s' is not STAGE=FORMAT; stages are position, frequency, angle, table, product, output; "
             "formats float64, "
             "float32, bfloat16, float16",
             text);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct arguments *a = state->input;
  struct compare_request *request = &a->request;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->session;
    return 0;
  case OPTION_HEADS:
    request->heads = (unsigned)session_number(state, "heads", argument, 1, 65536);
    return 0;
  case OPTION_HEAD_DIM:
    request->head_dim = (unsigned)session_number(state, "head-dim", argument, 1, 1 << 20);
    return 0;
  case OPTION_D_MODEL:
    request->d_model = (unsigned)session_number(state, "d-model", argument, 1, 1 << 24);
    return 0;
  case OPTION_POSITIONS:
    request->positions = argument;
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
  case OPTION_ROUND:
    read_rounding(state, argument, &request->rounding);
    return 0;
  case ARGP_KEY_ARG:
    if (!a->side->id) {
      a->side->id = argument;
    } else {
      a->settings[a->side->n_settings++] = argument;
    }
    return 0;
  case ARGP_KEY_END:
    if (!a->side->id) {
      argp_error(state, "a side is missing: pe-run compare SCHEME [KEY=VALUE ...] -- SCHEME|FILE [KEY=VALUE ...]");
    }
    if (a->side == &request->ours && compare_is_file(a->side->id)) {
      argp_error(state, "%s is a file: the scheme comes first, the file after --", a->side->id);
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
    .args_doc = "SCHEME [KEY=VALUE ...] -- SCHEME|FILE [KEY=VALUE ...]",
    .doc =
        "Where two variants of a scheme part, or a variant and a tensor that another program wrote: derived values, "
        "vectors, scores by distance, and for a file a guess at the cause.\v"
        "FILE is FILE.h5:/dataset or FILE.npy. Its keys: what (inv_freq, cos, sin, cos_sin, embedding, rotated, bias; "
        "else guessed from name and shape), in (of rotated: the rows before), role (query, key).\n\n"
        "  pe-run compare rope -- rope layout=interleaved\n"
        "  pe-run compare rope base=5e5 -- dump.h5:/cos\n"
        "  pe-run compare rope -- turned.npy in=q.npy\n\n"
        "Exit code 0: identical, equal up to rounding or up to the order of channels; 1: they part.",
    .children = children,
};

/* Each side of "--" is parsed for itself: options may stand on either. */
static void parse_sides(struct arguments *a, int argc, char **argv, const char **settings) {
  int split = 1;
  while (split < argc && strcmp(argv[split], "--") != 0) {
    split++;
  }
  a->side = &a->request.ours;
  a->settings = settings;
  a->side->settings = settings;
  command_parse(&argp, split, argv, a);
  a->side = &a->request.theirs;
  a->settings = settings + split;
  a->side->settings = a->settings;
  int left = split < argc ? argc - split : 1;
  char **rest = split < argc ? argv + split : argv;
  rest[0] = argv[0];
  command_parse(&argp, left, rest, a);
}

int command_compare(int argc, char **argv) {
  struct error err = {0};
  struct arguments a = {.request = {.seq_len = -1}};
  const char **settings = memory_new((size_t)argc + 1, sizeof *settings, "arguments", &err);
  if (!settings) {
    return command_fail(&err);
  }
  parse_sides(&a, argc, argv, settings);
  a.request.style = session_style(&a.session);
  struct session session;
  int code = session_open(&a.session, &session);
  if (!code) {
    enum agreement agreement;
    int status = compare_is_file(a.request.theirs.id) ? compare_file(&session, &a.request, &agreement, &err)
                                                      : compare_variants(&session, &a.request, &agreement, &err);
    code = status ? command_fail(&err) : agreement == AGREE_NOT;
    session_close(&session);
  }
  free(settings);
  return code;
}
