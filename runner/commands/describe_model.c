#include "commands/describe_model.h"

#include "base/text.h"
#include "commands/commands.h"
#include "config/model_config.h"
#include "config/section_text.h"
#include "host/instance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925286766559;

struct description {
  const char *path;
  const struct model_config *config;
  const struct scheme *scheme;
  struct table_style style;
  struct instance *instances[MODEL_TABLES_MAX];
};

/* ---- instances ---- */

static void print_warning(void *context, const char *text) {
  (void)context;
  fflush(stdout);
  fprintf(stderr, "pe-run: warning: %s\n", text);
}

static struct instance *make_instance(const struct description *d, const struct model_table *table, struct error *err) {
  unsigned heads = d->config->n_heads ? d->config->n_heads : 1;
  struct section *params = config_section_from_text(&d->scheme->info.params, table->settings, d->scheme->info.id, err);
  if (!params) {
    return NULL;
  }
  struct instance_request request = {.scheme = d->scheme,
                                     .shape = {.struct_size = sizeof(pe_shape),
                                               .n_layers = d->config->n_layers ? d->config->n_layers : 1,
                                               .n_heads = heads,
                                               .n_kv_heads = heads,
                                               .d_model = heads * table->head_dim,
                                               .head_dim = table->head_dim},
                                     .params = params,
                                     .warn = print_warning};
  struct instance *instance = instance_new(&request, err);
  section_free(params);
  return instance;
}

/* One number of a table's instance; `fallback` where the scheme has no such value. */
static int derived_number(const struct instance *instance, const char *name, double fallback, double *number,
                          struct error *err) {
  pe_derived value;
  double *data;
  int status = instance_derived_named(instance, 1, name, &value, &data, err);
  *number = !status && data ? data[0] : fallback;
  free(data);
  return status;
}

/* A table after others. */
static int show(const struct description *d, struct table *table, struct error *err) {
  if (d->style.format == TABLE_TERMINAL || d->style.format == TABLE_MARKDOWN) {
    putchar('\n');
  }
  return table_show(table, &d->style, stdout, err);
}

/* ---- values ---- */

static int value_row(struct table *table, const char *layers, const char *name, double number, const char *note,
                     struct error *err) {
  int status = table_text(table, err, "%s", layers);
  status = status ? status : table_text(table, err, "%s", name);
  status = status ? status : table_number_as(table, number, err, "%.9g", number);
  return status ? status : table_text(table, err, "%s", note);
}

static int text_row(struct table *table, const char *layers, const char *name, const char *text, const char *note,
                    struct error *err) {
  int status = table_text(table, err, "%s", layers);
  status = status ? status : table_text(table, err, "%s", name);
  status = status ? status : table_text(table, err, "%s", text);
  return status ? status : table_text(table, err, "%s", note);
}

static int rotary_rows(const struct model_table *t, struct table *table, struct error *err) {
  int status = text_row(table, t->layers, "rope_type", t->rope_type, "", err);
  status = status ? status : value_row(table, t->layers, "base", t->base, "rope_theta", err);
  status = status ? status : text_row(table, t->layers, "layout", t->layout, "", err);
  status = status ? status : value_row(table, t->layers, "rotary_dim", t->rotary_dim, "channels that turn", err);
  if (!status && t->factor > 0) {
    status = value_row(table, t->layers, "factor", t->factor, "", err);
  }
  if (!status && t->original_length > 0) {
    status = value_row(table, t->layers, "original_length", t->original_length, t->length_from, err);
  }
  if (!status && t->switch_length > 0) {
    status = value_row(table, t->layers, "switch_length", t->switch_length, "above it the long frequencies run", err);
  }
  return status;
}

static int scale_rows(const struct description *d, size_t i, struct table *table, struct error *err) {
  const struct model_table *t = &d->config->tables[i];
  double factor, multiplier;
  int status = derived_number(d->instances[i], "attention_factor", 1, &factor, err);
  status = status ? status : derived_number(d->instances[i], "softmax_scale_multiplier", 1, &multiplier, err);
  if (status) {
    return status;
  }
  double scale = t->softmax_scale * multiplier, unrotated = scale * sqrt(t->query_dim);
  bool rotary = t->rope_type != NULL;
  if (rotary) {
    status = value_row(table, t->layers, "attention_factor", factor, "multiplies cos and sin", err);
  }
  status = status ? status : value_row(table, t->layers, "softmax_scale", scale, "multiplies q.k", err);
  status = status ? status
                  : value_row(table, t->layers, "effective_logit_multiplier", factor * factor * unrotated,
                              rotary ? "attention_factor^2 x softmax_scale x sqrt(query_dim), of channels that turn"
                                     : "softmax_scale x sqrt(query_dim)",
                              err);
  if (!status && rotary && d->config->some_without) {
    status = value_row(table, t->layers, "effective_logit_multiplier_unrotated", unrotated,
                       "of channels that pass through, and of layers without rope", err);
  }
  return status;
}

