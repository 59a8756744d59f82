// Adds position * step[channel] to the input: a plugin in C++, with memory of its own and no exception that leaves it.
#include <pe/plugin.h>

#include <cmath>
#include <memory>
#include <new>
#include <vector>

struct pe_instance {
  std::vector<double> step; // [d_model]
};

namespace {

constexpr pe_param params[] = {{.key = "slope",
                                .doc = "added to channel 0 per position",
                                .type = PE_REAL,
                                .flags = 0,
                                .min = -1e6,
                                .max = 1e6,
                                .dflt = {.i = 0, .r = 1, .list = nullptr, .n = 0, .given = 0, .reserved = 0},
                                .choices = nullptr,
                                .list_min = 0,
                                .list_max = 0}};

pe_status create(const pe_host *, const pe_shape *shape, const pe_value *values, pe_instance **out, pe_error *err) {
  try {
    auto self = std::make_unique<pe_instance>();
    for (std::uint32_t channel = 0; channel < shape->d_model; channel++) {
      self->step.push_back(values[0].r / (1 + channel));
    }
    *out = self.release();
    return PE_OK;
  } catch (const std::bad_alloc &) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %u channels", shape->d_model);
  }
}

void destroy(pe_instance *self) {
  delete self;
}

pe_status embed_add(const pe_instance *self, const pe_rows *rows, void *, pe_error *err) {
  for (std::size_t r = 0; r < rows->n; r++) {
    if (!std::isfinite(rows->pos[r])) {
      return pe_fail(err, PE_ERR_POS_RANGE, static_cast<std::int64_t>(r), "the position is not finite");
    }
  }
  for (std::size_t r = 0; r < rows->n; r++) {
    for (std::size_t channel = 0; channel < self->step.size(); channel++) {
      rows->out[r * rows->out_stride + channel] += static_cast<float>(rows->pos[r] * self->step[channel]);
    }
  }
  return PE_OK;
}

constexpr pe_scheme make_ramp() {
  pe_scheme scheme{};
  scheme.struct_size = sizeof(pe_scheme);
  scheme.version = 1;
  scheme.id = "ramp";
  scheme.title = "a ramp per channel";
  scheme.reference = "an example";
  scheme.sites = PE_SITE_EMBED;
  scheme.params = params;
  scheme.n_params = 1;
  scheme.param_stride = sizeof(pe_param);
  scheme.create = create;
  scheme.destroy = destroy;
  scheme.embed_add = embed_add;
  return scheme;
}
constexpr pe_scheme ramp = make_ramp();
constexpr const pe_scheme *schemes[] = {&ramp};

} // namespace

const pe_entry pe_plugin_entry = {
    PE_ABI_MAGIC, sizeof(pe_entry), PE_ABI_MAJOR, PE_ABI_MINOR, "ramp", "1", schemes, 1, 0};
