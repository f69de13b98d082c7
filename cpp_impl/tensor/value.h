// Tensors that own their elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// A tensor that owns its elements.  It is immutable once shared; copies share the elements.
struct Value {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> shape;
  // The elements in row-major order; NULL for text.  May point into a larger buffer.
  std::shared_ptr<const std::byte> data;
  size_t size = 0;
  // The elements of a text tensor in row-major order; NULL for other types.
  std::shared_ptr<const std::vector<std::string>> strings;

  ByteSpan Bytes() const { return {data.get(), size}; }
  View AsView() const { return {data.get(), shape, {}, dtype}; }

  // Returns a value with a copy of one number.  All sizes in `shape` must be 1.
  template <class T>
  static Value Scalar(DType dtype, T element, std::vector<int64_t> shape = {}) {
    return CopyOf(dtype, AsBytes({reinterpret_cast<const char *>(&element), sizeof element}),
                  std::move(shape));
  }
  // Returns a value with a copy of `bytes` in an aligned buffer.
  static Value CopyOf(DType dtype, ByteSpan bytes, std::vector<int64_t> shape);
};

// Returns the only element of a numeric value as a double (the real part if it is complex).
// Fails: INVALID_ARGUMENT (not one element), UNSUPPORTED (text).
Result<double> ToDouble(const Value &value);
// Returns the same of an element's bytes.
Result<double> ToDouble(DType dtype, ByteSpan element);

}  // namespace smdebug::tensor
