#include "commands/vectors.h"

#include "base/memory.h"
#include "base/rng.h"
#include "commands/output_file.h"
#include "commands/positions.h"
#include "experiments/angles.h"
#include "results/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything of one run, released at once. */
struct work {
  const struct vectors_request *request;
  struct scheme_choice choice;
  struct instance *instance;
  struct positions positions;
  double seq_len;
  size_t d_model;
  struct angles angles;
  bool has_angles;
  struct tensors_item *items;
  size_t n_items, capacity;
  struct attributes attributes;
};

static void work_free(struct work *work) {
  for (size_t i = 0; i < work->n_items; i++) {
    free((void *)(uintptr_t)work->items[i].name);
    free((void *)(uintptr_t)work->items[i].data);
    for (unsigned axis = 0; axis < work->items[i].rank; axis++) {
      free((void *)(uintptr_t)work->items[i].axis[axis].name);
    }
  }
  free(work->items);
  attributes_free(&work->attributes);
  angles_free(&work->angles);
  free(work->positions.values);
  instance_free(work->instance);
  scheme_choice_free(&work->choice);
}

/* ---- the list ---- */

struct item_spec {
  const char *group, *name; /* group: "" or "/derived" */
  const char *doc;
  unsigned rank;
  size_t dim[RECORD_MAX_RANK];
  const char *axis[RECORD_MAX_RANK]; /* NULL: NAME_0, NAME_1, ... */
};

static char *joined(const char *a, const char *b, const char *c, struct error *err) {
  size_t length = strlen(a) + strlen(b) + strlen(c) + 1;
  char *text = memory_new(length, 1, "name", err);
  if (text) {
    snprintf(text, length, "%s%s%s", a, b, c);
  }
  return text;
}

/* Axes along the rows are labelled with the positions, where each has one coordinate. */
static const double *axis_values(const struct work *work, const char *axis) {
  bool along = !strcmp(axis, "position") || !strcmp(axis, "query") || !strcmp(axis, "key");
  return along && work->positions.axes == 1 ? work->positions.values : NULL;
}

/* A new tensor, its numbers zero, for the caller to fill. NULL without memory. */
static double *add_item(struct work *work, const struct item_spec *spec, struct error *err) {
  struct tensors_item *grown =
      memory_grow(work->items, &work->capacity, work->n_items + 1, sizeof *work->items, "tensors", err);
  if (!grown) {
    return NULL;
  }
  work->items = grown;
  struct tensors_item *item = &grown[work->n_items++];
  size_t count = 1;
  *item = (struct tensors_item){.element = ELEMENT_F64, .rank = spec->rank, .doc = spec->doc};
  item->name = joined(spec->group, "/", spec->name, err);
  bool whole = item->name != NULL;
  for (unsigned axis = 0; axis < spec->rank; axis++) {
    char suffix[16];
    snprintf(suffix, sizeof suffix, "_%u", axis);
    bool own = !spec->axis[axis];
    item->dim[axis] = spec->dim[axis];
    item->axis[axis].name = joined(own ? spec->name : spec->axis[axis], own ? suffix : "", "", err);
    item->axis[axis].values = own ? NULL : axis_values(work, spec->axis[axis]);
    whole = whole && item->axis[axis].name;
    count *= spec->dim[axis];
  }
  double *data = whole ? memory_new(count, sizeof *data, spec->name, err) : NULL;
  item->data = data;
  return data;
}

static int add_floats(struct work *work, const struct item_spec *spec, const float *values, struct error *err) {
  double *data = add_item(work, spec, err);
  size_t count = data ? 1 : 0;
  for (unsigned axis = 0; axis < spec->rank; axis++) {
    count *= spec->dim[axis];
  }
  for (size_t i = 0; i < count; i++) {
    data[i] = values[i];
  }
  return data ? 0 : (int)err->code;
}

/* ---- what the scheme says ---- */

