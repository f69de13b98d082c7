// Spans of bytes, and memory that owns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace smdebug {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

inline ByteSpan AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

inline std::string_view AsText(ByteSpan bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

// Bytes and their owner; without an owner the bytes are borrowed.
struct Piece {
  std::shared_ptr<const void> owner;
  ByteSpan bytes;
};

// Uninitialised memory aligned to 64 bytes.  Movable, not copyable.
class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  AlignedBuffer() = default;
  // Throws std::bad_alloc.
  explicit AlignedBuffer(size_t size);

  std::byte *Data() { return data_.get(); }
  const std::byte *Data() const { return data_.get(); }
  size_t Size() const { return size_; }
  MutableByteSpan Span() { return {Data(), size_}; }
  ByteSpan Span() const { return {Data(), size_}; }

 private:
  struct Free {
    void operator()(std::byte *data) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  size_t size_ = 0;
};

}  // namespace smdebug
