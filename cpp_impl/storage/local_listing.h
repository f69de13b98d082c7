// What appears below a folder of the file system.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/file_descriptor.h"
#include "storage/local_events.h"
#include "storage/store.h"

namespace smdebug::storage {

// The names in an open folder, without "." and "..", sorted.
Result<std::vector<std::string>> ReadFolder(FileDescriptor folder, const std::string &path);

// Has the kernel tell what appears, where it does; elsewhere asks for the time of each
// folder's last change, and reads a folder only if that has changed.  Costs two calls where
// nothing has, and elsewhere a stat for each of the newest buckets besides.
class LocalListing final : public Listing {
 public:
  LocalListing(std::string_view root, std::string folder);

  Result<std::vector<std::string>> Next() override;

 private:
  // The state of a folder when it was last read.
  struct Seen {
    timespec changed{};
    dev_t device = 0;
    ino_t inode = 0;
    bool is_settled = false;  // nothing can have changed since without a newer time
    int watch = -1;           // its number among the events, while they tell what appears
  };
  using Buckets = std::map<std::string, Seen>;

  // Appends to `files` what the events tell.
  void TakeEvents(std::vector<std::string> *files);
  // Appends what else is new to `files`, and to `noted` the folders it looked at.
  Status Look(std::vector<std::string> *files, std::vector<Seen *> *noted);
  Status LookAtTop();
  Status LookAtBucket(Buckets::value_type *bucket, std::vector<std::string> *files);
  void ForgetBucket(Seen *seen);
  // Whether `path` is there and must be read (again); notes its state.
  Result<bool> HasChanged(const std::string &path, Seen *seen) const;
  Result<std::vector<std::string>> Read(const std::string &path) const;
  void StopWatching();

  const std::string folder_;
  const std::string top_;  // the folder's path
  Seen top_seen_;
  Buckets buckets_;
  bool is_first_look_ = true;
  bool must_look_at_all_ = true;  // some bucket may not have been read yet
  LocalEvents events_;
  std::map<int, const std::string *> watched_;  // buckets' names, by their numbers
};

}  // namespace smdebug::storage
