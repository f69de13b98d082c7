// Reads many ranges with few requests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_sink.h"
#include "storage/store.h"

namespace smdebug::storage {

// Holds the ranges of one file that are read together, in order of offset.
class RangeGroup final : public ByteSink {
 public:
  // If the bytes between two ranges cost less than a request, they are read and discarded.  Groups
  // stay small enough that several are worth reading concurrently.
  static constexpr uint64_t kLargestGap = uint64_t{256} << 10;
  static constexpr uint64_t kLargestGroup = uint64_t{8} << 20;

  explicit RangeGroup(const RangeRead &first, size_t index) { Take(first, index); }

  // Returns false if the range is not close to the last one.
  bool TryTake(const RangeRead &range, size_t index);

  const std::string &Name() const { return ranges_.front()->name; }
  uint64_t Begin() const { return ranges_.front()->offset; }
  uint64_t Length() const { return end_ - Begin(); }
  // Returns the indexes of the group's ranges in the argument of GroupRanges().
  const std::vector<size_t> &Indexes() const { return indexes_; }

  // Passes the bytes of the whole group on to the ranges.  If one range's sink has no room, the
  // others still get their bytes.
  MutableByteSpan Room() override;
  void Advance(size_t count) override;

 private:
  void Take(const RangeRead &range, size_t index);

  std::vector<const RangeRead *> ranges_;
  std::vector<size_t> indexes_;
  uint64_t end_ = 0;
  uint64_t position_ = 0;  // within the file
  size_t current_ = 0;     // the range that contains or follows the next byte
  bool is_to_sink_ = false;
  bool is_refused_ = false;
  std::array<std::byte, 4096> unwanted_;
};

// Groups ranges.  `ranges` must outlive the groups; no range may be empty.
std::vector<std::unique_ptr<RangeGroup>> GroupRanges(std::span<const RangeRead> ranges);

}  // namespace smdebug::storage
