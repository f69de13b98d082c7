// Keeps the rows of finished steps in files, so that scanning them again costs a fraction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "format/stored_rows.h"

namespace smdebug::tables {

// Files in $XDG_CACHE_HOME/libsmdebug/rows, or else in ~/.cache, which only the user can read.
// They may be removed at any time.  A file that is damaged, belongs to another user or cannot be
// read counts as missing, and one that cannot be written is not: only time is lost.  When all have
// more than the limit of bytes, those that were not used for the longest time are removed.  Safe
// from any thread.
class RowCache {
 public:
  // Returns the user's cache, or NULL if there is none: SMDEBUG_ROW_CACHE_MB is 0, or there is no
  // home folder.  Fails with INVALID_CONFIG if the variable is no number.
  static Result<std::shared_ptr<RowCache>> FromEnvironment();

  RowCache(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  // The most bytes of rows that are kept in one file.
  static constexpr uint64_t kLargest = uint64_t{32} << 20;

  // Returns the rows that were saved under this key, or nothing.
  std::optional<format::StoredRows> Load(std::string_view key) const;
  void Save(std::string_view key, const format::StoredRows &rows) SMD_EXCLUDES(mutex_);

 private:
  std::string PathOf(std::string_view key) const;
  void Trim() SMD_REQUIRES(mutex_);

  const std::string folder_;
  const uint64_t limit_;
  Mutex mutex_;
  uint64_t saved_ SMD_GUARDED_BY(mutex_) = 0;  // bytes since Trim()
  uint64_t files_ SMD_GUARDED_BY(mutex_) = 0;  // written so far
};

}  // namespace smdebug::tables
