// Bytes that lie in several pieces, taken or filled in turn.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace smdebug::net {

uint64_t TotalSize(std::span<const ByteSpan> pieces);
uint64_t TotalSize(std::span<const MutableByteSpan> pieces);

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

// The pieces must outlive it.
class PieceWriter {
 public:
  explicit PieceWriter(std::span<const MutableByteSpan> pieces) : pieces_(pieces) {}

  // False, with what there was room for written, if not all fit.
  bool Write(ByteSpan bytes);

 private:
  std::span<const MutableByteSpan> pieces_;
  size_t piece_ = 0;
  size_t offset_ = 0;  // within the piece
};

}  // namespace smdebug::net