static int temperature_row(const struct model_config *config, struct table *table, struct error *err) {
  const struct model_temperature *t = &config->temperature;
  bool all = t->kind == MODEL_TEMPERATURE_ALL;
  struct text text = {0};
  text_append(&text, "1 + ");
  text_append_double(&text, t->scale);
  text_printf(&text, " ln(1 + floor(%s / %.0f))", all ? "position" : "(position + 1)", t->length);
  char *formula = text_take(&text, err);
  int status = formula ? text_row(table, all ? "all layers" : "layers without rope", "temperature", formula,
                                  "multiplies the queries", err)
                       : (int)err->code;
  free(formula);
  return status;
}

static int show_values(const struct description *d, struct error *err) {
  const struct model_config *config = d->config;
  struct table table = {0};
  int status = table_title(&table, err, "%s: model_type %s, %s", d->path,
                           config->model_type ? config->model_type : "(none)", config->scheme);
  status = status ? status : table_column(&table, "layers", "layers", false, false, err);
  status = status ? status : table_column(&table, "name", "value of", false, false, err);
  status = status ? status : table_column(&table, "value", "value", true, false, err);
  status = status ? status : table_column(&table, "note", "from, meaning", false, true, err);
  if (!status && config->n_layers) {
    status = value_row(&table, "all layers", "layers", config->n_layers, "", err);
  }
  if (!status && config->n_heads) {
    status = value_row(&table, "all layers", "heads", config->n_heads, "", err);
  }
  if (!status && config->max_length > 0) {
    status = value_row(&table, "all layers", "max_position_embeddings", config->max_length, "", err);
  }
  for (size_t i = 0; !status && i < config->n_tables; i++) {
    const struct model_table *t = &config->tables[i];
    status = value_row(&table, t->layers, "query_dim", t->query_dim, "width of a query vector", err);
    if (!status && t->rope_type) {
      status = rotary_rows(t, &table, err);
    }
    status = status ? status : scale_rows(d, i, &table, err);
  }
  if (!status && config->temperature.kind != MODEL_TEMPERATURE_NONE) {
    status = temperature_row(config, &table, err);
  }
  for (size_t i = 0; !status && i < config->n_tables; i++) {
    status = table_note(&table, err, "in a config, %s: %s: %s", config->tables[i].layers, config->scheme,
                        config->tables[i].settings);
  }
  status = status ? status : table_show(&table, &d->style, stdout, err);
  table_free(&table);
  return status;
}

/* ---- frequencies ---- */

struct frequencies {
  double *plain, *scaled, *far; /* [pairs]; far: above the switch, or NULL */
  double *pairs;                /* [pairs][2] */
  size_t count;
};

static void frequencies_free(struct frequencies *f) {
  free(f->plain);
  free(f->scaled);
  free(f->far);
  free(f->pairs);
}

static int read_frequencies(const struct description *d, size_t i, struct frequencies *f, struct error *err) {
  const struct model_table *t = &d->config->tables[i];
  /* Up to and including the original length, what runs is the table for short inputs. */
  double length = t->original_length > 0 ? t->original_length : 1;
  pe_derived value;
  int status = instance_derived_named(d->instances[i], length, "inv_freq_unscaled", &value, &f->plain, err);
  status = status ? status : instance_derived_named(d->instances[i], length, "pairs", &value, &f->pairs, err);
  status = status ? status : instance_derived_named(d->instances[i], length, "inv_freq", &value, &f->scaled, err);
  f->count = !status ? value.dim[0] : 0;
  if (!status && t->switch_length > 0) {
    status = instance_derived_named(d->instances[i], t->switch_length + 1, "inv_freq", &value, &f->far, err);
  }
  if (!status && (!f->plain || !f->pairs || !f->scaled)) {
    status =
        error_set(err, ERROR_SCHEME_FAILED, "%s reports no inv_freq, inv_freq_unscaled or pairs", d->scheme->info.id);
  }
  return status;
}

/* NaN, shown as "-", where a pair stands still or a length is not known. */
static double ratio(double a, double b) {
  return a > 0 && b > 0 ? a / b : NAN;
}

static int frequency_cells(struct table *table, double frequency, double plain, double length, struct error *err) {
  double wavelength = ratio(two_pi, frequency);
  int status = table_number_as(table, frequency, err, "%.9g", frequency);
  status = status ? status : table_number(table, wavelength, err);
  status = status ? status : table_number(table, ratio(length, wavelength), err);
  double divisor = ratio(plain, frequency);
  return status           ? status
         : isnan(divisor) ? table_number(table, divisor, err)
                          : table_number_as(table, divisor, err, "%.6g", divisor);
}

