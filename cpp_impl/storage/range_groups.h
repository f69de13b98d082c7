// Reading of many ranges by few requests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_sink.h"
#include "storage/store.h"

namespace smdebug::storage {

// Ranges of one file that are read together, in the order of their offsets.
class RangeGroup final : public ByteSink {
 public:
  // What lies between two ranges is read and thrown away where it is less than a request
  // costs; groups stay small enough to be worth reading several at a time.
  static constexpr uint64_t kLargestGap = uint64_t{64} << 10;
  static constexpr uint64_t kLargestGroup = uint64_t{8} << 20;

  explicit RangeGroup(const RangeRead &first, size_t index) { Take(first, index); }

  // False if it is no near neighbour of the last one.
  bool TryTake(const RangeRead &range, size_t index);

  const std::string &Name() const { return ranges_.front()->name; }
  uint64_t Begin() const { return ranges_.front()->offset; }
  uint64_t Length() const { return end_ - Begin(); }
  // Of the ranges, in what RangeGroups() was given.
  const std::vector<size_t> &Indexes() const { return indexes_; }

  // Bytes of the whole group, handed on.  A sink that takes no more of its range does not
  // keep the others from theirs.
  MutableByteSpan Room() override;
  void Advance(size_t count) override;

 private:
  void Take(const RangeRead &range, size_t index);

  std::vector<const RangeRead *> ranges_;
  std::vector<size_t> indexes_;
  uint64_t end_ = 0;
  uint64_t position_ = 0;  // within the file
  size_t current_ = 0;     // the range that the next byte belongs to, or lies before
  bool is_to_sink_ = false;
  bool is_refused_ = false;
  std::array<std::byte, 4096> unwanted_;
};

// `ranges` must outlive the groups; none of them is empty.
std::vector<std::unique_ptr<RangeGroup>> GroupRanges(std::span<const RangeRead> ranges);

}  // namespace smdebug::storage
