#include "target.h"

#include <array>

namespace smdebug::fuzz {

const Target *FindTarget(std::string_view name) {
  const std::array all = {ConfigTargets(),  FormatTargets(), NetTargets(),
                          ProfileTargets(), ServeTargets(),  TrialTargets()};
  for (const std::span<const Target> targets : all) {
    for (const Target &target : targets) {
      if (target.name == name) return &target;
    }
  }
  return nullptr;
}

}  // namespace smdebug::fuzz
