// What appears below a folder of the file system.
#pragma once

#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "storage/file_descriptor.h"
#include "storage/store.h"

namespace smdebug::storage {

// The names in an open folder, without "." and "..", sorted.
Result<std::vector<std::string>> ReadFolder(FileDescriptor folder, const std::string &path);

// Asks the file system for the time of each folder's last change, and reads a folder
// only if that has changed.  Costs one stat, plus one for each of the newest buckets,
// where nothing has.
class LocalListing final : public Listing {
 public:
  LocalListing(std::string root, std::string folder);

  Result<std::vector<std::string>> Next() override;

 private:
  // The state of a folder when it was last read.
  struct Seen {
    timespec changed{};
    bool is_settled = false;  // nothing can have changed since without a newer time
  };

  // Appends what is new to `files`, and to `noted` the folders whose state it noted.
  Status Look(std::vector<std::string> *files, std::vector<Seen *> *noted);
  // Whether `path` is there and must be read (again); notes its time.
  Result<bool> HasChanged(const std::string &path, Seen *seen) const;
  Result<std::vector<std::string>> Read(const std::string &path) const;

  const std::string root_;
  const std::string folder_;
  Seen folder_seen_;
  std::map<std::string, Seen> buckets_;
};

}  // namespace smdebug::storage
