// Reads a tensor's elements channel by channel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "tensor/blocks.h"
#include "tensor/view.h"

namespace smdebug::rules {

// Describes a run of neighbouring elements.
struct ElementRun {
  int64_t first;
  int64_t size;
};

// Returns runs spread evenly over `count` elements, each in the middle of its share.  They cover
// about `most` elements in all, or every element if `most` is 0.
std::vector<ElementRun> SpreadRuns(int64_t count, int64_t most);

// Holds row-major elements aligned for their type.  Borrows the view's elements if they are
// aligned, else copies them.
class CompactElements {
 public:
  explicit CompactElements(const tensor::View &view);
  const std::byte *Data() const { return data_; }

 private:
  AlignedBuffer copy_;
  const std::byte *data_;
};

// Describes a row-major tensor as a tensor of three axes.  The middle axis is that of the channels.
struct Channels {
  int64_t outer = 0;
  int64_t channels = 0;
  int64_t inner = 0;

  static Channels Along(std::span<const int64_t> shape, size_t axis);
  // Treats each position of a sample as a channel.  The first axis counts the samples.
  static Channels OfPositions(std::span<const int64_t> shape);
};

// Describes how much of a tensor was read.
struct SeenChannels {
  int64_t channels = 0;
  int64_t elements_each = 0;
};

// Describes which elements ForEachChannelRun reads.
struct ChannelPlan {
  int64_t outer_step = 1;
  std::vector<ElementRun> runs;  // of channels if channels are innermost, else of inner elements
  SeenChannels seen;

  static ChannelPlan Make(const Channels &channels, int64_t most);
};

// Calls `visit(const T *numbers, size_t count)` block by block.
template <class Visit>
void ForEachNumbers(const std::byte *from, int64_t count, tensor::DType dtype, Visit visit) {
  const tensor::ElementAccess access = tensor::AccessTo(dtype, tensor::Part::kWhole);
  const size_t size = tensor::DTypeSize(dtype);
  for (auto left = static_cast<size_t>(count); left > 0;) {
    const size_t part = std::min(left, tensor::kBlockElements);
    if (access.is_double) {
      tensor::NumberBlock<double> block(from, part, access.as_double);
      visit(block.Numbers(), part);
    } else {
      tensor::NumberBlock<float> block(from, part, access.as_float);
      visit(block.Numbers(), part);
    }
    from += part * size;
    left -= part;
  }
}

// Calls `visit(int64_t channel, int64_t step, const T *numbers, size_t count)`.  The first number
// belongs to `channel`; each next number belongs to the channel `step` (0 or 1) further.  Reads
// about `most` elements, evenly spread, or all elements if `most` is 0.  Tensors of the same shape
// are read at the same elements.  Skipped channels are not counted.  Real elements only.
template <class Visit>
SeenChannels ForEachChannelRun(const tensor::View &view, const Channels &channels, int64_t most,
                               Visit visit) {
  const ChannelPlan plan = ChannelPlan::Make(channels, most);
  const CompactElements elements(view);
  const auto size = static_cast<int64_t>(tensor::DTypeSize(view.dtype));
  const int64_t step = channels.inner == 1 ? 1 : 0;
  for (int64_t outer = 0; outer < channels.outer; outer += plan.outer_step) {
    int64_t begin = outer * channels.channels * channels.inner;
    int64_t channel = 0;
    while (channel < plan.seen.channels) {
      for (const ElementRun &run : plan.runs) {
        ForEachNumbers(elements.Data() + (begin + run.first) * size, run.size, view.dtype,
                       [&](const auto *numbers, size_t count) {
                         visit(channel, step, numbers, count);
                         channel += step * static_cast<int64_t>(count);
                       });
      }
      if (step == 0) ++channel;
      begin += channels.inner;
    }
  }
  return plan.seen;
}

}  // namespace smdebug::rules
