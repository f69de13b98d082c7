#include "rules/support/streaks.h"

#include <string>
#include <vector>

#include "rules/support/named_tensors.h"

namespace smdebug::rules {

Result<Roles> StreakRoles(const Parameters &parameters, int64_t patience) {
  std::vector<Selector> selectors(kStreakRoles);
  SMD_ASSIGN_OR_RETURN(selectors[kJudged], RequiredTensors(parameters));
  if (patience > 1) {
    SMD_ASSIGN_OR_RETURN(selectors[kSummed], Selector::Make({}, {std::string(kBatchesPerUpdate)}));
  }
  return Roles(std::move(selectors));
}

}  // namespace smdebug::rules
