// Waits for changes below a folder.
#pragma once

#include <set>
#include <string>

#include "base/file_descriptor.h"
#include "storage/store.h"

namespace smdebug::storage {

// Uses inotify where the system grants it, else time alone. inotify does not see other machines'
// changes, so callers limit their waits.
class LocalWatcher final : public Watcher {
 public:
  explicit LocalWatcher(std::string root);

  void Wait(Clock::Duration time) override;
  void Wake() override;

 private:
  // Returns true if a folder was watched for the first time.
  bool WatchFolders();

  const std::string root_;
  FileDescriptor changes_;  // inotify; not open where it is unavailable
  FileDescriptor wake_;     // eventfd
  std::set<int> watched_;   // by inotify's watch descriptors
};

}  // namespace smdebug::storage
