#include "profile/read_text.h"

#include <algorithm>
#include <span>

namespace smdebug::profile {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

}  // namespace

Result<bool> TextPieces::More() {
  if (!file_) return false;
  held_.erase(0, used_);
  used_ = 0;
  if (held_.size() >= kMostHeld) {
    return Status(Code::kCorruptData, "one event or line is larger than 64 MiB");
  }
  SMD_ASSIGN_OR_RETURN(const uint64_t size, file_->Size());
  const uint64_t left = size - std::min(size, next_);
  if (left == 0) {
    file_ = nullptr;
    return false;
  }
  // A long event is not looked at again for each piece.
  const size_t old = held_.size();
  const auto count = static_cast<size_t>(std::min<uint64_t>(left, std::max(kPiece, old)));
  held_.resize(old + count);
  SMD_RETURN_IF_ERROR(
      file_->ReadInto(next_, std::as_writable_bytes(std::span(held_).subspan(old, count))));
  next_ += count;
  return true;
}

}  // namespace smdebug::profile
