// The parameters `collection_names` and `tensor_regex`, which many rules have.
#pragma once

#include "rules/parameters.h"
#include "rules/selector.h"

namespace smdebug::rules {

inline constexpr std::string_view kCollectionNamesMeaning =
    "collections whose tensors it looks at, separated by commas";
inline constexpr std::string_view kTensorRegexMeaning =
    "expressions found in the names of tensors that it looks at too, separated by commas";

// The tensors that they name, maybe none, and those of `more` collections.  INVALID_CONFIG for
// a bad expression.
Result<Selector> NamedTensors(const Parameters &parameters, std::vector<std::string> more = {});

// Whether a rule that looks at all tensors if none are named looks at this one.  Not at the tables
// of a booster's trees, unless they are named: a cell that is empty there is NaN.
bool IsAmong(const Selector &selector, std::string_view tensor, const Membership &membership);

// The tensors that they name: if only one is given, without the other's default.
// INVALID_CONFIG too if both are empty.
Result<Selector> RequiredTensors(const Parameters &parameters);

// The tensors in whose names an expression of the list `parameter` is found; by default those
// of `collections` too.  INVALID_CONFIG for a bad expression or none.
Result<Selector> TensorsByRole(const Parameters &parameters, std::string_view parameter,
                               std::vector<std::string> collections);

}  // namespace smdebug::rules
