// Names of an optimizer's state, Adam's above all, as the collection optimizer_state has them.
#pragma once

#include <string_view>

#include "rules/support/parameters.h"

namespace smdebug::rules {

inline constexpr std::string_view kOptimizerState = "optimizer_state/";

// Match second moments, and the number of steps.
inline constexpr std::string_view kSquaresOfAdam = "^optimizer_state/.*/exp_avg_sq$";
inline constexpr std::string_view kStepOfAdam = "^optimizer_state/.*/step$";

// Returns "w" for "optimizer_state/w/exp_avg_sq".  Requires a name that one of them matches.
inline std::string_view WeightOfState(std::string_view name) {
  return name.substr(kOptimizerState.size(), name.rfind('/') - kOptimizerState.size());
}

// Rows that few tokens use have no gradient for many steps: their second moments shrink, and their
// next gradient is far above them.
inline constexpr std::string_view kRare = "(?i)expert|embed|wte";
inline constexpr ParameterSpec kRareRegex = {
    "rare_regex", kRare, kRare, "expressions found in the names of parameters that are skipped"};

}  // namespace smdebug::rules
