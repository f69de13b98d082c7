// A tensor borrowed for the duration of a call.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace smdebug::tensor {

inline constexpr int32_t kMaxRank = 32;

// The most bytes of elements that fit one record: protobuf limits its length to 31 bits.
inline constexpr uint64_t kMaxPayload = (uint64_t{1} << 31) - (64 << 10);

// The shape, type and address of elements in host memory.  Check() makes one from untrusted
// parts.
struct View {
  const void *data = nullptr;  // for kString: an array of NUL-terminated texts
  std::span<const int64_t> shape;
  std::span<const int64_t> strides;  // in elements; empty: row-major, compact
  DType dtype = DType::kInvalid;

  // Returns the view of these parts if they are valid: the dtype is known, 0 <= ndim <=
  // kMaxRank, no size is negative, nothing overflows, data is not NULL unless the tensor is
  // empty, and a tensor of text has at most kMaxPayload / 2 elements.  Drops strides that
  // describe a compact tensor.
  static Result<View> Check(const void *data, const int64_t *shape, const int64_t *strides,
                            int32_t ndim, DType dtype);

  // Returns a view without data, if these parts are valid.
  static Result<View> Form(const int64_t *shape, int32_t ndim, DType dtype);

  int64_t ElementCount() const;
  // Returns ElementCount() times the element size; 0 for text.
  size_t ByteCount() const { return static_cast<size_t>(ElementCount()) * DTypeSize(dtype); }
  bool IsCompact() const { return strides.empty(); }
};

// Returns the product of the sizes.
// Fails: INVALID_ARGUMENT (overflow, a negative size).
Result<int64_t> CountElements(std::span<const int64_t> shape);

// Writes the elements in row-major order to `out`, which must have ByteCount() bytes.  The
// view must not be text.
void CopyCompact(const View &view, std::byte *out);

}  // namespace smdebug::tensor
