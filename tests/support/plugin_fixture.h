/* A scheme of the build's plugins, called without the runner: what the host does, in the smallest form.
 *
 *     plugin_setting settings[] = {PLUGIN_TEXT("layout", "half"), PLUGIN_NUMBER("base", 5e5)};
 *     plugin_fixture rope;
 *     plugin_fixture_open(&rope, "rope", &(plugin_request){.head_dim = 8, PLUGIN_SETTINGS(settings)});
 *     plugin_fixture_qk(&rope, PE_ROLE_QUERY, n_heads, 0, n, positions, q, rotated);
 *     plugin_fixture_close(&rope);
 *
 * A plugin that cannot be loaded, an unknown key and other faults of the test itself fail the running cmocka test; what
 * a scheme answers is returned as pe_status with its message in `error`. Not thread-safe.
 */
#ifndef PLUGIN_FIXTURE_H
#define PLUGIN_FIXTURE_H

#include <pe/plugin.h>

enum { PLUGIN_FIXTURE_TENSORS = 8 };

/* A parameter's value as a user would give it: a number (also true and false as 1 and 0), a text, or a list. */
typedef struct plugin_setting {
  const char *key;
  double number;
  const char *text;
  const double *list;
  size_t n;
} plugin_setting;

#define PLUGIN_NUMBER(k, v)                                                                                            \
  { .key = (k), .number = (v) }
#define PLUGIN_TEXT(k, v)                                                                                              \
  { .key = (k), .text = (v) }
#define PLUGIN_LIST(k, v, count)                                                                                       \
  { .key = (k), .list = (v), .n = (count) }

/* A tensor that the user gives. The data must outlive the fixture. */
typedef struct plugin_tensor {
  const char *name;
  pe_dims dims;
  const float *data;
} plugin_tensor;

/* What to make an instance for; members that are 0 get the defaults in brackets. */
typedef struct plugin_request {
  const char *scheme;           /* id [the plugin's first] */
  uint32_t n_layers;            /* [1] */
  uint32_t n_heads, n_kv_heads; /* [1], [n_heads] */
  uint32_t d_model, head_dim;   /* [0] */
  double train_len;             /* [0: not known] */
  const plugin_setting *settings;
  size_t n_settings;
  const plugin_tensor *tensors;
  size_t n_tensors;
} plugin_request;

#define PLUGIN_SETTINGS(array) .settings = (array), .n_settings = sizeof(array) / sizeof((array)[0])
#define PLUGIN_TENSORS(array) .tensors = (array), .n_tensors = sizeof(array) / sizeof((array)[0])

typedef struct plugin_fixture {
  void *library;
  const pe_scheme *scheme;
  pe_host host;          /* its ctx is this fixture, which must not move while the instance lives */
  pe_instance *instance; /* NULL where create refused */
  pe_shape shape;
  pe_domain domain;                           /* with the host's defaults filled in */
  pe_dims dims[PLUGIN_FIXTURE_TENSORS];       /* shapes as the scheme says them */
  const float *bound[PLUGIN_FIXTURE_TENSORS]; /* what is bound, in table order */
  float *seeded[PLUGIN_FIXTURE_TENSORS];      /* those that the fixture made; NULL where given */
  pe_error error;                             /* of the last call that did not return PE_OK */
  char logged[232];                           /* what the scheme last logged */
} plugin_fixture;

/* Load TEST_PLUGIN_DIR/plugin.so, check the values as the host does (types, ranges, required ones), create an instance
 * and bind its tensors; those not given are seeded the same way every time. Returns create's status, PE_ERR_PARAM where
 * the host would refuse a value, or PE_ERR_SHAPE where a given tensor's shape is not the one the scheme asks for; then
 * there is no instance. plugin_fixture_close is due in every case. */
pe_status plugin_fixture_open(plugin_fixture *fixture, const char *plugin, const plugin_request *request);
/* The same, where anything but PE_OK fails the test with the scheme's message. */
void plugin_fixture_require(plugin_fixture *fixture, const char *plugin, const plugin_request *request);
void plugin_fixture_close(plugin_fixture *fixture);

/* The largest coordinate plus one: the sequence length a host takes where the user gives none. pos [n] */
double plugin_fixture_length(const double *pos, size_t n);

/* One call on contiguous rows; seq_len 0 takes plugin_fixture_length. pos [n][pos_axes].
 * embed: out [n][d_model] += encoding. qk: in [n_heads][n][head_dim], out [n_heads][n][qk_width], layer 0, head 0 on.
 * bias: s [nq][nk] += bias of one head; q [nq][width], k [nk][width] for PE_TRAIT_CONTENT, else NULL. */
pe_status plugin_fixture_embed(plugin_fixture *fixture, double seq_len, size_t n, const double *pos, float *out);
pe_status plugin_fixture_qk(plugin_fixture *fixture, int32_t role, uint32_t n_heads, double seq_len, size_t n,
                            const double *pos, const float *in, float *out);
pe_status plugin_fixture_bias(plugin_fixture *fixture, uint32_t head, double seq_len, size_t nq, const double *pos_q,
                              size_t nk, const double *pos_k, const float *q, const float *k, float *s);

/* Width of rows after qk_apply. */
uint32_t plugin_fixture_width(const plugin_fixture *fixture);

/* Scratch as the scheme asks for, 64-byte aligned and filled with NaN; NULL where it needs none. free it. */
void *plugin_fixture_scratch(const plugin_fixture *fixture, size_t max_q, size_t max_k);

/* A derived value by its pinned name at a length; data from malloc, NULL where the scheme has none of that name. */
typedef struct plugin_derived {
  double *data;
  size_t n;
  size_t dim[2];
} plugin_derived;
plugin_derived plugin_fixture_derived(const plugin_fixture *fixture, const char *name, double seq_len);

#endif
