// Tells which collections a tensor belongs to.
#pragma once

#include <string_view>

namespace smdebug::rules {

// Reports the collections of one job, as its hook configured them.
class Membership {
 public:
  virtual ~Membership() = default;
  virtual bool IsIn(std::string_view collection, std::string_view tensor) const = 0;
};

}  // namespace smdebug::rules
