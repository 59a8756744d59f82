// rotate_row of theirs.cpp as a scheme: what it takes for granted is checked before it is called, what it throws is
// caught, and results are kept aside until all of them are there.
#include "theirs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <new>
#include <pe/plugin.h>

struct pe_instance {
  std::size_t head_dim;
  double base;
};

namespace {

// Their positions are whole numbers from 0; int32 is as far as anyone has tried them.
constexpr double largest_position = 2147483647.0;

constexpr pe_param params[] = {{"base",
                                "wavelengths run from 2 pi to 2 pi base",
                                PE_REAL,
                                0,
                                1,
                                1e9,
                                {0, 10000, nullptr, 0, 0, 0},
                                nullptr,
                                0,
                                0}};

pe_status create(const pe_host *, const pe_shape *shape, const pe_value *values, pe_instance **out, pe_error *err) {
  if (shape->head_dim == 0 || shape->head_dim % 2 != 0) {
    return pe_fail(err, PE_ERR_SHAPE, -1, "channels are turned in pairs: head_dim %u is not even", shape->head_dim);
  }
  auto *self = new (std::nothrow) pe_instance{shape->head_dim, values[0].r};
  if (!self) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu bytes", sizeof *self);
  }
  *out = self;
  return PE_OK;
}

void destroy(pe_instance *self) {
  delete self;
}

pe_status domain(const pe_instance *, pe_domain *out) {
  out->integer_only = 1;
  out->min = 0;
  out->max = largest_position;
  return PE_OK;
}

pe_status check_positions(const pe_rows *rows, pe_error *err) {
  for (std::size_t r = 0; r < rows->n; r++) {
    const double position = rows->pos[r];
    if (!(position >= 0 && position <= largest_position)) {
      return pe_fail(err, PE_ERR_POS_RANGE, static_cast<std::int64_t>(r),
                     "position %.17g is not within 0 to 2147483647", position);
    }
    if (position != std::floor(position)) {
      return pe_fail(err, PE_ERR_POS_KIND, static_cast<std::int64_t>(r), "position %.17g is not a whole number",
                     position);
    }
  }
  return PE_OK;
}

pe_status qk_apply(const pe_instance *self, const pe_rows *rows, void *, pe_error *err) {
  const pe_status status = check_positions(rows, err);
  if (status != PE_OK) {
    return status;
  }
  try {
    const std::size_t width = self->head_dim;
    std::vector<float> turned; // [n_heads][n][head_dim]
    turned.reserve(rows->n_heads * rows->n * width);
    for (std::size_t head = 0; head < rows->n_heads; head++) {
      for (std::size_t r = 0; r < rows->n; r++) {
        const float *x = rows->in + head * rows->in_head_stride + r * rows->in_stride;
        const auto row = rotate_row(std::vector<float>(x, x + width), static_cast<long>(rows->pos[r]), self->base);
        turned.insert(turned.end(), row.begin(), row.end());
      }
    }
    for (std::size_t head = 0; head < rows->n_heads; head++) {
      for (std::size_t r = 0; r < rows->n; r++) {
        std::copy_n(turned.begin() + static_cast<std::ptrdiff_t>((head * rows->n + r) * width), width,
                    rows->out + head * rows->out_head_stride + r * rows->out_stride);
      }
    }
    return PE_OK;
  } catch (const std::bad_alloc &) {
    return pe_fail(err, PE_ERR_MEMORY, -1, "no memory for %zu rows", rows->n);
  } catch (const std::exception &error) {
    return pe_fail(err, PE_ERR_INTERNAL, -1, "%s", error.what());
  }
}

constexpr pe_scheme make_scheme() {
  pe_scheme scheme{};
  scheme.struct_size = sizeof(pe_scheme);
  scheme.version = 1;
  scheme.id = "wrapped";
  scheme.title = "rotate_row of theirs.cpp";
  scheme.reference = "an example";
  scheme.sites = PE_SITE_QK;
  scheme.traits = PE_TRAIT_RELATIVE;
  scheme.params = params;
  scheme.n_params = 1;
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
    PE_ABI_MAGIC, sizeof(pe_entry), PE_ABI_MAJOR, PE_ABI_MINOR, "wrapped", "0.1", schemes, 1, 0};