static int add_derived(struct work *work, struct error *err) {
  size_t count = instance_derived_count(work->instance, work->seq_len);
  for (size_t which = 0; which < count; which++) {
    pe_derived value;
    double *numbers;
    int status = instance_derived(work->instance, work->seq_len, which, &value, &numbers, err);
    if (status) {
      return status;
    }
    struct item_spec spec = {.group = "/derived",
                             .name = value.name,
                             .doc = value.doc,
                             .rank = value.rank,
                             .dim = {value.dim[0], value.rank == 2 ? value.dim[1] : 1}};
    double *data = add_item(work, &spec, err);
    if (data) {
      memcpy(data, numbers, spec.dim[0] * spec.dim[1] * sizeof *data);
    }
    free(numbers);
    if (!data) {
      return err->code;
    }
  }
  return 0;
}

static int add_tensors(struct work *work, struct error *err) {
  const struct scheme_info *info = &work->choice.scheme->info;
  int status = 0;
  for (size_t i = 0; !status && i < info->n_tensors; i++) {
    pe_dims shape;
    const float *values = instance_tensor(work->instance, i, &shape);
    if (values) {
      struct item_spec spec = {
          .group = "/tensors", .name = info->tensors[i].name, .doc = info->tensors[i].doc, .rank = shape.rank};
      memcpy(spec.dim, shape.dim, sizeof shape.dim);
      status = add_floats(work, &spec, values, err);
    }
  }
  return status;
}

static int add_positions(struct work *work, struct error *err) {
  const struct positions *p = &work->positions;
  struct item_spec spec = {.group = "",
                           .name = "in_positions",
                           .doc = "positions of the rows; of biases and scores: of queries and keys",
                           .rank = p->axes > 1 ? 2 : 1,
                           .dim = {p->count, p->axes},
                           .axis = {"position", "coordinate"}};
  double *data = add_item(work, &spec, err);
  if (data) {
    memcpy(data, p->values, p->count * p->axes * sizeof *data);
  }
  return data ? 0 : (int)err->code;
}

/* ---- angles ---- */

/* Redone values must be the plugin's up to float32; else the two do not mean the same, and nothing is handed out. */
static int check_redone(const struct work *work, const double *redone, const float *plugin, size_t count,
                        struct error *err) {
  double size = 0, off = 0;
  for (size_t i = 0; i < count; i++) {
    size = fmax(size, fabs(redone[i]));
    off = fmax(off, fabs(redone[i] - plugin[i]));
  }
  if (off > 1e-6 * fmax(size, 1)) {
    return error_set(err, ERROR_SCHEME_FAILED,
                     "%s: its rows are not what its inv_freq, pairs and attention_factor give: "
                     "up to %.3g off",
                     work->choice.scheme->info.id, off);
  }
  return 0;
}

static int add_tables(struct work *work, struct error *err) {
  static const struct angle_rounding none = {{FORMAT_FLOAT64}};
  if (!work->has_angles) {
    return 0;
  }
  size_t n = work->positions.count, pairs = work->angles.n_pairs;
  struct item_spec cosine = {.group = "",
                             .name = "out_cos",
                             .doc = "cosines of position x inv_freq, times the attention factor; float64",
                             .rank = 2,
                             .dim = {n, pairs},
                             .axis = {"position", "pair"}};
  struct item_spec sine = cosine;
  sine.name = "out_sin";
  sine.doc = "sines, the same";
  double *c = add_item(work, &cosine, err);
  double *s = c ? add_item(work, &sine, err) : NULL;
  for (size_t r = 0; s && r < n; r++) {
    angles_table(&work->angles, &none, work->positions.values + r * work->positions.axes, c + r * pairs, s + r * pairs);
  }
  return s ? 0 : (int)err->code;
}

/* ---- rows ---- */

