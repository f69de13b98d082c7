// Tells optimizers that have never had a gradient to apply.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace smdebug::rules {

// Follows the optimizers of one worker.  A hook tells an update without gradients by
// "idle_update/Adam_0", and any other one by the rate "learning_rate/Adam_0_0", whose last number
// is that of the group.  For one thread.
class VainOptimizers {
 public:
  void NoteRate(std::string_view rate) {
    const std::string_view optimizer = AfterSlash(rate.substr(0, rate.rfind('_')));
    if (!useful_.contains(optimizer)) useful_.emplace(optimizer);
  }
  void NoteIdle(std::string_view idle) {
    const std::string_view optimizer = AfterSlash(idle);
    const auto known = idle_.find(optimizer);
    ++(known == idle_.end() ? idle_.emplace(optimizer, 0).first : known)->second;
  }

  // Returns true if an optimizer was called at several updates, and had no gradient at any.
  bool HasVainOne() const {
    for (const auto &[optimizer, updates] : idle_) {
      if (updates >= kPatience && !useful_.contains(optimizer)) return true;
    }
    return false;
  }

 private:
  static constexpr int64_t kPatience = 3;

  static std::string_view AfterSlash(std::string_view name) {
    return name.substr(name.find('/') + 1);
  }

  std::set<std::string, std::less<>> useful_;
  std::map<std::string, int64_t, std::less<>> idle_;  // updates without a gradient
};

}  // namespace smdebug::rules
