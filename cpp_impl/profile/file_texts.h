// Opens the files of a profiler folder one after the other.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile_files.h"
#include "profile/read_text.h"
#include "profile/read_timeline.h"
#include "storage/store.h"

namespace smdebug::profile {

// For one thread at a time.
class FileTexts {
 public:
  FileTexts(std::shared_ptr<storage::Store> store, std::vector<ProfileFile> files)
      : store_(std::move(store)), files_(std::move(files)) {}

  bool IsAtEnd() const { return next_ == files_.size(); }
  // The file that OpenNext() opens.
  const ProfileFile &Next() const { return files_[next_]; }
  // Opens the next file.  Remote files are read several at a time.  Fails as the store does; the
  // file is then skipped.
  Result<TextPieces> OpenNext();

  // Returns what earlier files of the same node and kind said.
  TimelineState &StateOf(const ProfileFile &file);
  // Returns the place of a file, for messages.
  std::string Describe(const ProfileFile &file) const;

 private:
  std::shared_ptr<storage::Store> store_;
  std::vector<ProfileFile> files_;
  size_t next_ = 0;
  std::deque<Result<std::string>> texts_;  // of the files from `next_` on
  std::map<std::string, TimelineState, std::less<>> states_;
};

}  // namespace smdebug::profile
