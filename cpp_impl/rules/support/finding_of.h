// Makes a finding of one tensor.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "rules/finding.h"

namespace smdebug::rules {

// Leaves the rule and the place to who adds it.
inline Finding FindingOf(std::string_view check, std::string_view worker, std::string_view tensor,
                         double value, double limit, std::string message) {
  Finding finding;
  finding.check = check;
  finding.worker = worker;
  finding.tensor = tensor;
  finding.value = value;
  finding.limit = limit;
  finding.message = std::move(message);
  return finding;
}

}  // namespace smdebug::rules
