#include "storage/file_descriptor.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/strings.h"

namespace smdebug::storage {
namespace {

constexpr size_t kMostPieces = 64;

// The pieces still to be moved, in the form of the vectored calls.
template <class Span>
class IoVector {
 public:
  explicit IoVector(std::span<const Span> pieces) : pieces_(pieces) { Refill(); }

  bool IsDone() const { return count_ == 0; }
  const iovec *Data() const { return entries_.data(); }
  int Count() const { return static_cast<int>(count_); }
  size_t Left() const {
    size_t left = 0;
    for (size_t i = 0; i < count_; ++i) left += entries_[i].iov_len;
    for (const Span &piece : pieces_.subspan(next_)) left += piece.size();
    return left;
  }

  void Advance(size_t moved) {
    size_t done = 0;
    while (done < count_ && moved >= entries_[done].iov_len) moved -= entries_[done++].iov_len;
    std::copy(entries_.begin() + done, entries_.begin() + count_, entries_.begin());
    count_ -= done;
    if (count_ > 0) {
      entries_[0].iov_base = static_cast<char *>(entries_[0].iov_base) + moved;
      entries_[0].iov_len -= moved;
    }
    Refill();
  }

 private:
  void Refill() {
    for (; next_ < pieces_.size() && count_ < kMostPieces; ++next_) {
      const Span &piece = pieces_[next_];
      if (piece.empty()) continue;
      // The calls take the address without const also where they only read.
      entries_[count_++] = {const_cast<std::byte *>(piece.data()), piece.size()};
    }
  }

  std::span<const Span> pieces_;
  size_t next_ = 0;
  std::array<iovec, kMostPieces> entries_{};
  size_t count_ = 0;
};

}  // namespace

void FileDescriptor::Reset() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

Status FileDescriptor::Close(const std::string &path) {
  const int result = close(std::exchange(number_, -1));
  // Linux has closed the file also where it was interrupted.
  if (result == 0 || errno == EINTR) return Status::Ok();
  return SystemError("closing", path, errno);
}

Status WriteAll(const FileDescriptor &file, std::span<const ByteSpan> pieces,
                const std::string &path) {
  IoVector<ByteSpan> left(pieces);
  while (!left.IsDone()) {
    const ssize_t moved = writev(file.Number(), left.Data(), left.Count());
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return SystemError("writing", path, errno);
    left.Advance(static_cast<size_t>(moved));
  }
  return Status::Ok();
}

Status ReadAll(const FileDescriptor &file, uint64_t offset, std::span<const MutableByteSpan> pieces,
               const std::string &path) {
  IoVector<MutableByteSpan> left(pieces);
  while (!left.IsDone()) {
    const ssize_t moved =
        preadv(file.Number(), left.Data(), left.Count(), static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return SystemError("reading", path, errno);
    if (moved == 0) {
      return CorruptData(path, StrCat("the file is cut: it ends at ", offset, ", ", left.Left(),
                                      " bytes too early"));
    }
    left.Advance(static_cast<size_t>(moved));
    offset += static_cast<uint64_t>(moved);
  }
  return Status::Ok();
}

}  // namespace smdebug::storage
