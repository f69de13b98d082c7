// Reads a file in pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/store.h"

namespace smdebug::profile {

// Holds the part of a file that is not used yet.  For one thread at a time.
class TextPieces {
 public:
  // The most of a file that is held.
  static constexpr size_t kMostHeld = size_t{64} << 20;

  // The whole text is there.
  explicit TextPieces(std::string text) : held_(std::move(text)) {}
  explicit TextPieces(std::shared_ptr<storage::FileReader> file) : file_(std::move(file)) {}

  std::string_view Held() const { return std::string_view(held_).substr(used_); }
  void Use(size_t count) { used_ += count; }
  // Adds to Held(); texts that point into it are lost.  Returns false at the end of the file.
  // Fails with CORRUPT_DATA if more than kMostHeld are not used, and as FileReader::Read().
  Result<bool> More();

 private:
  std::string held_;
  size_t used_ = 0;
  std::shared_ptr<storage::FileReader> file_;  // NULL: no more
  uint64_t next_ = 0;
};

}  // namespace smdebug::profile
