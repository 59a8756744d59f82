// my_scheme: moves queries and keys, in every layer, after their projection.
//
//     y[2 i]     = x[2 i] cos(a) - x[2 i + 1] sin(a)        a = position * inv_freq[i]
//     y[2 i + 1] = x[2 i] sin(a) + x[2 i + 1] cos(a)        inv_freq[i] = base^(-2 i / head_dim)
//
// This formula is the worked example that `pe-run new` writes. The places to change are marked CHANGE; what stands
// between them keeps the contract of <pe/plugin.h> and may stay as it is.
#include <pe/plugin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

// CHANGE 2: what an instance keeps; all of it is worked out once, in create.
struct pe_instance {
  std::vector<double> inv_freq; // [head_dim / 2] radians per position
};

namespace {

// Beyond 2^53 doubles no longer hold every whole number.
constexpr double position_limit = 9007199254740992.0;

// CHANGE 1: the parameters. The host parses them, fills in defaults, checks ranges and passes them in this order.
enum { PARAM_BASE, N_PARAMS };

constexpr pe_param real_parameter(const char *key, const char *doc, double min, double max, double by_default) {
  return {key, doc, PE_REAL, 0, min, max, {0, by_default, nullptr, 0, 0, 0}, nullptr, 0, 0};
}

constexpr pe_param params[N_PARAMS] = {
    real_parameter("base", "wavelengths run from 2 pi to 2 pi base", 1, 1e9, 10000),
};

// No exception leaves the plugin.
pe_status create(const pe_host *, const pe_shape *shape, const pe_value *values, pe_instance **out, pe_error *err) {
  // CHANGE 3: refuse the shapes and the combinations of parameters that the formula cannot serve.
  if (shape->head_dim == 0 || shape->head_dim % 2 != 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "channels are turned in pairs: head_dim %u is not even", shape->head_dim);
  }
  try {
    auto self = std::make_unique<pe_instance>();
    self->inv_freq.resize(shape->head_dim / 2);
    for (std::size_t i = 0; i < self->inv_freq.size(); i++) {
      self->inv_freq[i] = std::pow(values[PARAM_BASE].r, -2.0 * static_cast<double>(i) / shape->head_dim);
    }
    *out = self.release();
    return PE_OK;
  } catch (const std::bad_alloc &) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for the frequencies of %u channels", shape->head_dim);
  }
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

pe_status qk_apply(const pe_instance *self, const pe_rows *rows, void *, pe_error *err) {
  // All positions are checked before anything is written; the comparison refuses NaN, too.
  for (std::size_t r = 0; r < rows->n; r++) {
    if (!(std::fabs(rows->pos[r]) <= position_limit)) {
      return pe_fail(err, PE_ERR_POS_RANGE, static_cast<std::int64_t>(r), "position %.17g is not within -2^53 to 2^53",
                     rows->pos[r]);
    }
  }
  for (std::size_t r = 0; r < rows->n; r++) {
    for (std::size_t i = 0; i < self->inv_freq.size(); i++) {
      // Sines are taken once for all heads of the call.
      const double angle = rows->pos[r] * self->inv_freq[i];
      const double cosine = std::cos(angle), sine = std::sin(angle);
      for (std::size_t head = 0; head < rows->n_heads; head++) {
        const float *x = rows->in + head * rows->in_head_stride + r * rows->in_stride; // [head_dim]
        float *y = rows->out + head * rows->out_head_stride + r * rows->out_stride;
        // CHANGE 5: the formula, in double. y may be x itself: read before you write.
        const double a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = static_cast<float>(a * cosine - b * sine);
        y[2 * i + 1] = static_cast<float>(a * sine + b * cosine);
      }
    }
  }
  return PE_OK;
}

// CHANGE 6: title and reference for people; version is raised whenever a result may change. PE_TRAIT_RELATIVE promises
// that q . k depends on the distance alone: take it away where that is not so.
constexpr pe_scheme make_scheme() {
  pe_scheme scheme{};
  scheme.struct_size = sizeof(pe_scheme);
  scheme.version = 1;
  scheme.id = "my_scheme";
  scheme.title = "my_scheme: neighbouring channels turned by the position";
  scheme.reference = "not published";
  scheme.sites = PE_SITE_QK;
  scheme.traits = PE_TRAIT_RELATIVE;
  scheme.params = params;
  scheme.n_params = N_PARAMS;
  scheme.param_stride = sizeof(pe_param);
  scheme.create = create;
  scheme.destroy = destroy;
  scheme.domain = domain;
  scheme.qk_apply = qk_apply;
  return scheme;
}
constexpr pe_scheme scheme = make_scheme();
constexpr const pe_scheme *schemes[] = {&scheme};

} // namespace

const pe_entry pe_plugin_entry = {
    PE_ABI_MAGIC, sizeof(pe_entry), PE_ABI_MAJOR, PE_ABI_MINOR, "my_scheme", "0.1", schemes, 1, 0};
