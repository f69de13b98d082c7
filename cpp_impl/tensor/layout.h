// Where a view's elements lie, in as few dimensions as possible.
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

// At least one dimension; exactly one, of size 0, if there are no elements.  Not for text.
struct Layout {
  const std::byte *origin = nullptr;
  std::array<Dimension, kMaxRank> dimensions{};
  size_t rank = 0;

  const Dimension &Last() const { return dimensions[rank - 1]; }
};

// Row-major order; neighbouring dimensions that are one run of memory are merged.
Layout InOrder(const View &view);

// The order in which memory is read best, for those who do not care: strides are not
// negative and the smallest is last.
Layout InAnyOrder(const View &view);

// The byte offsets, in order, of all combinations of the first `rank` indices.
class Odometer {
 public:
  Odometer(const Layout &layout, size_t rank) : layout_(layout), rank_(rank) {}

  const std::byte *Address() const { return layout_.origin + offset_; }

  // False after the last combination.
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

// Copies `count` elements of `size` bytes, `stride` bytes apart, to a row.
void CopyStrided(const std::byte *from, int64_t stride, size_t size, int64_t count, std::byte *to);

}  // namespace smdebug::tensor
