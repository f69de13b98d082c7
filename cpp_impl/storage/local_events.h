// What the kernel tells of changes in folders.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "storage/file_descriptor.h"

namespace smdebug::storage {

// By inotify.  For one thread.
class LocalEvents {
 public:
  // As many of a process watch something at a time: a user has few, for all programs.
  static constexpr int kMost = 16;

  LocalEvents() = default;
  ~LocalEvents() { Reset(); }
  LocalEvents(const LocalEvents &) = delete;
  LocalEvents &operator=(const LocalEvents &) = delete;

  // A name that appeared in a watched folder, by the folder's number.
  using Take = std::function<void(int folder, std::string_view name)>;

  // From here on every name that appears in the folder is told.  A number, or -1 where that
  // cannot be: as many others do, the system does not grant it, or other machines may change the
  // folder, of which it would not tell.
  int Watch(const std::string &path);
  void Forget(int folder);

  // Gives out what was told since the last call.  False if something is missing, or a
  // folder has lost one or is gone itself: then nothing is watched any more.
  bool Next(const Take &take);

  // Watches nothing any more.
  void Reset();

 private:
  bool Open();

  FileDescriptor events_;  // open while something is watched
};

}  // namespace smdebug::storage
