// Samples a large tensor for figures that need not be exact.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// A sample has about `most` elements; all elements if there are no more, or if `most` is 0.
// It consists of short runs spread evenly over row-major order, so that it includes elements of
// all long rows and columns.  The sampled positions depend only on the number of elements, not on
// the tensor's memory layout.  The tensor must not be text.

// Returns the number of sampled elements.
int64_t SpreadCount(const View &view, int64_t most);
// Copies the sample to `to`, which has room for it.
void CopySpread(const View &view, int64_t most, std::byte *to);

// Holds a sample.
class SpreadElements {
 public:
  SpreadElements() = default;
  // Copies the sample: `view` may be freed after the call.
  SpreadElements(const View &view, int64_t most);

  // Returns a one-dimensional view, valid until this object is moved or destroyed.
  View AsView() const { return {elements_.Data(), {&count_, 1}, {}, dtype_}; }

 private:
  DType dtype_ = DType::kInvalid;
  int64_t count_ = 0;
  AlignedBuffer elements_;
};

// The length of a run in elements: one cache line of float32.  A shorter run would cost as
// much.
inline constexpr int64_t kSpreadRun = 16;

}  // namespace smdebug::tensor
