// Lists the files that appear below a folder of the file system.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "storage/local_events.h"
#include "storage/store.h"
#include "storage/versions.h"

namespace smdebug::storage {

// Returns the sorted names in an open folder, without "." and "..", of all entries or of folders.
enum class Entries : uint8_t { kAll, kFolders };
Result<std::vector<std::string>> ReadFolder(FileDescriptor folder, const std::string &path,
                                            Entries which = Entries::kAll);
// Appends the files in an open folder, whose name is `folder`, in the order of their names.
Status ReadVersions(FileDescriptor opened, const std::string &path, const std::string &folder,
                    std::vector<ListedFile> *files);

// Uses kernel events where they are available.  Elsewhere it checks each folder's modification
// time, and reads a folder only if that time has changed.  If nothing has changed, a call costs two
// system calls.  Without events it also costs a stat for each of the newest buckets.
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
    bool is_settled = false;  // every later change gives a newer time
    int watch = -1;           // its number among the events, while they report new names
  };
  using Buckets = std::map<std::string, Seen>;

  // Appends the files that events report to `files`.
  void TakeEvents(std::vector<std::string> *files);
  // Appends other new files to `files`, and the folders that it checked to `noted`.
  Status Look(std::vector<std::string> *files, std::vector<Seen *> *noted);
  Status LookAtTop();
  Status LookAtBucket(Buckets::value_type *bucket, std::vector<std::string> *files);
  void ForgetBucket(Seen *seen);
  // Returns true if `path` exists and must be read (again).  Notes its state.
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
  std::map<int, const std::string *> watched_;  // bucket names, by number
};

}  // namespace smdebug::storage
