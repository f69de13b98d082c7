// Tells which of a rule's several kinds of tensors a tensor is.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/support/sample.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_states.h"

namespace smdebug::rules {

// Remembers the role of each tensor by name.  For one thread.
class Roles {
 public:
  // Gives each selector a role: 0, 1, ... If several selectors match a tensor, the first gives its
  // role.
  explicit Roles(std::vector<Selector> selectors) : selectors_(std::move(selectors)) {}

  // Reports whether the tensor has a role, and remembers the role.
  bool Ask(std::string_view tensor, const Membership &membership) {
    for (size_t role = 0; role < selectors_.size(); ++role) {
      if (!selectors_[role].Matches(tensor, membership)) continue;
      known_.Of("", tensor) = role;
      return true;
    }
    return false;
  }
  // Returns the role that Ask() found, or nothing.
  std::optional<size_t> Of(const Sample &sample) {
    return known_.Of("", sample.Tensor(), sample.Number());
  }
  std::optional<size_t> Of(std::string_view tensor) { return known_.Of("", tensor); }

 private:
  std::vector<Selector> selectors_;
  TensorStates<std::optional<size_t>> known_;
};

}  // namespace smdebug::rules
