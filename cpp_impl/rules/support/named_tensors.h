// Reads the parameters `collection_names` and `tensor_regex`, which many rules have.
#pragma once

#include "rules/support/parameters.h"
#include "rules/support/selector.h"

namespace smdebug::rules {

inline constexpr std::string_view kCollectionNamesMeaning =
    "collections of tensors to check, separated by commas";
inline constexpr std::string_view kTensorRegexMeaning =
    "expressions found in the names of further tensors to check, separated by commas";

// Selects the tensors that the parameters name (maybe none) and those of the `more` collections.
// Fails with INVALID_CONFIG for a bad expression.
Result<Selector> NamedTensors(const Parameters &parameters, std::vector<std::string> more = {});

// Reports whether a rule evaluates the tensor, if the rule evaluates all tensors when none are
// named.  Excludes the tables of a booster's trees unless they are named, because an empty cell
// there is NaN.
bool IsAmong(const Selector &selector, std::string_view tensor, const Membership &membership);

// Returns true for "Dice_input_0" if "Dice_output_0" is a loss.
bool IsInputOfLoss(std::string_view tensor, const Membership &membership);

// Selects the tensors that the parameters name.  If only one parameter is given, the other's
// default is not used.  Fails with INVALID_CONFIG for a bad expression, or if both are empty.
Result<Selector> RequiredTensors(const Parameters &parameters);

// Selects the tensors whose names match an expression of the list `parameter`.  By default, selects
// those of `collections` too.  Fails with INVALID_CONFIG for a bad expression or if there is none.
Result<Selector> TensorsByRole(const Parameters &parameters, std::string_view parameter,
                               std::vector<std::string> collections);

}  // namespace smdebug::rules
