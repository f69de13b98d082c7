#include "rules/support/streaks.h"

#include <string>
#include <vector>

#include "rules/support/named_tensors.h"

namespace smdebug::rules {

Result<StreakRoles> StreakRoles::Make(const Parameters &parameters, int64_t patience) {
  std::vector<Selector> selectors(2);
  if (patience > 1) {
    SMD_ASSIGN_OR_RETURN(selectors[kSummed], Selector::Make({}, {std::string(kBatchesPerUpdate)}));
  }
  SMD_ASSIGN_OR_RETURN(selectors[kJudged], RequiredTensors(parameters));
  return StreakRoles(Roles(std::move(selectors)));
}

std::optional<size_t> StreakRoles::Of(std::string_view tensor, const Membership &membership) const {
  const std::optional<size_t> role = roles_.Of(tensor, membership);
  const bool is_updated = membership.IsIn("weights", tensor) || membership.IsIn("biases", tensor);
  return role == kJudged && is_updated ? kUpdated : role;
}

}  // namespace smdebug::rules
