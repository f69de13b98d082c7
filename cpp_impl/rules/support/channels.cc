#include "rules/support/channels.h"

#include <numeric>

namespace smdebug::rules {
namespace {

// A run of float32 is a cache line.  Longer ones would meet few channels, and few rows of an image.
constexpr int64_t kRunElements = 16;

int64_t Product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

std::vector<ElementRun> SpreadRuns(int64_t count, int64_t most) {
  if (most <= 0 || count <= std::max(most, kRunElements)) return {{0, count}};
  const int64_t runs = std::max<int64_t>(1, most / kRunElements);
  std::vector<ElementRun> spread;
  spread.reserve(static_cast<size_t>(runs));
  for (int64_t i = 0; i < runs; ++i) {
    const double middle =
        static_cast<double>(count) * (static_cast<double>(i) + 0.5) / static_cast<double>(runs);
    const int64_t first = static_cast<int64_t>(middle) - kRunElements / 2;
    spread.push_back({std::clamp<int64_t>(first, 0, count - kRunElements), kRunElements});
  }
  return spread;
}

CompactElements::CompactElements(const tensor::View &view)
    : data_(static_cast<const std::byte *>(view.data)) {
  const size_t alignment = std::min<size_t>(tensor::DTypeSize(view.dtype), alignof(double));
  if (view.IsCompact() && reinterpret_cast<uintptr_t>(data_) % alignment == 0) return;
  copy_ = AlignedBuffer(view.ByteCount());
  tensor::CopyCompact(view, copy_.Data());
  data_ = copy_.Data();
}

Channels Channels::Along(std::span<const int64_t> shape, size_t axis) {
  return {Product(shape.first(axis)), shape[axis], Product(shape.subspan(axis + 1))};
}

Channels Channels::OfPositions(std::span<const int64_t> shape) {
  return {shape[0], Product(shape.subspan(1)), 1};
}

ChannelPlan ChannelPlan::Make(const Channels &channels, int64_t most) {
  const bool is_innermost = channels.inner == 1;
  const int64_t row = is_innermost ? channels.channels : channels.inner;
  const int64_t rows = is_innermost ? channels.outer : channels.outer * channels.channels;
  ChannelPlan plan;
  if (rows == 0 || row == 0) return plan;
  if (most > 0) {
    // The plan reads at least one run of each row that it visits.
    const int64_t least = std::min(row, kRunElements) * (rows / channels.outer);
    const int64_t outer_seen = std::clamp<int64_t>(most / least, 1, channels.outer);
    plan.outer_step = channels.outer / outer_seen;
    const int64_t rows_seen = rows / plan.outer_step;
    plan.runs = SpreadRuns(row, std::max<int64_t>(1, most / std::max<int64_t>(1, rows_seen)));
  } else {
    plan.runs = SpreadRuns(row, 0);
  }
  int64_t run_elements = 0;
  for (const ElementRun &run : plan.runs) run_elements += run.size;
  const int64_t outer_seen = (channels.outer + plan.outer_step - 1) / plan.outer_step;
  plan.seen = is_innermost ? SeenChannels{run_elements, outer_seen}
                           : SeenChannels{channels.channels, outer_seen * run_elements};
  return plan;
}

}  // namespace smdebug::rules
