// Which of a rule's several kinds of tensors one is.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/selector.h"
#include "rules/tensor_states.h"

namespace smdebug::rules {

// Remembers, by name, what a tensor was when it was asked for.  Not for several threads.
class Roles {
 public:
  // What they select, a role each: 0, 1, ...  Of several that fit, the first is a tensor's.
  explicit Roles(std::vector<Selector> selectors) : selectors_(std::move(selectors)) {}

  // Whether the tensor has a role.
  bool Ask(std::string_view tensor, const Membership &membership) {
    for (size_t role = 0; role < selectors_.size(); ++role) {
      if (!selectors_[role].Matches(tensor, membership)) continue;
      known_.Of("", tensor) = role;
      return true;
    }
    return false;
  }
  // As it was asked for.
  std::optional<size_t> Of(std::string_view tensor) { return known_.Of("", tensor); }

 private:
  std::vector<Selector> selectors_;
  TensorStates<std::optional<size_t>> known_;
};

}  // namespace smdebug::rules
