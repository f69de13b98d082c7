#include "net/pieces.h"

#include <algorithm>
#include <cstring>

namespace smdebug::net {

uint64_t TotalSize(std::span<const ByteSpan> pieces) {
  uint64_t total = 0;
  for (const ByteSpan piece : pieces) total += piece.size();
  return total;
}

size_t PieceReader::Read(MutableByteSpan out) {
  size_t done = 0;
  while (done < out.size() && piece_ < pieces_.size()) {
    const ByteSpan rest = pieces_[piece_].subspan(offset_);
    const size_t count = std::min(rest.size(), out.size() - done);
    if (count != 0) std::memcpy(out.data() + done, rest.data(), count);
    done += count;
    offset_ += count;
    if (offset_ == pieces_[piece_].size()) {
      ++piece_;
      offset_ = 0;
    }
  }
  return done;
}

bool PieceReader::Seek(uint64_t offset) {
  piece_ = 0;
  while (piece_ < pieces_.size() && offset >= pieces_[piece_].size()) {
    offset -= pieces_[piece_++].size();
  }
  offset_ = piece_ == pieces_.size() ? 0 : static_cast<size_t>(offset);
  return piece_ < pieces_.size() || offset == 0;
}

}  // namespace smdebug::net