static int frequency_columns(const struct description *d, const struct frequencies *f, struct table *table,
                             struct error *err) {
  int status = table_column(table, "pair", "pair", true, false, err);
  status = status ? status : table_column(table, "channel_a", "a", true, false, err);
  status = status ? status : table_column(table, "channel_b", "b", true, false, err);
  if (!status && d->config->mrope_axis) {
    status = table_column(table, "follows", "follows", false, false, err);
  }
  status = status ? status : table_column(table, "inv_freq", "inv_freq", true, false, err);
  status = status ? status : table_column(table, "wavelength", "wavelength", true, false, err);
  status = status ? status : table_column(table, "turns", "turns", true, false, err);
  status = status ? status : table_column(table, "divided_by", "divided by", true, false, err);
  if (!status && f->far) {
    status = table_column(table, "inv_freq_long", "long: inv_freq", true, false, err);
    status = status ? status : table_column(table, "wavelength_long", "wavelength", true, false, err);
    status = status ? status : table_column(table, "turns_long", "turns", true, false, err);
    status = status ? status : table_column(table, "divided_by_long", "divided by", true, false, err);
  }
  return status;
}

static int frequency_rows(const struct description *d, size_t i, const struct frequencies *f, struct table *table,
                          struct error *err) {
  static const char *const axes[] = {"time", "height", "width"};
  double length = d->config->tables[i].original_length;
  int status = 0;
  for (size_t pair = 0; !status && pair < f->count; pair++) {
    status = table_number(table, (double)pair, err);
    status = status ? status : table_number(table, f->pairs[2 * pair], err);
    status = status ? status : table_number(table, f->pairs[2 * pair + 1], err);
    if (!status && d->config->mrope_axis) {
      status = table_text(table, err, "%s", axes[d->config->mrope_axis[pair]]);
    }
    status = status ? status : frequency_cells(table, f->scaled[pair], f->plain[pair], length, err);
    if (!status && f->far) {
      status = frequency_cells(table, f->far[pair], f->plain[pair], length, err);
    }
  }
  return status;
}

static int show_frequencies(const struct description *d, size_t i, struct error *err) {
  const struct model_table *t = &d->config->tables[i];
  struct frequencies f = {0};
  struct table table = {0};
  int status = read_frequencies(d, i, &f, err);
  status = status ? status : table_title(&table, err, "Frequencies, %s", t->layers);
  status = status ? status : frequency_columns(d, &f, &table, err);
  status = status ? status : frequency_rows(d, i, &f, &table, err);
  status = status ? status
                  : table_note(&table, err,
                               "inv_freq: radians per token; wavelength: tokens per turn; turns: within the original "
                               "length; divided by: the frequency before scaling over that after");
  if (!status && !strcmp(t->rope_type, "dynamic")) {
    status = table_note(&table, err, "beyond the original length these frequencies fall with the length of the input");
  }
  status = status ? status : show(d, &table, err);
  table_free(&table);
  frequencies_free(&f);
  return status;
}

/* ---- biases ---- */

/* The one list of a bias scheme, with its index. */
static int show_list(const struct description *d, size_t i, const char *name, const char *index, const char *doc,
                     struct error *err) {
  pe_derived value;
  double *data = NULL;
  struct table table = {0};
  int status = instance_derived_named(d->instances[i], 1, name, &value, &data, err);
  status = status ? status : table_title(&table, err, "%s, %s", doc, d->config->tables[i].layers);
  status = status ? status : table_column(&table, index, index, true, false, err);
  status = status ? status : table_column(&table, name, name, true, false, err);
  for (size_t k = 0; !status && data && k < value.dim[0]; k++) {
    status = table_number(&table, (double)k, err);
    status = status ? status : table_number_as(&table, data[k], err, "%.9g", data[k]);
  }
  status = status ? status : show(d, &table, err);
  table_free(&table);
  free(data);
  return status;
}

/* ---- layers, keys, warnings ---- */

/* "0-2, 4-6, 8" for the layers whose entry is `entry`; their number in *count. */
static char *layer_ranges(const struct model_config *config, int entry, size_t *count, struct error *err) {
  struct text text = {0};
  *count = 0;
  for (unsigned i = 0; i < config->n_layers; i++) {
    if (config->layer_table[i] != entry) {
      continue;
    }
    unsigned end = i;
    while (end + 1 < config->n_layers && config->layer_table[end + 1] == entry) {
      end++;
    }
    text_printf(&text, end > i ? "%s%u-%u" : "%s%u", text.length ? ", " : "", i, end);
    *count += end - i + 1;
    i = end;
  }
  return text_take(&text, err);
}

