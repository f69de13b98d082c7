// Some elements of a large tensor, for figures that need not be exact.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// About `most` elements, all if there are not more or `most` is 0, spread evenly over row-major
// order in short runs, so that long rows and columns are all met.  They are the same ones of
// every tensor of so many elements, however it lies in memory.
class SpreadElements {
 public:
  SpreadElements() = default;
  // Not for text.  Copies, so that the view's memory is not needed any longer.
  SpreadElements(const View &view, int64_t most);

  // Of one dimension; for as long as this one is where it is.
  View AsView() const { return {elements_.Data(), {&count_, 1}, {}, dtype_}; }

 private:
  DType dtype_ = DType::kInvalid;
  int64_t count_ = 0;
  AlignedBuffer elements_;
};

// How many neighbours are taken together: a cache line of float32, less costs as much.
inline constexpr int64_t kSpreadRun = 16;

}  // namespace smdebug::tensor
