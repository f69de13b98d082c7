// Records of event files: where they lie, and the tensors they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "format/event_reader.h"
#include "tensor/value.h"

namespace smdebug::analyze {

// The position of a record in an event file.
struct RecordPlace {
  std::string file;  // relative to the trial
  uint64_t start = 0;
  uint64_t length = 0;
  std::optional<uint32_t> crc32c;  // checked if it is known
};

// A tensor, or where the record with it lies.
using ValueOrPlace = std::variant<tensor::Value, RecordPlace>;

// A tensor read from a record.
struct ReadTensor {
  std::string name;
  format::EventContext context;
  tensor::Value value;
};

}  // namespace smdebug::analyze
