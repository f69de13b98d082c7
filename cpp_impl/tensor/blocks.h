// Reads a view block by block: the raw elements, or the elements as floating-point numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tensor/layout.h"
#include "tensor/statistics_kernels.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Calls `visit(const std::byte *elements, size_t count)` for each block of the view, in the
// order that reads memory fastest.  The elements of a block are contiguous and aligned for
// their type.  They are in the view's memory, or in a small buffer if they are scattered there.
template <class Visit>
void ForEachBlock(const View &view, Visit visit) {
  // Shorter runs are gathered, so that each block amortises its fixed cost.
  constexpr int64_t kWorthVisiting = 256;
  const Layout layout = InAnyOrder(view);
  const size_t size = DTypeSize(view.dtype);
  const Dimension run = layout.Last();
  if (run.size == 0) return;
  const bool is_row = run.stride == static_cast<int64_t>(size) || run.size == 1;
  const size_t alignment = std::min<size_t>(size, alignof(double));
  alignas(64) std::byte gathered[kBlockElements * 16];
  size_t filled = 0;
  Odometer odometer(layout, layout.rank - 1);
  do {
    const std::byte *begin = odometer.Address();
    const bool is_aligned = reinterpret_cast<uintptr_t>(begin) % alignment == 0;
    const bool in_place = is_row && is_aligned && (layout.rank == 1 || run.size >= kWorthVisiting);
    for (int64_t i = 0; i < run.size;) {
      const size_t room = in_place ? kBlockElements : kBlockElements - filled;
      const auto count = std::min(static_cast<int64_t>(room), run.size - i);
      const std::byte *from = begin + i * run.stride;
      i += count;
      if (in_place) {
        visit(from, static_cast<size_t>(count));
        continue;
      }
      CopyStrided(from, run.stride, size, count, gathered + filled * size);
      filled += static_cast<size_t>(count);
      if (filled == kBlockElements) visit(&gathered[0], std::exchange(filled, 0));
    }
  } while (odometer.Advance());
  if (filled > 0) visit(&gathered[0], filled);
}

// The number taken from an element.  Real elements only have kWhole.
enum class Part : uint8_t { kWhole, kReal, kImaginary, kMagnitude };

// The way to read the elements of a dtype: as float if float holds all its values, else as double,
// which rounds only 64-bit integers.
struct ElementAccess {
  bool is_double;
  ElementKernels<float> as_float;
  ElementKernels<double> as_double;
};
ElementAccess AccessTo(DType dtype, Part part);

// A block of elements, converted to numbers of type T on first use.
template <class T>
class NumberBlock {
 public:
  NumberBlock(const std::byte *elements, size_t count, const ElementKernels<T> &kernels)
      : elements_(elements), count_(count), kernels_(kernels) {}

  size_t Count() const { return count_; }

  BlockSums Sums() {
    if (kernels_.sums != nullptr) return kernels_.sums(elements_, count_);
    return Own().sums(reinterpret_cast<const std::byte *>(Numbers()), count_);
  }

  const T *Numbers() {
    if (kernels_.widen == nullptr) return reinterpret_cast<const T *>(elements_);
    if (!is_widened_) kernels_.widen(elements_, count_, widened_);
    is_widened_ = true;
    return widened_;
  }

  BlockDeviations Deviations(double centre, bool absolute) {
    return On().deviations(Numbers(), count_, centre, absolute);
  }
  int64_t Zeros() { return On().zeros(Numbers(), count_); }
  BlockCounts Counts() { return On().counts(Numbers(), count_); }
  WideProduct Product(int steps) { return On().product(Numbers(), count_, steps); }

 private:
  static const BlockKernels<T> &On() {
    if constexpr (sizeof(T) == sizeof(float)) {
      return GetKernels().on_float;
    } else {
      return GetKernels().on_double;
    }
  }
  static const ElementKernels<T> &Own() {
    if constexpr (sizeof(T) == sizeof(float)) {
      return GetKernels().of_float32;
    } else {
      return GetKernels().of_float64;
    }
  }

  const std::byte *elements_;
  size_t count_;
  const ElementKernels<T> &kernels_;
  bool is_widened_ = false;
  alignas(64) T widened_[kBlockElements];
};

// Calls `visit` with each NumberBlock of the view, which must not be text.
template <class Visit>
void ForEachNumberBlock(const View &view, Part part, Visit visit) {
  const ElementAccess access = AccessTo(view.dtype, part);
  ForEachBlock(view, [&](const std::byte *elements, size_t count) {
    if (access.is_double) {
      NumberBlock<double> block(elements, count, access.as_double);
      visit(block);
    } else {
      NumberBlock<float> block(elements, count, access.as_float);
      visit(block);
    }
  });
}

}  // namespace smdebug::tensor
