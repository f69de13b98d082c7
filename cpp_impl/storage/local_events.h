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
  // A name that appeared in a watched folder, by the folder's number.
  using Take = std::function<void(int folder, std::string_view name)>;

  // From here on every name that appears in the folder is told.  A number, or -1 where that
  // cannot be: the system does not grant it, or other machines may change the folder, of
  // which it would not tell.
  int Watch(const std::string &path);
  void Forget(int folder);

  // Gives out what was told since the last call.  False if something is missing, or a
  // folder has lost one or is gone itself: then nothing is watched any more.
  bool Next(const Take &take);

  // Watches nothing any more.
  void Reset();

 private:
  FileDescriptor events_;  // open while something is watched
};

}  // namespace smdebug::storage