static int layer_row(const struct model_config *config, int entry, const char *what, struct table *table,
                     struct error *err) {
  size_t count;
  char *ranges = layer_ranges(config, entry, &count, err);
  int status = ranges ? 0 : (int)err->code;
  if (!status && count) {
    status = table_text(table, err, "%s", what);
    status = status ? status : table_number(table, (double)count, err);
    status = status ? status : table_text(table, err, "%s", ranges);
  }
  free(ranges);
  return status;
}

static int show_layers(const struct description *d, struct error *err) {
  const struct model_config *config = d->config;
  if (!config->layer_table) {
    return 0;
  }
  struct table table = {0};
  int status = table_title(&table, err, "Layers");
  status = status ? status : table_column(&table, "positions", "positions", false, false, err);
  status = status ? status : table_column(&table, "count", "layers", true, false, err);
  status = status ? status : table_column(&table, "layers", "which", false, true, err);
  for (size_t i = 0; !status && i < config->n_tables; i++) {
    status = layer_row(config, (int)i, config->tables[i].layers, &table, err);
  }
  status = status ? status : layer_row(config, MODEL_LAYER_WITHOUT, "without rope", &table, err);
  status = status ? status : layer_row(config, MODEL_LAYER_NOT_ATTENTION, "not attention", &table, err);
  status = status ? status : show(d, &table, err);
  table_free(&table);
  return status;
}

static int show_unused(const struct description *d, struct error *err) {
  struct table table = {0};
  int status = table_title(&table, err, "Keys that were not used");
  status = status ? status : table_column(&table, "key", "key", false, false, err);
  status = status ? status : table_column(&table, "why", "why", false, true, err);
  for (size_t i = 0; !status && i < d->config->n_unused; i++) {
    status = table_text(&table, err, "%s", d->config->unused[i].key);
    status = status ? status : table_text(&table, err, "%s", d->config->unused[i].why);
  }
  status = status || !d->config->n_unused ? status : show(d, &table, err);
  table_free(&table);
  return status;
}

static int show_warnings(const struct description *d, struct error *err) {
  struct table table = {0};
  int status = table_title(&table, err, "Warnings");
  status = status ? status : table_column(&table, "warning", "what to know", false, true, err);
  for (size_t i = 0; !status && i < d->config->n_warnings; i++) {
    status = table_text(&table, err, "%s", d->config->warnings[i]);
  }
  status = status || !d->config->n_warnings ? status : show(d, &table, err);
  table_free(&table);
  return status;
}

/* ---- all of it ---- */

static int show_table_of(const struct description *d, size_t i, struct error *err) {
  if (d->config->tables[i].rope_type) {
    return show_frequencies(d, i, err);
  }
  return strcmp(d->config->scheme, "t5") ? show_list(d, i, "slopes", "head", "Slopes: bias per token of distance", err)
                                         : show_list(d, i, "bucket_edges", "bucket", "Buckets: first distance", err);
}

static int describe_config(struct description *d, struct error *err) {
  int status = 0;
  for (size_t i = 0; !status && i < d->config->n_tables; i++) {
    d->instances[i] = make_instance(d, &d->config->tables[i], err);
    status = d->instances[i] ? 0 : (int)err->code;
  }
  status = status ? status : show_values(d, err);
  for (size_t i = 0; !status && i < d->config->n_tables; i++) {
    status = show_table_of(d, i, err);
  }
  status = status ? status : show_layers(d, err);
  status = status ? status : show_unused(d, err);
  status = status ? status : show_warnings(d, err);
  for (size_t i = 0; i < d->config->n_tables; i++) {
    instance_free(d->instances[i]);
  }
  return status;
}

int describe_model(struct session *session, const struct session_options *options, const char *id, const char *path) {
  struct error err = {0};
  struct diagnostics diagnostics = {0};
  struct model_config *config = model_config_read(path, &diagnostics);
  int code = 0;
  if (!config) {
    fflush(stdout);
    diagnostics_print(&diagnostics, stderr);
    code = diagnostics_exit_code(&diagnostics);
  } else if (strcmp(id, config->scheme)) {
    error_set(&err, ERROR_CONFIG_NAME, "%s describes a model with %s, not %s: `pe-run describe %s --from %s`", path,
              config->scheme, id, config->scheme, path);
    code = command_fail(&err);
  } else {
    const struct scheme *scheme = host_find(session->host, id, NULL, &err);
    struct description d = {.path = path, .config = config, .scheme = scheme, .style = session_style(options)};
    int status = scheme ? describe_config(&d, &err) : (int)err.code;
    code = status ? command_fail(&err) : 0;
  }
  model_config_free(config);
  diagnostics_free(&diagnostics);
  return code;
}
