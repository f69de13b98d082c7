// Compares two values.
#pragma once

#include <cmath>
#include <string>

#include "smdebug.hpp"

namespace smdebug::cli {

// Numbers a and b are equal if |a - b| <= atol + rtol * |b|, or both are NaN.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
  bool is_exact = true;  // compares the bits, and ignores atol and rtol
};

struct Difference {
  size_t elements = 0;    // the number of elements that differ; 0: the values are equal
  size_t of = 0;          // the number of all elements
  double largest = 0;     // the largest absolute difference; NaN if one of two elements is NaN
  size_t at = 0;          // the element with the largest difference
  std::string otherwise;  // set if elements cannot be compared: "64x32 against 64x16"

  bool IsNone() const { return elements == 0 && otherwise.empty(); }
};

Difference Compare(const Value &a, const Value &b, const Tolerance &tolerance);

// Returns the indices of an element, such as "[3, 4]"; "" if the value has one element.
std::string IndexText(size_t element, const std::vector<int64_t> &shape);

}  // namespace smdebug::cli
