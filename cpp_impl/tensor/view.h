// A tensor lent for the length of a call.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace smdebug::tensor {

inline constexpr int32_t kMaxRank = 32;

// A payload must fit a record whose length protobuf keeps in 31 bits.
inline constexpr uint64_t kMaxPayload = (uint64_t{1} << 31) - (64 << 10);

// Shape, type and address of elements in host memory.  Make one with Check().
struct View {
  const void *data = nullptr;  // for kString: an array of NUL-terminated texts
  std::span<const int64_t> shape;
  std::span<const int64_t> strides;  // in elements; empty: row-major, compact
  DType dtype = DType::kInvalid;

  // The view of those parts, if they make sense: known dtype, 0 <= ndim <= kMaxRank,
  // no negative size, no overflow, data where there are elements, payload below
  // kMaxPayload.  Strides that describe a compact tensor are dropped.
  static Result<View> Check(const void *data, const int64_t *shape, const int64_t *strides,
                            int32_t ndim, DType dtype);

  int64_t ElementCount() const;
  // ElementCount() times the element's size; 0 for text.
  size_t ByteCount() const { return static_cast<size_t>(ElementCount()) * DTypeSize(dtype); }
  bool IsCompact() const { return strides.empty(); }
};

// The product of a shape's sizes, or nothing if it overflows or a size is negative.
Result<int64_t> CountElements(std::span<const int64_t> shape);

// Writes the elements in row-major order to `out`, which has ByteCount() bytes.  Not
// for text.
void CopyCompact(const View &view, std::byte *out);

}  // namespace smdebug::tensor
