// Compares vectors of elements.
#pragma once

#include <vector>

namespace smdebug::rules {

// Requires vectors of one size.
double Product(const std::vector<double> &a, const std::vector<double> &b);

// Returns 0 if a vector is zero, or if they differ in size.
double CosineOf(const std::vector<double> &a, const std::vector<double> &b);

// Returns true if the vectors are each other's opposite, but for rounding, and not zero.
bool Cancel(const std::vector<double> &a, const std::vector<double> &b);

}  // namespace smdebug::rules
