// How two values differ.
#pragma once

#include <cmath>
#include <string>

#include "smdebug.hpp"

namespace smdebug::cli {

// Numbers a and b are equal if |a - b| <= atol + rtol * |b|, or both are not numbers.
struct Tolerance {
  double atol = 0;
  double rtol = 0;
  bool is_exact = true;  // the bits are compared, and the others do not count
};

struct Difference {
  size_t elements = 0;    // that differ; 0: none, and the values are equal
  size_t of = 0;          // elements there are
  double largest = 0;     // of all absolute differences; NaN where one alone is not a number
  size_t at = 0;          // the element with the largest
  std::string otherwise;  // where elements cannot be compared: "64x32 against 64x16"

  bool IsNone() const { return elements == 0 && otherwise.empty(); }
};

Difference Compare(const Value &a, const Value &b, const Tolerance &tolerance);

// The indices of an element, as "[3, 4]"; "" of a value with one.
std::string IndexText(size_t element, const std::vector<int64_t> &shape);

}  // namespace smdebug::cli
