// The weights by which traits of findings speak for or against causes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "diagnose/cause.h"
#include "diagnose/traits.h"

namespace smdebug::diagnose {

// One weight for each Cause, in hundredths, and a last one for "none of these".
using Weights = std::array<int16_t, kCauses + 1>;

struct Row {
  std::string_view rule;  // "" if the trait is one of all findings
  std::string_view check;
  Trait trait;
  Weights weights;
};

struct Table {
  Weights bias;
  double temperature;  // divides the sums of weights, so that confidences are calibrated
  double slope;        // of confidences over chances, as logarithms of odds: see ConfidenceOf()
  double offset;
  std::span<const Row> rows;
};

const Table &TheTable();

}  // namespace smdebug::diagnose
