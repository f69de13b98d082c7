// A row of numbers as a small picture.
#pragma once

#include <string>
#include <vector>

namespace smdebug::cli {

// At most `width` characters, each the mean of as many neighbours as must share one; "!" where one
// of them is not finite.  The scale is logarithmic where none is negative and they are far apart.
struct Sparkline {
  std::string picture;
  bool is_logarithmic = false;
};
Sparkline DrawSparkline(const std::vector<double> &numbers, size_t width);

}  // namespace smdebug::cli