static int add_embedding(struct work *work, struct error *err) {
  static const struct angle_rounding none = {{FORMAT_FLOAT64}};
  size_t n = work->positions.count, d = work->d_model;
  bool redo = work->has_angles && instance_sites(work->instance) == PE_SITE_EMBED && angles_fit(&work->angles, d);
  float *plugin = memory_new(n * d, sizeof *plugin, "embedding", err);
  double *table = plugin && redo ? memory_new(2 * work->angles.n_pairs, sizeof *table, "table", err) : NULL;
  int status = plugin && (table || !redo)
                   ? instance_embed(work->instance, n, work->positions.values, NULL, work->seq_len, plugin, d, err)
                   : (int)err->code;
  struct item_spec spec = {.group = "",
                           .name = "out_embedding",
                           .doc = redo ? "what is added to the input; float64" : "what is added to the input; float32",
                           .rank = 2,
                           .dim = {n, d},
                           .axis = {"position", "model_channel"}};
  if (!status && !redo) {
    status = add_floats(work, &spec, plugin, err);
  } else if (!status) {
    double *data = add_item(work, &spec, err);
    for (size_t r = 0; data && r < n; r++) {
      angles_table(&work->angles, &none, work->positions.values + r * work->positions.axes, table,
                   table + work->angles.n_pairs);
      angles_sinusoid(&work->angles, &none, table, table + work->angles.n_pairs, d, data + r * d);
    }
    status = data ? check_redone(work, data, plugin, n * d, err) : (int)err->code;
  }
  free(table);
  free(plugin);
  return status;
}

/* Multiples of 1/1024 in [-2, 2]: exact in float32 and float64. */
static float *make_rows(const struct work *work, const char *name, struct error *err) {
  size_t count = (size_t)work->request->heads * work->positions.count * work->request->head_dim;
  float *rows = memory_new(count, sizeof *rows, name, err);
  struct rng rng = rng_stream(work->request->seed, name);
  for (size_t i = 0; rows && i < count; i++) {
    rows[i] = (float)((double)rng_below(&rng, i, 4097) / 1024 - 2);
  }
  return rows;
}

static void redo_rows(const struct work *work, const float *in, double *cosine, double *out) {
  static const struct angle_rounding none = {{FORMAT_FLOAT64}};
  size_t n = work->positions.count, d = work->request->head_dim, pairs = work->angles.n_pairs;
  for (size_t r = 0; r < n; r++) {
    angles_table(&work->angles, &none, work->positions.values + r * work->positions.axes, cosine, cosine + pairs);
    for (size_t h = 0; h < work->request->heads; h++) {
      angles_turn(&work->angles, &none, cosine, cosine + pairs, d, in + (h * n + r) * d, out + (h * n + r) * d);
    }
  }
}

/* out [heads][T][width]: rows of one role turned, in float64 where they can be redone. */
static int turn(struct work *work, int role, const float *in, double *out, bool *redone, struct error *err) {
  size_t heads = work->request->heads, n = work->positions.count, width = instance_qk_width(work->instance);
  float *plugin = memory_new_3d(heads, n, width, sizeof *plugin, "rows", err);
  if (!plugin) {
    return err->code;
  }
  int status = instance_rotate(work->instance, role, 0, 0, (unsigned)heads, n, work->positions.values, NULL,
                               work->seq_len, in, plugin, err);
  *redone = work->has_angles && width == work->request->head_dim && angles_are_all(work->instance, work->seq_len) &&
            angles_fit(&work->angles, width);
  double *cosine = !status && *redone ? memory_new(2 * work->angles.n_pairs, sizeof *cosine, "table", err) : NULL;
  if (!status && *redone) {
    status = cosine ? 0 : (int)err->code;
    if (cosine) {
      redo_rows(work, in, cosine, out);
      status = check_redone(work, out, plugin, heads * n * width, err);
    }
  } else {
    for (size_t i = 0; !status && i < heads * n * width; i++) {
      out[i] = plugin[i];
    }
  }
  free(cosine);
  free(plugin);
  return status;
}

/* in_NAME and out_NAME of a role; *turned is the latter. */
static int add_rows(struct work *work, int role, const char *in_name, const char *out_name, const double **turned,
                    struct error *err) {
  size_t heads = work->request->heads, n = work->positions.count;
  float *rows = make_rows(work, in_name, err);
  struct item_spec in = {.group = "",
                         .name = in_name,
                         .doc = "rows before; multiples of 1/1024 in [-2, 2]",
                         .rank = 3,
                         .dim = {heads, n, work->request->head_dim},
                         .axis = {"head", "position", "channel"}};
  struct item_spec out = in;
  out.name = out_name;
  out.doc = "rows at their positions";
  out.dim[2] = instance_qk_width(work->instance);
  out.axis[2] = out.dim[2] == in.dim[2] ? "channel" : NULL;
  int status = rows ? add_floats(work, &in, rows, err) : (int)err->code;
  double *data = status ? NULL : add_item(work, &out, err);
  bool redone = false;
  status = status ? status : data ? turn(work, role, rows, data, &redone, err) : (int)err->code;
  if (!status) {
    work->items[work->n_items - 1].doc =
        redone ? "rows at their positions; float64" : "rows at their positions; float32";
  }
  *turned = data;
  free(rows);
  return status;
}

