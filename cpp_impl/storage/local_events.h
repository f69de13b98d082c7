// Receives the kernel's events about changes in folders.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace smdebug::storage {

// Uses inotify.  For one thread.
class LocalEvents {
 public:
  // Limits inotify instances per process: the kernel allows a user few, shared by all programs.
  static constexpr int kMost = 16;

  LocalEvents() = default;
  ~LocalEvents() { Reset(); }
  LocalEvents(const LocalEvents &) = delete;
  LocalEvents &operator=(const LocalEvents &) = delete;

  // Receives a name that appeared in a watched folder, and the folder's number.
  using Take = std::function<void(int folder, std::string_view name)>;

  // Reports every name that appears in the folder from here on.  Returns the folder's number.
  // Returns -1 if the folder cannot be watched: the limit is reached, the system refuses, or other
  // machines may change the folder, which causes no events here.
  int Watch(const std::string &path);
  void Forget(int folder);

  // Passes the events since the last call to `take`.  Returns false if events were lost, or a
  // folder lost a name or was removed.  Then all watches are dropped.
  bool Next(const Take &take);

  // Drops all watches.
  void Reset();

 private:
  bool Open();

  FileDescriptor events_;  // open while a folder is watched
};

}  // namespace smdebug::storage
