// The weights by which traits of findings speak for or against causes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "diagnose/cause.h"
#include "diagnose/traits.h"

namespace smdebug::diagnose {

// One weight for each of the table's causes, in hundredths, then one for "none of these".
inline constexpr size_t kMostWeights = 32;
using Weights = std::array<int16_t, kMostWeights>;

struct Row {
  std::string_view rule;  // "" if the trait is one of all findings
  std::string_view check;
  Trait trait;
  Weights weights;
};

struct Table {
  std::span<const Cause> causes;
  Weights bias;
  double temperature;  // divides the sums of weights, so that confidences are calibrated
  double slope;        // of confidences over chances, as logarithms of odds: see ConfidenceOf()
  double offset;
  std::span<const Row> rows;
};

// Of all rules together, and of the set "llm".
const Table &GeneralTable();
const Table &LlmTable();

}  // namespace smdebug::diagnose
