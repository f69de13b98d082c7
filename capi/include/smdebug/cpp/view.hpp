// Views of tensors in the caller's memory, borrowed for one call.
#ifndef SMDEBUG_CPP_VIEW_HPP
#define SMDEBUG_CPP_VIEW_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "smdebug/cpp/types.hpp"
#include "smdebug/tensor.h"

namespace smdebug {

// The sizes of a tensor's dimensions, or its strides; a scalar has none.  A call fails with
// INVALID_ARGUMENT if there are more than SMD_MAX_RANK.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : Shape(sizes.begin(), sizes.size()) {}
  Shape(const std::vector<int64_t> &sizes) : Shape(sizes.data(), sizes.size()) {}
  Shape(const int64_t *sizes, size_t rank)
      : rank_(static_cast<int32_t>(std::min(rank, size_t{SMD_MAX_RANK + 1}))) {
    std::copy_n(sizes, std::min(rank, sizes_.size()), sizes_.begin());
  }

  const int64_t *Data() const noexcept { return rank_ == 0 ? nullptr : sizes_.data(); }
  int32_t Rank() const noexcept { return rank_; }

 private:
  std::array<int64_t, SMD_MAX_RANK> sizes_;  // of which rank_ are set
  int32_t rank_ = 0;
};

// A tensor in host memory that the caller owns.  smd_tensor_view.
class View {
 public:
  // One number: a tensor without dimensions.
  template <class T, class = std::enable_if_t<kIsElement<T>>>
  View(const T &scalar) : View(&scalar, Shape()) {}

  // One dimension.
  template <class T, class = std::enable_if_t<kIsElement<T> && !std::is_same_v<T, bool>>>
  View(const std::vector<T> &elements)
      : View(elements.data(), Shape{static_cast<int64_t>(elements.size())}) {}

  // Elements of type T.  `strides` count elements and may be negative; none: row-major, compact.
  template <class T, class = std::enable_if_t<kIsElement<T>>>
  View(const T *data, const Shape &shape, const Shape &strides = Shape())
      : View(ElementType<T>::value, data, shape, strides) {}

  // Elements of a type without a C++ type, such as DType::kBFloat16.
  View(DType dtype, const void *data, const Shape &shape, const Shape &strides = Shape())
      : dtype_(dtype), data_(data), shape_(shape), strides_(strides) {}

  // For the C interface; valid while this view exists.
  smd_tensor_view ToC() const noexcept {
    smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
    view.data = data_;
    view.shape = shape_.Data();
    view.strides = strides_.Data();
    // There must be one stride per dimension.
    const bool fits = view.strides == nullptr || strides_.Rank() == shape_.Rank();
    view.ndim = fits ? shape_.Rank() : -1;
    view.dtype = static_cast<smd_dtype>(dtype_);
    return view;
  }

 private:
  DType dtype_;
  const void *data_;
  Shape shape_;
  Shape strides_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_VIEW_HPP
