// Keeps so many values of each of very many files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace smdebug::analyze {

// Files have a place each: 0, 1, ... They share blocks, so that a file needs no memory of its own.
// For one thread at a time.
template <class Value>
class PerFile {
 public:
  PerFile() = default;
  // Each file has `width` values.
  explicit PerFile(size_t width)
      : width_(width),
        files_in_block_(std::max<size_t>(1, kInBlock / std::max<size_t>(width, 1))) {}

  // Calls `append(values)`, which appends the values of the file at `place`, the next one. Replaces
  // what a call that ran out of memory may have left.
  template <class Append>
  void Add(size_t place, Append append) {
    if (width_ == 0) return;
    const size_t at = place % files_in_block_;
    blocks_.resize(place / files_in_block_ + 1);
    std::vector<Value> &block = blocks_.back();
    block.resize(at * width_);
    append(&block);
    if (at + 1 == files_in_block_) block.shrink_to_fit();
  }

  // Returns the values of a file, or NULL if files have none.
  const Value *Of(size_t place) const {
    if (width_ == 0) return nullptr;
    return blocks_[place / files_in_block_].data() + place % files_in_block_ * width_;
  }

 private:
  static constexpr size_t kInBlock = size_t{16} * 1024;

  size_t width_ = 0;
  size_t files_in_block_ = 1;
  std::vector<std::vector<Value>> blocks_;
};

}  // namespace smdebug::analyze
