#include "commands/apply.h"

#include "base/memory.h"
#include "base/record.h"
#include "commands/output_file.h"
#include "commands/positions.h"
#include "input/tensor_file.h"
#include "results/results.h"
#include "results/tensors.h"

#include <stdlib.h>
#include <string.h>

/* Everything of one call, released at once. */
struct work {
  struct scheme_choice choice;
  struct instance *instance;
  struct tensor_shape shape; /* of the input */
  char *from;                /* its name */
  float *in, *out;
  struct positions rows, queries, keys;
  double seq_len;
  struct tensors_item result;
  char *file, *dataset; /* where it goes; dataset NULL: .npy */
  char *parameters;
  struct tensors_item *items; /* the result first, then derived values */
  char (*names)[128];
  size_t n_items;
  struct attributes attributes;
};

static void work_free(struct work *work) {
  for (size_t i = 1; i < work->n_items; i++) {
    free((void *)(uintptr_t)work->items[i].data);
  }
  free(work->items);
  free(work->names);
  free(work->parameters);
  free(work->file);
  free(work->dataset);
  free(work->rows.values);
  free(work->queries.values);
  free(work->keys.values);
  free(work->in);
  free(work->out);
  free(work->from);
  attributes_free(&work->attributes);
  instance_free(work->instance);
  scheme_choice_free(&work->choice);
}

/* ---- where it goes ---- */

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), least = strlen(end);
  return length > least && !strcmp(text + length - least, end);
}

static int open_output(const struct apply_request *request, struct work *work, struct error *err) {
  int status = tensor_split_name(request->out, &work->file, &work->dataset, err);
  if (status) {
    return status;
  }
  bool npy = ends_with(work->file, ".npy");
  if (npy && work->dataset) {
    return error_set(err, ERROR_USAGE, "--out: %s: a .npy file holds one tensor and no name for it", request->out);
  }
  if (!npy && !work->dataset && !ends_with(work->file, ".h5") && !ends_with(work->file, ".hdf5")) {
    return error_set(err, ERROR_USAGE, "--out: %s is neither FILE.h5, FILE.h5:/dataset nor FILE.npy", request->out);
  }
  if (npy && request->derived) {
    return error_set(err, ERROR_USAGE, "--derived: a .npy file holds one tensor: give --out FILE.h5");
  }
  if (!npy && !work->dataset) {
    work->dataset = memory_copy_text("/result", err);
    if (!work->dataset) {
      return err->code;
    }
  }
  if (work->dataset && (ends_with(work->dataset, "/") || strlen(work->dataset) < 2)) {
    return error_set(err, ERROR_USAGE, "--out: %s names no dataset", request->out);
  }
  const char *const inputs[] = {request->in, request->positions, request->queries, request->keys};
  return output_file_check(work->file, npy ? REPLACE_NPY : REPLACE_TENSORS, inputs, sizeof inputs / sizeof *inputs,
                           &request->scheme, err);
}

/* ---- what comes in ---- */

/* d_model of [T, d_model]; heads and width of [T, head_dim] or [heads, T, head_dim]. */
struct extent {
  size_t heads, rows, width;
};

static int read_input_shape(const struct apply_request *request, struct work *work, struct extent *extent,
                            struct error *err) {
  char *name = memory_copy_text(request->in, err);
  if (!name) {
    return err->code;
  }
  struct key_value value = {.given = true, .text = name};
  int status = tensor_shape_of(&value, &work->shape, &work->from, err);
  bool qk = request->site == PE_SITE_QK;
  const struct tensor_shape *shape = &work->shape;
  if (!status && shape->rank != 2 && !(qk && shape->rank == 3)) {
    char there[96];
    tensor_shape_text(shape, there, sizeof there);
    status = error_set(err, ERROR_FILE_CONTENT, "--in: %s has shape %s, and --site %s takes %s", work->from, there,
                       qk ? "qk" : "embed", qk ? "[T, head_dim] or [heads, T, head_dim]" : "[T, d_model]");
  }
  if (!status) {
    bool heads = shape->rank == 3;
    *extent = (struct extent){heads ? shape->dim[0] : 1, shape->dim[heads], shape->dim[heads + 1]};
    if (extent->width > UINT32_MAX || extent->heads > 65536) {
      status = error_set(err, ERROR_FILE_CONTENT, "--in: %s: %zu heads of width %zu are more than a scheme can take",
                         work->from, extent->heads, extent->width);
    }
  }
  status = status ? status : tensor_floats(&value, shape, &work->in, err);
  free(name);
  return status;
}

