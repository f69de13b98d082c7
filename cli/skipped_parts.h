// What an evaluation of a profile skips, taken from its log.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli {

// Lives longer than the rules that log into it.  Thread safety: any thread.
class SkippedParts {
 public:
  // Takes warnings instead of stderr.
  void Watch(ProfileRules *rules) {
    detail::Check(smd_profile_rules_set_log(rules->Get(), SMD_LOG_WARNING, Add, this, nullptr));
  }
  // Returns each sentence once.
  std::vector<std::string> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(sentences_, {});
  }

 private:
  static void Add(void *self, smd_log_level, const char *line) {
    auto &parts = *static_cast<SkippedParts *>(self);
    const std::lock_guard<std::mutex> lock(parts.mutex_);
    auto &all = parts.sentences_;
    if (std::find(all.begin(), all.end(), line) == all.end()) all.emplace_back(line);
  }

  std::mutex mutex_;
  std::vector<std::string> sentences_;
};

}  // namespace smdebug::cli
