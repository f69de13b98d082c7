// Samples a large tensor for figures that need not be exact.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// A sample of about `most` elements; all elements if there are no more, or if `most` is 0.
// The sample consists of short runs spread evenly over row-major order, so that it includes
// elements of all long rows and columns.  The sampled positions depend only on the number of
// elements, not on the tensor's memory layout.
class SpreadElements {
 public:
  SpreadElements() = default;
  // Copies the sample: `view` may be freed after the call.  It must not be text.
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
