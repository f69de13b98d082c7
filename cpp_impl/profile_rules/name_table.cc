#include "profile_rules/name_table.h"

namespace smdebug::profile_rules {

NameId NameTable::IdOf(std::string_view name) {
  for (const NameId id : recent_) {
    if (id < names_.size() && names_[id] == name) return id;
  }
  const auto found = ids_.find(name);
  NameId id = 0;
  if (found != ids_.end()) {
    id = found->second;
  } else if (names_.size() <= kMost) {
    id = static_cast<NameId>(names_.size());
    names_.emplace_back(id == kMost ? "(other names)" : name);
    ids_.emplace(names_.back(), id);
  } else {
    return kMost;
  }
  recent_[1] = recent_[0];
  recent_[0] = id;
  return id;
}

}  // namespace smdebug::profile_rules
