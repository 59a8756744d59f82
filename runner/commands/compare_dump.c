/* The tensor as it is read: kind, form, positions. */
#include "commands/compare_dump.h"

#include "base/memory.h"
#include "base/text.h"
#include "config/section_text.h"
#include "input/tensor_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const dump_kind_names[] = {"inv_freq", "cos", "sin", "cos_sin", "embedding", "rotated", "bias", NULL};

bool compare_is_file(const char *word) {
  size_t length = strlen(word);
  return strstr(word, ":/") || (length > 4 && !strcmp(word + length - 4, ".npy"));
}

/* ---- keys ---- */

static const struct key_table *dump_keys(void) {
  static const char *const roles[] = {"query", "key", NULL};
  static const struct key_spec keys[] = {
      {.key = "what",
       .doc = "what the tensor is",
       .type = KEY_CHOICE,
       .flags = KEY_OPTIONAL,
       .choices = dump_kind_names},
      {.key = "in",
       .doc = "of rotated: the rows before",
       .type = KEY_TENSOR,
       .flags = KEY_OPTIONAL,
       .min = -INFINITY,
       .max = INFINITY},
      {.key = "role",
       .doc = "of rotated: what the rows are",
       .type = KEY_CHOICE,
       .fallback = "query",
       .choices = roles},
  };
  static const struct key_table table = {.name = "file", .doc = "", .keys = keys, .count = sizeof keys / sizeof *keys};
  return &table;
}

static struct section *read_keys(const struct compare_request *request, struct error *err) {
  struct text text = {0};
  text_append(&text, "{");
  for (size_t i = 0; i < request->theirs.n_settings; i++) {
    const char *setting = request->theirs.settings[i], *equals = strchr(setting, '=');
    if (!equals) {
      text_free(&text);
      error_set(err, ERROR_USAGE, "argument '%s' is not KEY=VALUE; one file is compared at a time", setting);
      return NULL;
    }
    text_append(&text, i ? ", " : "");
    text_append_bytes(&text, setting, (size_t)(equals - setting));
    text_printf(&text, ": %s", equals + 1);
  }
  text_append(&text, "}");
  char *written = text_take(&text, err);
  struct section *section = written ? config_section_from_text(dump_keys(), written, request->theirs.id, err) : NULL;
  free(written);
  return section;
}

/* ---- what it is ---- */

/* The last name of a path: of FILE.h5:/a/cos "cos", of a/cos.npy "cos.npy". */
static const char *last_name(const char *from) {
  const char *slash = strrchr(from, '/');
  return slash ? slash + 1 : from;
}

/* By name, by the rows before, by the only site that the rank leaves. N_DUMP_KINDS: it cannot be told. */
static enum dump_kind guess_kind(const char *from, bool has_in, size_t rank, unsigned sites) {
  static const struct {
    const char *part;
    enum dump_kind kind;
  } names[] = {{"inv_freq", DUMP_INV_FREQ}, {"cos_sin", DUMP_COS_SIN}, {"freqs_cis", DUMP_COS_SIN},
               {"cos", DUMP_COS},           {"sin", DUMP_SIN},         {"bias", DUMP_BIAS},
               {"emb", DUMP_EMBEDDING},     {"pos", DUMP_EMBEDDING}};
  if (has_in) {
    return DUMP_ROTATED;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool sine_of_sinusoid = !strcmp(names[i].part, "sin") && !(sites & PE_SITE_QK);
    if (strstr(last_name(from), names[i].part) && !sine_of_sinusoid) {
      return names[i].kind;
    }
  }
  if (rank == 1 && (sites & (PE_SITE_QK | PE_SITE_EMBED))) {
    return DUMP_INV_FREQ;
  }
  if (sites == PE_SITE_BIAS) {
    return DUMP_BIAS;
  }
  return sites == PE_SITE_EMBED && rank == 2 ? DUMP_EMBEDDING : N_DUMP_KINDS;
}

static bool is_repeated(const struct dump *dump, bool halves) {
  size_t n = dump->columns;
  for (size_t r = 0; r < dump->rows; r++) {
    const double *row = dump->data + r * n;
    for (size_t i = 0; i < n / 2; i++) {
      if (halves ? row[i] != row[i + n / 2] : row[2 * i] != row[2 * i + 1]) {
        return false;
      }
    }
  }
  return n % 2 == 0;
}

static void settle_form(struct dump *dump) {
  dump->form = FORM_PAIRS;
  if ((dump->kind == DUMP_COS || dump->kind == DUMP_SIN) && dump->columns > 1) {
    dump->form = is_repeated(dump, true) ? FORM_HALVES : is_repeated(dump, false) ? FORM_NEIGHBOURS : FORM_PAIRS;
  }
}