static int match_positions(const struct apply_request *request, struct work *work, const struct extent *extent,
                           struct error *err) {
  if (work->rows.count == extent->rows) {
    return 0;
  }
  char there[96];
  tensor_shape_text(&work->shape, there, sizeof there);
  return error_set(err, ERROR_FILE_CONTENT, "--in %s has shape %s, T = %zu rows, and --positions %s has shape [%zu]",
                   work->from, there, extent->rows, request->positions, work->rows.count);
}

/* ---- the call ---- */

static int make_instance(const struct apply_request *request, struct work *work, const pe_shape *shape,
                         struct error *err) {
  work->instance = scheme_instance(&work->choice, shape, request->seed, err);
  return work->instance ? 0 : (int)err->code;
}

static int has_site(const struct apply_request *request, const struct work *work, struct error *err) {
  static const char *const words[] = {[PE_SITE_EMBED] = "embed", [PE_SITE_QK] = "qk", [PE_SITE_BIAS] = "bias"};
  unsigned sites = instance_sites(work->instance);
  if (sites & (unsigned)request->site) {
    return 0;
  }
  return error_set(err, ERROR_USAGE, "--site %s: %s does not act there, but at %s%s%s%s%s", words[request->site],
                   request->scheme.id, sites & PE_SITE_EMBED ? "embed" : "",
                   (sites & PE_SITE_EMBED) && (sites & ~(unsigned)PE_SITE_EMBED) ? ", " : "",
                   sites & PE_SITE_QK ? "qk" : "", (sites & PE_SITE_QK) && (sites & PE_SITE_BIAS) ? ", " : "",
                   sites & PE_SITE_BIAS ? "bias"
                   : sites              ? ""
                                        : "no site");
}

static size_t axes_of(const struct work *work) {
  return instance_domain(work->instance).pos_axes;
}

/* Axis of rows: labelled with the positions where each has one coordinate. */
static struct tensors_axis position_axis(const char *name, const struct positions *positions) {
  return (struct tensors_axis){name, positions->axes == 1 ? positions->values : NULL};
}

static int apply_embed(const struct apply_request *request, struct work *work, struct error *err) {
  struct extent extent;
  int status = read_input_shape(request, work, &extent, err);
  if (status) {
    return status;
  }
  pe_shape shape = {.n_layers = 1,
                    .n_heads = 1,
                    .n_kv_heads = 1,
                    .d_model = (uint32_t)extent.width,
                    .train_len = request->train_length};
  status = make_instance(request, work, &shape, err);
  status = status ? status : has_site(request, work, err);
  status = status ? status : positions_read("--positions", request->positions, axes_of(work), &work->rows, err);
  status = status ? status : match_positions(request, work, &extent, err);
  if (status) {
    return status;
  }
  work->seq_len = request->seq_len >= 0 ? request->seq_len : positions_length(&work->rows);
  /* Added in place: nothing is written to the file where it fails. */
  work->out = work->in;
  work->in = NULL;
  work->result = (struct tensors_item){.rank = 2,
                                       .dim = {extent.rows, extent.width},
                                       .axis = {position_axis("position", &work->rows), {.name = "channel"}},
                                       .doc = "input with the encoding added"};
  return instance_embed(work->instance, extent.rows, work->rows.values, NULL, work->seq_len, work->out, extent.width,
                        err);
}

