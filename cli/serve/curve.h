// Numbers of a tensor over the steps, and fewer points that look the same on a screen.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "json_writer.h"
#include "smdebug.hpp"

namespace smdebug::cli::serve {

// Selects the numbers: `measure` is a reduction, such as "abs_mean".  An empty worker means the
// first that saved the tensor.
struct CurveKey {
  std::string tensor;
  std::string worker;
  std::string measure;

  auto operator<=>(const CurveKey &) const = default;
};

struct Curve {
  std::vector<int64_t> steps;  // global; ascending
  std::vector<double> values;
  int64_t end = 0;  // the steps before it were read

  size_t Bytes() const {
    return steps.capacity() * sizeof(int64_t) + values.capacity() * sizeof(double);
  }
};

// Appends the numbers of the steps from curve->end to before `end`.  Skips steps that cannot be
// read.  Fails by throwing smdebug::Error: the tensor is unknown, the measure is, or the store does
// not answer.
void Extend(const Trial &trial, const CurveKey &key, int64_t end, Curve *curve);

// A part of a curve.
struct Points {
  std::vector<int64_t> steps;
  std::vector<double> values;
  std::vector<Mode> modes = {};  // of the steps; empty: not given
};

// Returns the points with first <= step < end.
Points Cut(const Curve &curve, int64_t first, int64_t end);

// Replaces each value by a moving average, in which an earlier value weighs `weight` times as much
// as the one after it.  Non-finite values stay, and do not count.
void Smooth(double weight, Points *points);

// Keeps at most four points, and one that is not finite, for each of `pixels` columns of equal
// width: the first, the last, the least and the greatest.  A line through them covers the same
// pixels.
Points Thin(const Points &points, int64_t first, int64_t end, int64_t pixels);

// Writes {"steps": [...], "values": [...]}, with seven digits, and "modes" as a letter for each
// step if they are given.
void ToJson(const Points &points, JsonWriter *json);
// Writes a number with seven digits; a text if it is not finite.
void NumberToJson(double number, JsonWriter *json);

}  // namespace smdebug::cli::serve
