#include "tensor/spread.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace smdebug::tensor {
namespace {

// Elements of a strided view by their row-major place.
class Places {
 public:
  explicit Places(const View &view) : view_(view), size_(DTypeSize(view.dtype)) {}

  // Copies neighbours to a row.
  void Copy(int64_t first, int64_t count, std::byte *to) {
    MoveTo(first);
    const auto *data = static_cast<const std::byte *>(view_.data);
    const auto size = static_cast<int64_t>(size_);
    for (int64_t i = 0; i < count; ++i, to += size_) {
      std::memcpy(to, data + offset_ * size, size_);
      Advance();
    }
  }

 private:
  void MoveTo(int64_t place) {
    offset_ = 0;
    for (size_t i = view_.shape.size(); i-- > 0;) {
      index_[i] = place % view_.shape[i];
      place /= view_.shape[i];
      offset_ += index_[i] * view_.strides[i];
    }
  }

  void Advance() {
    for (size_t i = view_.shape.size(); i-- > 0;) {
      offset_ += view_.strides[i];
      if (++index_[i] < view_.shape[i]) return;
      offset_ -= view_.strides[i] * view_.shape[i];
      index_[i] = 0;
    }
  }

  const View &view_;
  const size_t size_;
  std::array<int64_t, kMaxRank> index_{};
  int64_t offset_ = 0;  // in elements
};

}  // namespace

int64_t SpreadRunBegin(int64_t count, int64_t runs, int64_t run) {
  // Of as many whole lines; each run is one of its share of them.  Which one changes from
  // share to share, as the rows' length may divide the share.
  const int64_t lines = count / kSpreadRun;
  const auto at = [&](int64_t i) { return lines / runs * i + lines % runs * i / runs; };
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const auto width = static_cast<uint64_t>(at(run + 1) - at(run));
  const uint64_t part = (static_cast<uint64_t>(run) * kGoldenRatio) >> 32;
  return (at(run) + static_cast<int64_t>((part * width) >> 32)) * kSpreadRun;
}

SpreadElements::SpreadElements(const View &view, int64_t most)
    : dtype_(view.dtype), count_(view.ElementCount()) {
  const int64_t all = count_;
  const size_t size = DTypeSize(dtype_);
  const int64_t runs = std::max<int64_t>(most / kSpreadRun, 1);
  if (most <= 0 || all <= most || all <= runs * kSpreadRun) {
    elements_ = AlignedBuffer(view.ByteCount());
    CopyCompact(view, elements_.Data());
    return;
  }
  count_ = runs * kSpreadRun;
  elements_ = AlignedBuffer(static_cast<size_t>(count_) * size);
  const size_t bytes = static_cast<size_t>(kSpreadRun) * size;
  std::byte *to = elements_.Data();
  const auto *data = static_cast<const std::byte *>(view.data);
  Places places(view);
  for (int64_t run = 0; run < runs; ++run, to += bytes) {
    const int64_t first = SpreadRunBegin(all, runs, run);
    if (view.IsCompact()) {
      std::memcpy(to, data + static_cast<size_t>(first) * size, bytes);
    } else {
      places.Copy(first, kSpreadRun, to);
    }
  }
}

}  // namespace smdebug::tensor