/* ---- scores ---- */

static int add_bias(struct work *work, const double **bias, struct error *err) {
  size_t heads = work->request->heads, n = work->positions.count;
  float *values = memory_new_3d(heads, n, n, sizeof *values, "biases", err);
  int status = values ? 0 : (int)err->code;
  for (unsigned h = 0; !status && h < heads; h++) {
    struct bias_tile tile = {.head = h,
                             .seq_len = work->seq_len,
                             .nq = n,
                             .nk = n,
                             .mapped_q = work->positions.values,
                             .mapped_k = work->positions.values,
                             .s = values + h * n * n,
                             .s_stride = n};
    status = instance_bias(work->instance, &tile, err);
  }
  struct item_spec spec = {.group = "",
                           .name = "out_bias",
                           .doc = "bias of each score; float32",
                           .rank = 3,
                           .dim = {heads, n, n},
                           .axis = {"head", "query", "key"}};
  status = status ? status : add_floats(work, &spec, values, err);
  *bias = status ? NULL : work->items[work->n_items - 1].data;
  free(values);
  return status;
}

/* scale q.k + bias over all pairs, keys ahead included. */
static int add_scores(struct work *work, const double *q, const double *k, const double *bias, struct error *err) {
  size_t heads = work->request->heads, n = work->positions.count, d = instance_qk_width(work->instance);
  struct item_spec spec = {.group = "",
                           .name = "out_scores",
                           .doc = "score_scale x q.k + bias, of every query and key, without a mask",
                           .rank = 3,
                           .dim = {heads, n, n},
                           .axis = {"head", "query", "key"}};
  double *scores = add_item(work, &spec, err);
  double scale = instance_score_scale(work->instance, 1 / sqrt(work->request->head_dim));
  for (size_t i = 0; scores && i < heads * n * n; i++) {
    size_t head = i / (n * n), row = i / n % n, column = i % n;
    double sum = 0;
    for (size_t c = 0; c < d; c++) {
      sum += q[(head * n + row) * d + c] * k[(head * n + column) * d + c];
    }
    scores[i] = scale * sum + (bias ? bias[i] : 0);
  }
  return scores ? attributes_set_real(&work->attributes, "score_scale", scale, err) : (int)err->code;
}

/* ---- all of it ---- */

/* Scores are a matrix over positions. What would take more than half of the machine's memory is refused before any of
 * it is used: the system would end the process only when all of it is. */
static int check_size(const struct work *work, struct error *err) {
  double n = (double)work->positions.count, heads = work->request->heads, head_dim = work->request->head_dim;
  bool scores = (instance_sites(work->instance) & (PE_SITE_QK | PE_SITE_BIAS)) != 0;
  double numbers = n * (double)work->d_model + (scores ? heads * n * (2 * n + 4 * head_dim) : 0);
  double bytes = numbers * sizeof(double);
  double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  return bytes <= machine / 2 ? 0
                              : error_set(err, ERROR_USAGE,
                                          "--positions: vectors of %zu positions and %u heads are about %.2g GB, more "
                                          "than half of this machine's memory; far positions are told by few, such as "
                                          "1000000:1000016",
                                          work->positions.count, work->request->heads, bytes / 1e9);
}

