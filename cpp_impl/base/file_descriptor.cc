#include "base/file_descriptor.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/strings.h"

namespace smdebug {
namespace {

constexpr size_t kMostPieces = 64;

// Holds the remaining pieces in the form of the vectored call.
class IoVector {
 public:
  explicit IoVector(std::span<const Piece> pieces) : pieces_(pieces) { Refill(); }

  bool IsDone() const { return count_ == 0; }
  const iovec *Data() const { return entries_.data(); }
  int Count() const { return static_cast<int>(count_); }

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
      const ByteSpan bytes = pieces_[next_].bytes;
      if (bytes.empty()) continue;
      // The call's signature lacks const, but the call only reads.
      entries_[count_++] = {const_cast<std::byte *>(bytes.data()), bytes.size()};
    }
  }

  std::span<const Piece> pieces_;
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
  // Linux closes the file even if the call is interrupted.
  if (result == 0 || errno == EINTR) return Status::Ok();
  return SystemError("closing", path, errno);
}

Status WriteAll(const FileDescriptor &file, std::span<const Piece> pieces,
                const std::string &path) {
  IoVector left(pieces);
  while (!left.IsDone()) {
    const ssize_t moved = writev(file.Number(), left.Data(), left.Count());
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return SystemError("writing", path, errno);
    left.Advance(static_cast<size_t>(moved));
  }
  return Status::Ok();
}

Status ReadAll(const FileDescriptor &file, uint64_t offset, uint64_t length, ByteSink &sink,
               const std::string &path) {
  while (length > 0) {
    MutableByteSpan room = sink.Room();
    room = room.first(std::min<uint64_t>(room.size(), length));
    if (room.empty()) return CorruptData(path, StrCat("what stands at ", offset, " is refused"));
    const ssize_t moved =
        pread(file.Number(), room.data(), room.size(), static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return SystemError("reading", path, errno);
    if (moved == 0) {
      return CorruptData(
          path, StrCat("the file is cut: it ends at ", offset, ", ", length, " bytes too early"));
    }
    sink.Advance(static_cast<size_t>(moved));
    offset += static_cast<uint64_t>(moved);
    length -= static_cast<uint64_t>(moved);
  }
  return Status::Ok();
}

}  // namespace smdebug
