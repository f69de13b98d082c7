// Decodes records of an event file as tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/mode.h"
#include "base/result.h"
#include "format/event_writer.h"
#include "tensor/dtype.h"

namespace smdebug::format {

// A record split around its payload: the three parts in a row form the record.
struct RecordParts {
  ByteSpan before;   // header and everything before the payload
  ByteSpan payload;  // the tensor's elements; may be empty
  ByteSpan after;    // the rest, including the footer
  uint64_t Size() const { return before.size() + payload.size() + after.size(); }
};

// The position of a record's payload, relative to the record's first byte.
struct PayloadSpan {
  uint64_t offset;
  uint64_t size;
};

// Finds the payload (tensor_content) from the first bytes of a record of `record_size` bytes,
// without needing the rest.  Returns nothing if these bytes do not reach the payload or hold none:
// then the whole record must be read first.  Fails with CORRUPT_DATA (no path) if they contradict
// `record_size`.
Result<std::optional<PayloadSpan>> LocatePayload(ByteSpan first_bytes, uint64_t record_size);

// A tensor in a record.  `content` points into the parts.
struct TensorEvent {
  std::string name;
  EventContext context;
  tensor::DType dtype = tensor::DType::kInvalid;
  std::vector<int64_t> shape;
  ByteSpan content;                  // row-major, little-endian
  std::vector<std::string> strings;  // if dtype is kString
  std::vector<std::byte> converted;  // the values of typed fields (float_val, ...) if the record
                                     // has no content; then `content` points here
};

// Decodes a record.  Returns nothing if the event holds no tensor (a scalar or histogram for
// TensorBoard, a version line).  Fails with CORRUPT_DATA (no path) if any part is invalid: frame,
// footer (the constant and the true CRC are valid), protobuf structure, dtype, shape against
// content.
Result<std::optional<TensorEvent>> ParseRecord(const RecordParts &parts);

}  // namespace smdebug::format
