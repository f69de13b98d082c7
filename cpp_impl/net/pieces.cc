#include "net/pieces.h"

#include <algorithm>
#include <cstring>

namespace smdebug::net {
namespace {

template <class Piece>
uint64_t Total(std::span<const Piece> pieces) {
  uint64_t total = 0;
  for (const Piece &piece : pieces) total += piece.size();
  return total;
}

}  // namespace

uint64_t TotalSize(std::span<const ByteSpan> pieces) { return Total(pieces); }
uint64_t TotalSize(std::span<const MutableByteSpan> pieces) { return Total(pieces); }

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

bool PieceWriter::Write(ByteSpan bytes) {
  while (!bytes.empty() && piece_ < pieces_.size()) {
    const MutableByteSpan room = pieces_[piece_].subspan(offset_);
    const size_t count = std::min(room.size(), bytes.size());
    if (count != 0) std::memcpy(room.data(), bytes.data(), count);
    bytes = bytes.subspan(count);
    offset_ += count;
    if (offset_ == pieces_[piece_].size()) {
      ++piece_;
      offset_ = 0;
    }
  }
  return bytes.empty();
}

}  // namespace smdebug::net
