// The memory layout of a view, in as few dimensions as possible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/view.h"

namespace smdebug::tensor {

struct Dimension {
  int64_t size;
  int64_t stride;  // in bytes
};

// Has at least one dimension.  If there are no elements, has exactly one, of size 0.  The
// view must not be text.
struct Layout {
  const std::byte *origin = nullptr;
  std::array<Dimension, kMaxRank> dimensions{};
  size_t rank = 0;

  const Dimension &Last() const { return dimensions[rank - 1]; }
};

// Returns the layout in row-major order.  Adjacent dimensions that are contiguous in memory
// are merged.
Layout InOrder(const View &view);

// Returns the layout in the order that reads memory fastest, for callers that accept any
// order: no stride is negative, and the smallest is last.
Layout InAnyOrder(const View &view);

// Steps through the addresses of all combinations of the first `rank` indices, in order.
class Odometer {
 public:
  Odometer(const Layout &layout, size_t rank) : layout_(layout), rank_(rank) {}

  const std::byte *Address() const { return layout_.origin + offset_; }

  // Returns false after the last combination.
  bool Advance() {
    for (size_t i = rank_; i-- > 0;) {
      const Dimension &dimension = layout_.dimensions[i];
      if (++index_[i] < dimension.size) {
        offset_ += dimension.stride;
        return true;
      }
      offset_ -= dimension.stride * (dimension.size - 1);
      index_[i] = 0;
    }
    return false;
  }

 private:
  const Layout &layout_;
  size_t rank_;
  std::array<int64_t, kMaxRank> index_{};
  int64_t offset_ = 0;
};

// Copies `count` elements of `size` bytes, which are `stride` bytes apart, to contiguous
// memory.
void CopyStrided(const std::byte *from, int64_t stride, size_t size, int64_t count, std::byte *to);

}  // namespace smdebug::tensor
