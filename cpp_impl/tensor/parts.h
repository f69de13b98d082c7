// Splits a tensor that is too large for one record.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/view.h"

namespace smdebug::tensor {

// Walks over a view in parts.  Each part is a block of the view with the same number of dimensions
// and, in row-major order, continues where the part before it ended.  For one thread.
class Parts {
 public:
  // `view` must have elements, must not be text, and must outlive this object.  A part has at most
  // `most_bytes`, but at least one element.
  Parts(const View &view, uint64_t most_bytes);

  // Returns the part, valid until Advance() or destruction.
  const View &Current() const { return part_; }
  // Returns false after the last part.
  bool Advance();

 private:
  void Show();

  const View &view_;
  std::array<int64_t, kMaxRank> strides_{};  // of the view, in elements
  std::array<int64_t, kMaxRank> shape_{};    // of the part
  std::array<int64_t, kMaxRank> begin_{};    // of the part, for each dimension
  size_t axis_ = 0;                          // the dimension that is cut
  int64_t rows_ = 1;                         // along it, the size of all parts but the last
  View part_;
};

}  // namespace smdebug::tensor
