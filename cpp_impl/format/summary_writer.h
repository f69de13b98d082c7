// Writes records for TensorBoard.  Unlike tensor records, they have true checksums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/histogram.h"

namespace smdebug::format {

// Returns a name that TensorBoard accepts: removes leading "/", and replaces characters other than
// word characters, "-", "/" and "." with "_".
std::string SummaryTag(std::string_view name);

// Appends records of one step to the bytes of a file.  For one thread.
class SummaryWriter {
 public:
  // `wall_time` is in seconds since 1970.
  SummaryWriter(int64_t step, double wall_time) : step_(step), wall_time_(wall_time) {}

  // Appends the record that each file begins with.
  void AddVersion(std::string *out) const;
  // `tag` is a SummaryTag().
  void AddScalar(std::string_view tag, float value, std::string *out) const;
  void AddHistogram(std::string_view tag, const tensor::Histogram &histogram,
                    std::string *out) const;

 private:
  int64_t step_;
  double wall_time_;
};

}  // namespace smdebug::format
