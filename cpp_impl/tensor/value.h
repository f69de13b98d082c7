// A tensor that owns its elements.
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

// Immutable once shared; copies share the elements.
struct Value {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> shape;
  // The elements, row-major; not for text.  May be a part of a larger buffer.
  std::shared_ptr<const std::byte> data;
  size_t size = 0;
  // The elements of text, row-major; else NULL.
  std::shared_ptr<const std::vector<std::string>> strings;

  ByteSpan Bytes() const { return {data.get(), size}; }
  View AsView() const { return {data.get(), shape, {}, dtype}; }

  // A copy of one scalar of a numeric type, with the given shape's sizes all 1.
  template <class T>
  static Value Scalar(DType dtype, T element, std::vector<int64_t> shape = {}) {
    return CopyOf(dtype, AsBytes({reinterpret_cast<const char *>(&element), sizeof element}),
                  std::move(shape));
  }
  // A copy of `bytes` in an aligned buffer.
  static Value CopyOf(DType dtype, ByteSpan bytes, std::vector<int64_t> shape);
};

// The one element of a numeric value as a double (a complex number's real part).
// Fails: INVALID_ARGUMENT (not one element), UNSUPPORTED (text).
Result<double> ToDouble(const Value &value);

}  // namespace smdebug::tensor