static int apply_qk(const struct apply_request *request, struct work *work, struct error *err) {
  struct extent extent;
  int status = read_input_shape(request, work, &extent, err);
  if (status) {
    return status;
  }
  pe_shape shape = {.n_layers = request->layer + 1,
                    .n_heads = (uint32_t)extent.heads,
                    .n_kv_heads = (uint32_t)extent.heads,
                    .d_model = 0,
                    .head_dim = (uint32_t)extent.width,
                    .train_len = request->train_length};
  status = make_instance(request, work, &shape, err);
  status = status ? status : has_site(request, work, err);
  status = status ? status : positions_read("--positions", request->positions, axes_of(work), &work->rows, err);
  status = status ? status : match_positions(request, work, &extent, err);
  if (status) {
    return status;
  }
  size_t width = instance_qk_width(work->instance);
  work->seq_len = request->seq_len >= 0 ? request->seq_len : positions_length(&work->rows);
  work->out = memory_new_3d(extent.heads, extent.rows, width, sizeof *work->out, "rows", err);
  if (!work->out) {
    return err->code;
  }
  bool heads = work->shape.rank == 3;
  struct tensors_axis position = position_axis("position", &work->rows), channel = {.name = "channel"};
  work->result = (struct tensors_item){.rank = heads ? 3 : 2,
                                       .doc = request->role == PE_ROLE_KEY ? "keys at their positions"
                                                                           : "queries at their positions"};
  memcpy(work->result.dim, heads ? (size_t[]){extent.heads, extent.rows, width} : (size_t[]){extent.rows, width, 1},
         3 * sizeof(size_t));
  work->result.axis[0] = heads ? (struct tensors_axis){.name = "head"} : position;
  work->result.axis[1] = heads ? position : channel;
  work->result.axis[2] = channel;
  int role = request->role == PE_ROLE_KEY ? PE_ROLE_KEY : PE_ROLE_QUERY;
  status = instance_rotate(work->instance, role, request->layer, 0, (unsigned)extent.heads, extent.rows,
                           work->rows.values, NULL, work->seq_len, work->in, work->out, err);
  free(work->in); /* writing takes memory, too */
  work->in = NULL;
  return status;
}

static int apply_bias(const struct apply_request *request, struct work *work, struct error *err) {
  /* No formula of a bias asks for widths; where tensors are seeded, they are those of a head of 64. */
  pe_shape shape = {.n_layers = request->layer + 1,
                    .n_heads = request->heads,
                    .n_kv_heads = request->heads,
                    .d_model = request->heads * 64,
                    .head_dim = 64,
                    .train_len = request->train_length};
  int status = make_instance(request, work, &shape, err);
  status = status ? status : has_site(request, work, err);
  if (!status && (instance_traits(work->instance) & PE_TRAIT_CONTENT)) {
    status = error_set(err, ERROR_USAGE,
                       "--site bias: the bias of %s depends on what the rows say, not on positions "
                       "alone",
                       request->scheme.id);
  }
  status = status ? status : positions_read("--queries", request->queries, axes_of(work), &work->queries, err);
  status = status ? status : positions_read("--keys", request->keys, axes_of(work), &work->keys, err);
  if (status) {
    return status;
  }
  double longest = positions_length(&work->queries), other = positions_length(&work->keys);
  work->seq_len = request->seq_len >= 0 ? request->seq_len : longest > other ? longest : other;
  size_t nq = work->queries.count, nk = work->keys.count;
  work->out = memory_new_3d(request->heads, nq, nk, sizeof *work->out, "biases", err);
  if (!work->out) {
    return err->code;
  }
  for (unsigned head = 0; !status && head < request->heads; head++) {
    struct bias_tile tile = {.layer = request->layer,
                             .head = head,
                             .seq_len = work->seq_len,
                             .nq = nq,
                             .nk = nk,
                             .mapped_q = work->queries.values,
                             .mapped_k = work->keys.values,
                             .s = work->out + head * nq * nk,
                             .s_stride = nk};
    status = instance_bias(work->instance, &tile, err);
  }
  work->result = (struct tensors_item){
      .rank = 3,
      .dim = {request->heads, nq, nk},
      .axis = {{.name = "head"}, position_axis("query", &work->queries), position_axis("key", &work->keys)},
      .doc = "bias of each score"};
  return status;
}

/* ---- what goes out ---- */

