// Numbers for names, so that events are small and names are compared fast.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace smdebug::profile_rules {

using NameId = uint32_t;

// For one thread at a time.
class NameTable {
 public:
  // A job that puts a number into each name has many; those beyond share the last.
  static constexpr size_t kMost = 100'000;

  NameId IdOf(std::string_view name);
  // Valid as long as the table.
  const std::string &NameOf(NameId id) const { return names_[id]; }
  size_t Size() const { return names_.size(); }

 private:
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, NameId> ids_;  // of texts in `names_`
  // The last two names that were asked for: they repeat.
  NameId recent_[2] = {0, 0};
};

}  // namespace smdebug::profile_rules