static int open_work(struct session *session, struct work *work, struct error *err) {
  const struct vectors_request *request = work->request;
  int status = scheme_choose(session, &request->scheme, &work->choice, err);
  if (status) {
    return status;
  }
  pe_shape shape = {.n_layers = 1,
                    .n_heads = request->heads,
                    .n_kv_heads = request->heads,
                    .d_model = (uint32_t)work->d_model,
                    .head_dim = request->head_dim,
                    .train_len = request->train_length};
  work->instance = scheme_instance(&work->choice, &shape, request->seed, err);
  if (!work->instance) {
    return err->code;
  }
  if (instance_traits(work->instance) & PE_TRAIT_CONTENT) {
    return error_set(err, ERROR_USAGE, "the bias of %s depends on what the rows say: no vectors can stand for it",
                     request->scheme.id);
  }
  status = positions_read("--positions", request->positions, instance_domain(work->instance).pos_axes, &work->positions,
                          err);
  if (status) {
    return status;
  }
  work->seq_len = request->seq_len >= 0 ? request->seq_len : positions_length(&work->positions);
  status = check_size(work, err);
  return status ? status : angles_of(work->instance, work->seq_len, &work->angles, &work->has_angles, err);
}

static int set_attributes(struct work *work, struct error *err) {
  const struct scheme_info *info = &work->choice.scheme->info;
  struct attributes *attributes = &work->attributes;
  char *parameters = scheme_parameters(&work->choice, err);
  int status = parameters ? 0 : (int)err->code;
  status = status ? status : attributes_set_text(attributes, "scheme", info->id, err);
  status = status ? status : attributes_set_text(attributes, "title", info->title, err);
  status = status ? status : attributes_set_text(attributes, "reference", info->reference, err);
  status = status ? status : attributes_set_int(attributes, "scheme_version", info->version, err);
  status = status ? status : attributes_set_text(attributes, "parameters", parameters, err);
  status = status ? status : attributes_set_int(attributes, "heads", work->request->heads, err);
  status = status ? status : attributes_set_int(attributes, "head_dim", work->request->head_dim, err);
  status = status ? status : attributes_set_int(attributes, "d_model", (int64_t)work->d_model, err);
  status = status ? status : attributes_set_real(attributes, "seq_len", work->seq_len, err);
  free(parameters);
  return status;
}

static int fill(struct work *work, struct error *err) {
  unsigned sites = instance_sites(work->instance);
  const double *q = NULL, *k = NULL, *bias = NULL;
  int status = set_attributes(work, err);
  status = status ? status : add_positions(work, err);
  status = status ? status : add_derived(work, err);
  status = status ? status : add_tensors(work, err);
  status = status ? status : add_tables(work, err);
  if (!status && (sites & PE_SITE_EMBED)) {
    status = add_embedding(work, err);
  }
  if (!status && (sites & (PE_SITE_QK | PE_SITE_BIAS))) {
    status = add_rows(work, PE_ROLE_QUERY, "in_q", "out_q", &q, err);
    status = status ? status : add_rows(work, PE_ROLE_KEY, "in_k", "out_k", &k, err);
    if (!status && (sites & PE_SITE_BIAS)) {
      status = add_bias(work, &bias, err);
    }
    status = status ? status : add_scores(work, q, k, bias, err);
  }
  return status;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), least = strlen(end);
  return length > least && !strcmp(text + length - least, end);
}

static int write_out(const struct work *work, struct error *err) {
  struct tensors tensors = {work->items, work->n_items, &work->attributes};
  if (!ends_with(work->request->out, ".json")) {
    return tensors_write_hdf5(work->request->out, &tensors, err);
  }
  char *json = vectors_json(&tensors, err);
  int status = json ? results_put(work->request->out, json, strlen(json), err) : (int)err->code;
  free(json);
  return status;
}

int vectors(struct session *session, const struct vectors_request *request, struct error *err) {
  if (!ends_with(request->out, ".json") && !ends_with(request->out, ".h5") && !ends_with(request->out, ".hdf5")) {
    return error_set(err, ERROR_USAGE, "--out: %s is neither FILE.h5 nor FILE.json", request->out);
  }
  struct work work = {.request = request};
  work.d_model = request->d_model ? request->d_model : (size_t)request->heads * request->head_dim;
  enum replace_kind kind = ends_with(request->out, ".json") ? REPLACE_VECTORS : REPLACE_TENSORS;
  int status = output_file_check(request->out, kind, &request->positions, 1, &request->scheme, err);
  status = status ? status : open_work(session, &work, err);
  status = status ? status : fill(&work, err);
  status = status ? status : write_out(&work, err);
  work_free(&work);
  return status;
}
