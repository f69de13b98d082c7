#include "storage/range_groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace smdebug::storage {

void RangeGroup::Take(const RangeRead &range, size_t index) {
  if (ranges_.empty()) position_ = range.offset;
  ranges_.push_back(&range);
  indexes_.push_back(index);
  end_ = range.offset + range.length;
}

bool RangeGroup::TryTake(const RangeRead &range, size_t index) {
  const bool is_neighbour = range.name == Name() && range.offset >= end_ &&
                            range.offset - end_ <= kLargestGap &&
                            range.offset + range.length - Begin() <= kLargestGroup;
  if (is_neighbour) Take(range, index);
  return is_neighbour;
}

MutableByteSpan RangeGroup::Room() {
  const RangeRead &range = *ranges_[current_];
  is_to_sink_ = position_ >= range.offset && !is_refused_;
  const uint64_t left =
      position_ < range.offset ? range.offset - position_ : range.offset + range.length - position_;
  if (is_to_sink_) {
    const MutableByteSpan room = range.sink->Room();
    if (!room.empty()) return room.first(std::min<uint64_t>(room.size(), left));
    is_refused_ = true;
    is_to_sink_ = false;
  }
  return MutableByteSpan(unwanted_).first(std::min<uint64_t>(unwanted_.size(), left));
}

void RangeGroup::Advance(size_t count) {
  const RangeRead &range = *ranges_[current_];
  if (is_to_sink_) range.sink->Advance(count);
  position_ += count;
  if (position_ < range.offset + range.length || current_ + 1 == ranges_.size()) return;
  ++current_;
  is_refused_ = false;
}

std::vector<std::unique_ptr<RangeGroup>> GroupRanges(std::span<const RangeRead> ranges) {
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(ranges[a].name, ranges[a].offset) < std::tie(ranges[b].name, ranges[b].offset);
  });
  std::vector<std::unique_ptr<RangeGroup>> groups;
  for (const size_t index : order) {
    if (!groups.empty() && groups.back()->TryTake(ranges[index], index)) continue;
    groups.push_back(std::make_unique<RangeGroup>(ranges[index], index));
  }
  return groups;
}

}  // namespace smdebug::storage
