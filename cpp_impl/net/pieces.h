// Reads bytes that are stored in several pieces.
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

  // Copies the next bytes.  Fills `out` unless the end is reached.
  size_t Read(MutableByteSpan out);
  // Moves to an offset from the beginning.  Returns false if it is beyond the end.
  bool Seek(uint64_t offset);

 private:
  std::span<const ByteSpan> pieces_;
  size_t piece_ = 0;
  size_t offset_ = 0;  // within the piece
};

}  // namespace smdebug::net
