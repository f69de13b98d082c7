// Tells whether files have changed, without reading them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace smdebug::storage {

// A file in a listing.
struct ListedFile {
  std::string name;
  // Bytes that differ from those of any other content the file has had: as Store::VersionOf(), but
  // not text.  Empty if that is unknown.
  std::string version;
  double modified_at = 0;  // seconds since 1970
  uint64_t size = 0;       // bytes
};

// A store that can list versions of files.  Safe from any thread.
class VersionStore {
 public:
  virtual ~VersionStore() = default;

  // Returns the files in a folder and in its folders, with their versions.  Returns none if the
  // folder is missing.
  virtual Result<std::vector<ListedFile>> ListVersions(const std::string &folder) = 0;
};

}  // namespace smdebug::storage
