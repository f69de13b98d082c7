#include "tensor/parts.h"

#include <algorithm>

namespace smdebug::tensor {

Parts::Parts(const View &view, uint64_t most_bytes) : view_(view) {
  const size_t rank = view.shape.size();
  uint64_t row = view.ByteCount();
  // Dimensions before the one that is cut have size 1 in each part.
  for (axis_ = 0; axis_ + 1 < rank; ++axis_) {
    row /= static_cast<uint64_t>(view.shape[axis_]);
    if (row <= most_bytes) break;
  }
  if (axis_ + 1 >= rank) row = DTypeSize(view.dtype);
  rows_ = static_cast<int64_t>(std::max<uint64_t>(most_bytes / row, 1));
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    strides_[i] = view.IsCompact() ? stride : view.strides[i];
    stride *= view.shape[i];
    shape_[i] = i < axis_ ? 1 : view.shape[i];
  }
  part_ = view;
  if (rank > 0) Show();
}

void Parts::Show() {
  shape_[axis_] = std::min(rows_, view_.shape[axis_] - begin_[axis_]);
  int64_t offset = 0;
  for (size_t i = 0; i <= axis_; ++i) offset += begin_[i] * strides_[i];
  part_.data = static_cast<const std::byte *>(view_.data) +
               offset * static_cast<int64_t>(DTypeSize(view_.dtype));
  part_.shape = {shape_.data(), view_.shape.size()};
}

bool Parts::Advance() {
  if (view_.shape.empty()) return false;
  begin_[axis_] += shape_[axis_];
  for (size_t i = axis_; begin_[i] == view_.shape[i]; --i) {
    if (i == 0) return false;
    begin_[i] = 0;
    ++begin_[i - 1];
  }
  Show();
  return true;
}

}  // namespace smdebug::tensor
