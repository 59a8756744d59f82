// Code that is there already, and stays as it is.
#pragma once
#include <vector>

// One row of a query or key with neighbouring channels turned by the position, which counts from 0.
// Throws std::invalid_argument where the width is odd or the position negative.
std::vector<float> rotate_row(const std::vector<float> &row, long position, double base);
