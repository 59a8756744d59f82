// my_scheme: added to the input once, before the first layer.
//
//     x[position][2 i]     += sin(position * inv_freq[i])        inv_freq[i] = base^(-2 i / d_model)
//     x[position][2 i + 1] += cos(position * inv_freq[i])
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
  std::size_t d_model;
  std::vector<double> inv_freq; // [(d_model + 1) / 2] radians per position
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
  if (shape->d_model == 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "the model has no input to add to: d_model is 0");
  }
  try {
    auto self = std::make_unique<pe_instance>();
    self->d_model = shape->d_model;
    self->inv_freq.resize((self->d_model + 1) / 2);
    for (std::size_t i = 0; i < self->inv_freq.size(); i++) {
      self->inv_freq[i] = std::pow(values[PARAM_BASE].r, -2.0 * static_cast<double>(i) / shape->d_model);
    }
    *out = self.release();
    return PE_OK;
  } catch (const std::bad_alloc &) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for the frequencies of %u channels", shape->d_model);
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

pe_status embed_add(const pe_instance *self, const pe_rows *rows, void *, pe_error *err) {
  // All positions are checked before anything is written; the comparison refuses NaN, too.
  for (std::size_t r = 0; r < rows->n; r++) {
    if (!(std::fabs(rows->pos[r]) <= position_limit)) {
      return pe_fail(err, PE_ERR_POS_RANGE, static_cast<std::int64_t>(r), "position %.17g is not within -2^53 to 2^53",
                     rows->pos[r]);
    }
  }
  for (std::size_t r = 0; r < rows->n; r++) {
    float *x = rows->out + r * rows->out_stride; // [d_model]
    for (std::size_t channel = 0; channel < self->d_model; channel++) {
      // CHANGE 5: the formula, in double. What is there stays: it is added to.
      const double angle = rows->pos[r] * self->inv_freq[channel / 2];
      x[channel] += static_cast<float>(channel % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return PE_OK;
}

// CHANGE 6: title and reference for people; version is raised whenever a result may change.
constexpr pe_scheme make_scheme() {
  pe_scheme scheme{};
  scheme.struct_size = sizeof(pe_scheme);
  scheme.version = 1;
  scheme.id = "my_scheme";
  scheme.title = "my_scheme: sines and cosines added to the input";
  scheme.reference = "not published";
  scheme.sites = PE_SITE_EMBED;
  scheme.traits = 0;
  scheme.params = params;
  scheme.n_params = N_PARAMS;
  scheme.param_stride = sizeof(pe_param);
  scheme.create = create;
  scheme.destroy = destroy;
  scheme.domain = domain;
  scheme.embed_add = embed_add;
  return scheme;
}
constexpr pe_scheme scheme = make_scheme();
constexpr const pe_scheme *schemes[] = {&scheme};

} // namespace

const pe_entry pe_plugin_entry = {
    PE_ABI_MAGIC, sizeof(pe_entry), PE_ABI_MAJOR, PE_ABI_MINOR, "my_scheme", "0.1", schemes, 1, 0};
