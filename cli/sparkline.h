// Draws a row of numbers as a small picture.
#pragma once

#include <string>
#include <vector>

namespace smdebug::cli {

// A picture of at most `width` characters.  Each shows the mean of one or more adjacent numbers, or
// "!" if one of them is not finite.  The scale is logarithmic if no number is negative and they
// differ by orders of magnitude.
struct Sparkline {
  std::string picture;
  bool is_logarithmic = false;
};
Sparkline DrawSparkline(const std::vector<double> &numbers, size_t width);

}  // namespace smdebug::cli
