// Decodes the start of a record, which says what it holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "tensor/dtype.h"

namespace smdebug::format {

// What stands before a tensor's elements.
struct RecordHead {
  double wall_time = 0;  // seconds since 1970
  tensor::DType dtype = tensor::DType::kInvalid;
  std::vector<int64_t> shape;
};

// Bytes of a record that suffice for its head, without those of the tensor's name.
inline constexpr uint64_t kHeadSize = 512;

// ReadWallTime() returns the time alone, from less.  ReadRecordHead() returns the head of a record
// of `record_size` bytes from its first bytes.  Both return nothing if these do not reach the
// elements, are damaged, or hold the elements in another form than this library and the original
// write: then ParseRecord() says more.
std::optional<double> ReadWallTime(ByteSpan first_bytes);
std::optional<RecordHead> ReadRecordHead(ByteSpan first_bytes, uint64_t record_size);

}  // namespace smdebug::format
