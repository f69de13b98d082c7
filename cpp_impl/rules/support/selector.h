// Selects the tensors that a rule evaluates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"
#include "base/result.h"
#include "rules/support/membership.h"

namespace smdebug::rules {

// Selects the tensors of some collections, and the tensors whose names match some expression.
class Selector {
 public:
  // Fails with INVALID_CONFIG for an expression that does not compile.
  static Result<Selector> Make(std::vector<std::string> collections,
                               const std::vector<std::string> &regexes);

  bool IsEmpty() const { return collections_.empty() && regexes_.empty(); }
  bool Matches(std::string_view tensor, const Membership &membership) const;

 private:
  std::vector<std::string> collections_;
  std::vector<Regex> regexes_;
};

}  // namespace smdebug::rules
