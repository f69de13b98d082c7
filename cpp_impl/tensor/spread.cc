#include "tensor/spread.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace smdebug::tensor {
namespace {

// Finds elements of a strided view by their row-major position.
class Places {
 public:
  explicit Places(const View &view) : view_(view), size_(DTypeSize(view.dtype)) {}

  // Copies `count` elements from position `first` on to contiguous memory.
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

// Returns where each run begins, one after the other.
class Begins {
 public:
  Begins(int64_t count, int64_t runs)
      : runs_(runs), width_(count / kSpreadRun / runs), rest_(count / kSpreadRun % runs) {}

  // The lines of kSpreadRun elements are split into equal shares, one a run.  Each run takes
  // another line of its share: the row length may divide the share, and then a fixed line
  // would always meet the same columns.
  int64_t Next() {
    int64_t width = width_;
    owed_ += rest_;
    if (owed_ >= runs_) {
      owed_ -= runs_;
      ++width;
    }
    constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
    const uint64_t part = (run_++ * kGoldenRatio) >> 32;
    const auto inside = static_cast<int64_t>((part * static_cast<uint64_t>(width)) >> 32);
    return (std::exchange(line_, line_ + width) + inside) * kSpreadRun;
  }

 private:
  const int64_t runs_;
  const int64_t width_;
  const int64_t rest_;
  int64_t owed_ = 0;
  uint64_t run_ = 0;
  int64_t line_ = 0;  // the first line of the share
};

// Prefetches runs long before it copies them, since they are far apart in memory.
void CopyRuns(const std::byte *data, size_t size, int64_t runs, Begins begins, std::byte *to) {
  const size_t bytes = static_cast<size_t>(kSpreadRun) * size;
  constexpr size_t kAhead = 32;
  std::array<const std::byte *, kAhead> ahead;
  const auto fetch = [&](const std::byte *&from) {
    from = data + static_cast<size_t>(begins.Next()) * size;
    __builtin_prefetch(from);
    __builtin_prefetch(from + bytes - 1);
  };
  const auto all = static_cast<size_t>(runs);
  for (size_t run = 0; run < std::min(all, kAhead); ++run) fetch(ahead[run]);
  for (size_t run = 0; run < all; ++run, to += bytes) {
    const std::byte *&place = ahead[run % kAhead];
    std::memcpy(to, place, bytes);
    if (run + kAhead < all) fetch(place);
  }
}

}  // namespace

int64_t SpreadCount(const View &view, int64_t most) {
  const int64_t all = view.ElementCount();
  const int64_t sampled = std::max<int64_t>(most / kSpreadRun, 1) * kSpreadRun;
  return most <= 0 || all <= most ? all : std::min(all, sampled);
}

void CopySpread(const View &view, int64_t most, std::byte *to) {
  const int64_t all = view.ElementCount();
  const int64_t count = SpreadCount(view, most);
  if (count == all) return CopyCompact(view, to);
  const size_t size = DTypeSize(view.dtype);
  const int64_t runs = count / kSpreadRun;
  Begins begins(all, runs);
  if (view.IsCompact()) {
    return CopyRuns(static_cast<const std::byte *>(view.data), size, runs, begins, to);
  }
  Places places(view);
  for (int64_t run = 0; run < runs; ++run, to += static_cast<size_t>(kSpreadRun) * size) {
    places.Copy(begins.Next(), kSpreadRun, to);
  }
}

SpreadElements::SpreadElements(const View &view, int64_t most)
    : dtype_(view.dtype),
      count_(SpreadCount(view, most)),
      elements_(static_cast<size_t>(count_) * DTypeSize(dtype_)) {
  CopySpread(view, most, elements_.Data());
}

}  // namespace smdebug::tensor
