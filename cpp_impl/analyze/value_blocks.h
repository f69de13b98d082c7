// Memory that small values share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analyze/entry.h"
#include "base/bytes.h"
#include "tensor/value.h"

namespace smdebug::analyze {

// Makes values.  Small ones lie next to each other in blocks, which saves an allocation for each;
// a block lives as long as any value in it.  For one thread.
class ValueBlocks {
 public:
  // Returns a value with a copy of the bytes, aligned to the size of one element.
  tensor::Value CopyOf(tensor::DType dtype, ByteSpan bytes, std::vector<int64_t> shape);

  // Returns the value that a record holds, or nothing if only the record says which it is.
  std::optional<tensor::Value> ValueOf(const KnownNumber &known);

  // Begins a new block for at most `count` values, so that a block is no larger than they need.
  void Expect(size_t count) {
    expected_ = count;
    block_.reset();
  }

 private:
  // A caller that keeps one value of a block keeps no more than this.
  static constexpr size_t kLargestBlock = size_t{64} << 10;
  static constexpr size_t kLargestValue = size_t{4} << 10;

  std::shared_ptr<AlignedBuffer> block_;
  size_t used_ = 0;
  size_t expected_ = 1;
};

}  // namespace smdebug::analyze