/* rank and lengths without leading ones, into heads, rows, columns. */
static int settle_shape(struct dump *dump, struct tensor_shape shape, const char *shown, struct error *err) {
  static const char *const meant[] = {[DUMP_INV_FREQ] = "[pairs]",
                                      [DUMP_COS] = "[T, pairs] or [T, 2 pairs]",
                                      [DUMP_SIN] = "[T, pairs] or [T, 2 pairs]",
                                      [DUMP_COS_SIN] = "[T, 2 pairs] or [T, pairs, 2]",
                                      [DUMP_EMBEDDING] = "[T, d_model]",
                                      [DUMP_ROTATED] = "[T, head_dim] or [heads, T, head_dim]",
                                      [DUMP_BIAS] = "[Tq, Tk] or [heads, Tq, Tk]"};
  bool three = dump->kind == DUMP_ROTATED || dump->kind == DUMP_BIAS || dump->kind == DUMP_COS_SIN;
  unsigned least = dump->kind == DUMP_INV_FREQ ? 1 : 2;
  while (shape.rank > least && shape.dim[0] == 1) {
    memmove(shape.dim, shape.dim + 1, (shape.rank - 1) * sizeof *shape.dim);
    shape.rank--;
  }
  bool complex = dump->kind == DUMP_COS_SIN && shape.rank == 3 && shape.dim[2] == 2;
  if (shape.rank != least && !(three && shape.rank == 3 && (dump->kind != DUMP_COS_SIN || complex))) {
    return error_set(err, ERROR_FILE_CONTENT, "%s has shape %s, and %s has shape %s", dump->from, shown,
                     dump_kind_names[dump->kind], meant[dump->kind]);
  }
  dump->heads = complex || shape.rank < 3 ? 1 : shape.dim[0];
  dump->rows = shape.rank == 1 ? 1 : shape.dim[complex ? 0 : shape.rank - 2];
  dump->columns = complex ? 2 * shape.dim[1] : shape.dim[shape.rank - 1];
  settle_form(dump);
  if (dump->kind == DUMP_COS_SIN) {
    dump->form = complex ? FORM_COMPLEX : FORM_CONCATENATED;
  }
  return 0;
}

static int read_in(const struct key_value *value, const struct tensor_shape *shape, const char *shown,
                   struct dump *dump, struct error *err) {
  struct tensor_shape there;
  char *from = NULL;
  int status = tensor_shape_of(value, &there, &from, err);
  if (!status && (there.rank != shape->rank || memcmp(there.dim, shape->dim, shape->rank * sizeof *shape->dim))) {
    char before[96];
    tensor_shape_text(&there, before, sizeof before);
    status =
        error_set(err, ERROR_FILE_CONTENT, "in: %s has shape %s, and %s has shape %s", from, before, dump->from, shown);
  }
  status = status ? status : tensor_floats(value, &there, &dump->in, err);
  free(from);
  return status;
}

static int read_tensor(const struct section *keys, struct dump *dump, unsigned sites, const char *name,
                       struct error *err) {
  char *copy = memory_copy_text(name, err);
  if (!copy) {
    return err->code;
  }
  struct key_value value = {.given = true, .text = copy};
  const struct key_value *what = section_get(keys, "what"), *in = section_get(keys, "in");
  struct tensor_shape shape;
  char shown[96] = "";
  int status = tensor_shape_of(&value, &shape, &dump->from, err);
  status = status ? status : tensor_doubles(&value, &shape, &dump->data, err);
  if (!status) {
    tensor_shape_text(&shape, shown, sizeof shown);
    dump->kind = what->given ? (enum dump_kind)what->integer : guess_kind(dump->from, in->given, shape.rank, sites);
  }
  if (!status && dump->kind == N_DUMP_KINDS) {
    status = error_set(err, ERROR_USAGE,
                       "%s has shape %s: what it is cannot be told from that; say what=inv_freq, cos, sin, cos_sin, "
                       "embedding, rotated or bias",
                       dump->from, shown);
  }
  status = status ? status : settle_shape(dump, shape, shown, err);
  if (!status && (dump->kind == DUMP_ROTATED) != in->given) {
    status = error_set(err, ERROR_USAGE,
                       in->given ? "in=... goes with rows that were turned (what=rotated)"
                                 : "%s holds rows that were turned: in=TENSOR says what they were before",
                       dump->from);
  }
  if (!status && in->given) {
    status = read_in(in, &shape, shown, dump, err);
  }
  free(copy);
  return status;
}

