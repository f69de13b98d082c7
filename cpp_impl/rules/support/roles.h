// Tells which of a rule's several kinds of tensors a tensor is.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/support/selector.h"

namespace smdebug::rules {

// Selects tensors of several kinds.  Any thread.
class Roles {
 public:
  // Gives each selector a role: 0, 1, ... If several selectors match a tensor, the first gives its
  // role.
  explicit Roles(std::vector<Selector> selectors) : selectors_(std::move(selectors)) {}

  // Returns the role of a tensor, or nothing if no selector matches it.
  std::optional<size_t> Of(std::string_view tensor, const Membership &membership) const {
    for (size_t role = 0; role < selectors_.size(); ++role) {
      if (selectors_[role].Matches(tensor, membership)) return role;
    }
    return {};
  }

 private:
  std::vector<Selector> selectors_;
};

}  // namespace smdebug::rules