static int add_derived(struct work *work, size_t which, struct error *err) {
  pe_derived value;
  double *data;
  int status = instance_derived(work->instance, work->seq_len, which, &value, &data, err);
  if (status) {
    return status;
  }
  struct tensors_item *item = &work->items[work->n_items];
  char(*names)[128] = &work->names[3 * which];
  snprintf(names[0], sizeof *names, "/derived/%s", value.name);
  snprintf(names[1], sizeof *names, "%.100s_index", value.name);
  snprintf(names[2], sizeof *names, "%.100s_column", value.name);
  *item = (struct tensors_item){.name = names[0],
                                .element = ELEMENT_F64,
                                .rank = value.rank,
                                .dim = {value.dim[0], value.dim[1]},
                                .axis = {{.name = names[1]}, {.name = names[2]}},
                                .data = data,
                                .doc = value.doc};
  work->n_items++;
  return 0;
}

static int set_attributes(const struct apply_request *request, struct work *work, struct error *err) {
  static const char *const words[] = {[PE_SITE_EMBED] = "embed", [PE_SITE_QK] = "qk", [PE_SITE_BIAS] = "bias"};
  const struct scheme_info *info = &work->choice.scheme->info;
  struct attributes *attributes = &work->attributes;
  work->parameters = scheme_parameters(&work->choice, err);
  int status = work->parameters ? 0 : (int)err->code;
  status = status ? status : attributes_set_text(attributes, "scheme", info->id, err);
  status = status ? status : attributes_set_int(attributes, "scheme_version", info->version, err);
  status = status ? status : attributes_set_text(attributes, "parameters", work->parameters, err);
  status = status ? status : attributes_set_text(attributes, "site", words[request->site], err);
  if (!status && request->site == PE_SITE_QK) {
    status = attributes_set_text(attributes, "role", request->role == PE_ROLE_KEY ? "key" : "query", err);
  }
  return status ? status : attributes_set_real(attributes, "seq_len", work->seq_len, err);
}

static int write_hdf5(const struct apply_request *request, struct work *work, struct error *err) {
  size_t n_derived = request->derived ? instance_derived_count(work->instance, work->seq_len) : 0;
  work->items = memory_new(n_derived + 1, sizeof *work->items, "derived values", err);
  work->names = work->items ? memory_new(3 * n_derived, sizeof *work->names, "derived values", err) : NULL;
  if (!work->names) {
    return err->code;
  }
  work->items[0] = work->result;
  work->n_items = 1;
  int status = 0;
  for (size_t which = 0; !status && which < n_derived; which++) {
    status = add_derived(work, which, err);
  }
  status = status ? status : set_attributes(request, work, err);
  struct tensors tensors = {work->items, work->n_items, &work->attributes};
  return status ? status : tensors_write_hdf5(work->file, &tensors, err);
}

/* A dataset cannot have the name of one of its axes, which stand beside it. */
static int check_name(const struct apply_request *request, const struct work *work, struct error *err) {
  const char *last = strrchr(work->dataset, '/') + 1;
  for (unsigned axis = 0; axis < work->result.rank; axis++) {
    if (!strcmp(last, work->result.axis[axis].name)) {
      return error_set(err, ERROR_USAGE, "--out: %s: '%s' is the name of one of its axes; give the dataset another",
                       request->out, last);
    }
  }
  return 0;
}

static int write_result(const struct apply_request *request, struct work *work, struct error *err) {
  work->result.name = work->dataset;
  work->result.element = ELEMENT_F32;
  work->result.data = work->out;
  if (!work->dataset) {
    return tensors_write_npy(work->file, &work->result, err);
  }
  int status = check_name(request, work, err);
  return status ? status : write_hdf5(request, work, err);
}

int apply(struct session *session, const struct apply_request *request, struct error *err) {
  struct work work = {0};
  int status = scheme_choose(session, &request->scheme, &work.choice, err);
  status = status ? status : open_output(request, &work, err);
  if (!status) {
    status = request->site == PE_SITE_EMBED ? apply_embed(request, &work, err)
             : request->site == PE_SITE_QK  ? apply_qk(request, &work, err)
                                            : apply_bias(request, &work, err);
  }
  status = status ? status : write_result(request, &work, err);
  work_free(&work);
  return status;
}
