// my_scheme: added to every score, after scaling, before mask and softmax.
//
//     s[query][key] -= slope * log2(1 + |m - n|)        m position of the query, n of the key
//
// This formula is the worked example that `pe-run new` writes. The places to change are marked CHANGE; what stands
// between them keeps the contract of <pe/plugin.h> and may stay as it is.
#include <pe/plugin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>

// CHANGE 2: what an instance keeps; all of it is worked out once, in create.
struct pe_instance {
  double slope;
};

namespace {

// Beyond 2^53 doubles no longer hold every whole number.
constexpr double position_limit = 9007199254740992.0;

// CHANGE 1: the parameters. The host parses them, fills in defaults, checks ranges and passes them in this order.
enum { PARAM_SLOPE, N_PARAMS };

constexpr pe_param real_parameter(const char *key, const char *doc, double min, double max, double by_default) {
  return {key, doc, PE_REAL, 0, min, max, {0, by_default, nullptr, 0, 0, 0}, nullptr, 0, 0};
}

constexpr pe_param params[N_PARAMS] = {
    real_parameter("slope", "what a score loses per doubling of 1 + distance", 0, 1e6, 0.5),
};

// No exception leaves the plugin.
pe_status create(const pe_host *, const pe_shape *, const pe_value *values, pe_instance **out, pe_error *err) {
  // CHANGE 3: refuse the shapes and the combinations of parameters that the formula cannot serve (PE_ERR_SHAPE,
  // PE_ERR_PARAM). This one serves all; the second argument has n_heads for a slope per head.
  auto *self = new (std::nothrow) pe_instance{values[PARAM_SLOPE].r};
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu bytes", sizeof *self);
  }
  *out = self;
  return PE_OK;
}

void destroy(pe_instance *self) {
  delete self;
}

// CHANGE 4: the positions at which the formula has a value; integer_only = 1 where it needs whole numbers.
pe_status domain(const pe_instance *, pe_domain *out) {
  out->min = -position_limit;
  out->max = position_limit;
  return PE_OK;
}

// All positions are checked before anything is written; the comparison refuses NaN, too.
pe_status check_positions(const double *positions, std::size_t n, const char *whose, pe_error *err) {
  for (std::size_t i = 0; i < n; i++) {
    if (!(std::fabs(positions[i]) <= position_limit)) {
      return pe_fail(err, PE_ERR_POS_RANGE, static_cast<std::int64_t>(i),
                     "%s position %.17g is not within -2^53 to 2^53", whose, positions[i]);
    }
  }
  return PE_OK;
}

pe_status bias_add(const pe_instance *self, const pe_tile *tile, void *, pe_error *err) {
  if (tile->nq == 0 || tile->nk == 0) {
    return PE_OK;
  }
  pe_status status = check_positions(tile->pos_q, tile->nq, "query", err);
  if (status == PE_OK) {
    status = check_positions(tile->pos_k, tile->nk, "key", err);
  }
  if (status != PE_OK) {
    return status;
  }
  for (std::size_t row = 0; row < tile->nq; row++) {
    float *s = tile->s + row * tile->s_stride; // [nk]
    for (std::size_t col = 0; col < tile->nk; col++) {
      // CHANGE 5: the formula, in double; tile->head is the query head. What is there stays: it is added to.
      const double distance = std::fabs(tile->pos_q[row] - tile->pos_k[col]);
      s[col] += static_cast<float>(-self->slope * std::log2(1.0 + distance));
    }
  }
  return PE_OK;
}

// CHANGE 6: title and reference for people; version is raised whenever a result may change. PE_TRAIT_RELATIVE promises
// that the bias depends on m - n alone: take it away where that is not so.
constexpr pe_scheme make_scheme() {
  pe_scheme scheme{};
  scheme.struct_size = sizeof(pe_scheme);
  scheme.version = 1;
  scheme.id = "my_scheme";
  scheme.title = "my_scheme: scores fall with the logarithm of the distance";
  scheme.reference = "not published";
  scheme.sites = PE_SITE_BIAS;
  scheme.traits = PE_TRAIT_RELATIVE;
  scheme.params = params;
  scheme.n_params = N_PARAMS;
  scheme.param_stride = sizeof(pe_param);
  scheme.create = create;
  scheme.destroy = destroy;
  scheme.domain = domain;
  scheme.bias_add = bias_add;
  return scheme;
}
constexpr pe_scheme scheme = make_scheme();
constexpr const pe_scheme *schemes[] = {&scheme};

} // namespace

const pe_entry pe_plugin_entry = {
    PE_ABI_MAGIC, sizeof(pe_entry), PE_ABI_MAJOR, PE_ABI_MINOR, "my_scheme", "0.1", schemes, 1, 0};
