// Joins the parts of a tensor that was too large for one record.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analyze/record.h"
#include "base/bytes.h"
#include "base/result.h"

namespace smdebug::analyze {

// For one thread.  Both functions fail with CORRUPT_DATA, without a path.
class JoinedParts {
 public:
  // `shape` must outlive it.  Its elements can be counted.
  JoinedParts(std::string name, const std::vector<int64_t> &shape)
      : name_(std::move(name)), shape_(shape) {}

  // Adds the next part.  `places` are those of all parts.
  Status Add(const ReadTensor &part, std::span<const RecordPlace> places);
  // Returns the tensor, if its parts are complete.
  Result<ReadTensor> Take();

 private:
  Status Begin(const ReadTensor &first, std::span<const RecordPlace> places);

  const std::string name_;
  const std::vector<int64_t> &shape_;
  uint32_t added_ = 0;
  ReadTensor whole_;
  std::shared_ptr<AlignedBuffer> elements_;
  size_t filled_ = 0;
};

}  // namespace smdebug::analyze
