// Bytes that lie in several pieces, taken in turn.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace smdebug::net {

uint64_t TotalSize(std::span<const ByteSpan> pieces);

// The pieces must outlive it.
class PieceReader {
 public:
  explicit PieceReader(std::span<const ByteSpan> pieces) : pieces_(pieces) {}

  // Copies the next bytes; fewer than `out` holds only at the end.
  size_t Read(MutableByteSpan out);
  // Goes to that offset from the beginning; false if it lies behind the end.
  bool Seek(uint64_t offset);

 private:
  std::span<const ByteSpan> pieces_;
  size_t piece_ = 0;
  size_t offset_ = 0;  // within the piece
};

}  // namespace smdebug::net
