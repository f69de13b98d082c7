// Writes and reads index files, which list the tensors in a step's event file and their positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mode.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace smdebug::format {

// A record that holds a part of a tensor, because the tensor is too large for one record.  The
// elements of all parts in a row are those of the tensor in row-major order.
struct PartOf {
  std::string tensor;
  uint32_t number = 0;         // of the part, from 0
  std::vector<int64_t> shape;  // of the tensor

  bool operator==(const PartOf &) const = default;
};

// Returns the name of a part as a tensor of its own, which it is for the original.
std::string PartName(std::string_view tensor, uint32_t number);

// What a record of one real element holds.  Readers that know it need not read the record.
struct SavedNumber {
  double number = 0;  // rounded, if it is an integer of more than 53 bits
  tensor::DType dtype = tensor::DType::kInvalid;
  uint8_t rank = 1;  // of the tensor, whose sizes are all 1
  int64_t time = 0;  // when it was saved, in microseconds since 1970; above 0

  bool operator==(const SavedNumber &) const = default;
};

// The position of a record in the event file.
struct TensorLocation {
  std::string name;
  uint64_t start = 0;
  uint64_t length = 0;
  std::optional<uint32_t> crc32c;  // of the record's bytes
  std::optional<PartOf> part = {};
  std::optional<SavedNumber> number = {};  // none: not known
};

struct SavedShape {
  std::string name;
  std::string original_name;
  std::vector<int64_t> shape;
};

// The index of one step and worker.
struct IndexFile {
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
  std::string event_file_name;  // relative to the trial; empty if there is none
  std::vector<TensorLocation> tensors;
  std::vector<SavedShape> shapes;
  bool has_plain_names = false;  // known: JSON holds each name of a tensor as it is
};

// Returns the text that the original writes, plus "crc32c" where it is known, plus "part_of",
// "part" and "whole_shape" for parts, plus the number under the name of its dtype, "rank"
// unless it is 1, and "us" where a number is known.  "us" counts from "time_us" in the meta
// section.  A text with numbers ends with the CRC-32C of all before it: a flipped bit must not
// become another number.
std::string IndexToJson(const IndexFile &index);

// Reads index text (at most 256 MiB).  Accepts keys in any order, and ignores unknown keys.  Fails
// with CORRUPT_DATA, `path` and the reason: invalid JSON, no meta, no payload, an invalid number, a
// name that is empty or has a NUL, an event file outside the trial, parts out of order.  Numbers
// are read only from a text as IndexToJson() writes it, with the right checksum; else they are not
// known.  `spare` is an index that is no longer needed; its memory is reused.
Result<IndexFile> IndexFromJson(std::string_view text, std::string_view path, IndexFile spare = {});

}  // namespace smdebug::format
