// Waits for changes below a folder.
#pragma once

#include <set>
#include <string>

#include "storage/file_descriptor.h"
#include "storage/store.h"

namespace smdebug::storage {

// By inotify where the system grants it (it does not see other machines' changes, so
// callers limit their waits); else by time alone.
class LocalWatcher final : public Watcher {
 public:
  explicit LocalWatcher(std::string root);

  void Wait(Clock::Duration time) override;
  void Wake() override;

 private:
  // Whether one is watched that was not before.
  bool WatchFolders();

  const std::string root_;
  FileDescriptor changes_;  // inotify; not open where there is none
  FileDescriptor wake_;     // eventfd
  std::set<int> watched_;   // by inotify's numbers
};

}  // namespace smdebug::storage
