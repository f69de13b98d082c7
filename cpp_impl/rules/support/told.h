// Makes findings of rules that evaluate a step as a whole.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "rules/finding.h"

namespace smdebug::rules {

// What a finding is about: the worker and the tensor.
struct Subject {
  std::string worker;
  std::string tensor;
};

inline Finding FindingOf(const Subject &subject, std::string_view check, double value, double limit,
                         std::string message) {
  Finding finding;
  finding.worker = subject.worker;
  finding.tensor = subject.tensor;
  finding.check = check;
  finding.value = value;
  finding.limit = limit;
  finding.message = std::move(message);
  return finding;
}

}  // namespace smdebug::rules