int dump_read(const struct compare_request *request, struct dump *dump, unsigned sites, struct error *err) {
  *dump = (struct dump){0};
  struct section *keys = read_keys(request, err);
  if (!keys) {
    return err->code;
  }
  dump->role = section_get(keys, "role")->integer ? PE_ROLE_KEY : PE_ROLE_QUERY;
  int status = read_tensor(keys, dump, sites, request->theirs.id, err);
  section_free(keys);
  return status;
}

/* ---- where its rows stand ---- */

static int count_from_zero(size_t count, size_t axes, struct positions *out, struct error *err) {
  double *values = memory_new_3d(count, axes, 1, sizeof *values, "positions", err);
  if (!values) {
    return err->code;
  }
  for (size_t i = 0; i < count * axes; i++) {
    values[i] = (double)(i / axes);
  }
  *out = (struct positions){count, axes, values};
  return 0;
}

int dump_place(const struct compare_request *request, struct dump *dump, size_t axes, struct error *err) {
  int status = request->positions ? positions_read("--positions", request->positions, axes, &dump->positions, err)
                                  : count_from_zero(dump->rows, axes, &dump->positions, err);
  if (!status && dump->kind == DUMP_INV_FREQ) {
    dump->positions.count = 1; /* of the length alone */
  } else if (!status && dump->positions.count != dump->rows) {
    status = error_set(err, ERROR_FILE_CONTENT, "%s has %zu rows, and --positions %s has shape [%zu]", dump->from,
                       dump->rows, request->positions, dump->positions.count);
  }
  if (!status && dump->kind == DUMP_BIAS) {
    status = count_from_zero(dump->columns, axes, &dump->keys, err);
  }
  double length = status ? 0 : fmax(positions_length(&dump->positions), positions_length(&dump->keys));
  dump->seq_len = request->seq_len >= 0 ? request->seq_len : length;
  return status;
}

void dump_free(struct dump *dump) {
  free(dump->from);
  free(dump->data);
  free(dump->in);
  free(dump->positions.values);
  free(dump->keys.values);
  *dump = (struct dump){0};
}

/* ---- a part of it ---- */

enum { PROBE_ROWS = 3 };

/* rows[0..count) of the smallest positions but 0. Positions far beyond the smallest are left out: angles that have gone
 * round many times fit many frequencies. */
static size_t slow_rows(const struct dump *dump, size_t rows[PROBE_ROWS]) {
  size_t count = 0;
  double first = 0, last = 0;
  while (count < PROBE_ROWS) {
    size_t found = dump->rows;
    for (size_t r = 0; r < dump->rows; r++) {
      double at = fabs(dump->positions.values[r * dump->positions.axes]);
      bool smaller = found == dump->rows || at < fabs(dump->positions.values[found * dump->positions.axes]);
      found = at > last && smaller ? r : found;
    }
    if (found == dump->rows) {
      break;
    }
    last = fabs(dump->positions.values[found * dump->positions.axes]);
    first = count ? first : last;
    if (last > 4 * first) {
      break;
    }
    rows[count++] = found;
  }
  return count;
}

int dump_probe(const struct dump *dump, struct dump *probe, struct error *err) {
  size_t rows[PROBE_ROWS] = {0}, axes = dump->positions.axes, columns = dump->columns;
  size_t count = dump->kind == DUMP_INV_FREQ ? 1 : slow_rows(dump, rows);
  *probe = (struct dump){.kind = dump->kind,
                         .form = dump->form,
                         .heads = 1,
                         .rows = count,
                         .columns = columns,
                         .role = dump->role,
                         .seq_len = dump->seq_len};
  probe->data = memory_new(count * columns, sizeof *probe->data, "rows", err);
  probe->positions = (struct positions){count, axes, memory_new(count * axes, sizeof(double), "positions", err)};
  probe->in = dump->in ? memory_new(count * columns, sizeof *probe->in, "rows", err) : NULL;
  if (!probe->data || !probe->positions.values || (dump->in && !probe->in)) {
    dump_free(probe);
    return err->code;
  }
  for (size_t i = 0; i < count; i++) {
    memcpy(probe->data + i * columns, dump->data + rows[i] * columns, columns * sizeof *probe->data);
    memcpy(probe->positions.values + i * axes, dump->positions.values + rows[i] * axes, axes * sizeof(double));
    if (dump->in) {
      memcpy(probe->in + i * columns, dump->in + rows[i] * columns, columns * sizeof *probe->in);
    }
  }
  return 0;
}
