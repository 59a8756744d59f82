#include "theirs.hpp"

#include <cmath>
#include <stdexcept>

std::vector<float> rotate_row(const std::vector<float> &row, long position, double base) {
  if (row.size() % 2 != 0 || position < 0) {
    throw std::invalid_argument("rotate_row: an odd width or a negative position");
  }
  std::vector<float> turned(row.size());
  for (std::size_t i = 0; i < row.size(); i += 2) {
    const double angle = static_cast<double>(position) * std::pow(base, -static_cast<double>(i) / row.size());
    turned[i] = static_cast<float>(row[i] * std::cos(angle) - row[i + 1] * std::sin(angle));
    turned[i + 1] = static_cast<float>(row[i] * std::sin(angle) + row[i + 1] * std::cos(angle));
  }
  return turned;
}
