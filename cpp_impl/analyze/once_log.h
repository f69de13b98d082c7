// Logs each error line once.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"

namespace smdebug::analyze {

// Logs each line at most once, and at most kMostLines different ones.
//
// Thread safety: any thread.  The log function is called with no lock held.
class OnceLog {
 public:
  explicit OnceLog(Logger logger) : logger_(std::move(logger)) {}

  void Error(const std::string &line) SMD_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (logged_.size() >= kMostLines || !logged_.insert(line).second) return;
    }
    logger_.Error(line);
  }

 private:
  static constexpr size_t kMostLines = 100;

  const Logger logger_;
  Mutex mutex_;
  std::set<std::string> logged_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::analyze
