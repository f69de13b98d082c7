// Writes and reads index files, which list the tensors in a step's event file and their positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mode.h"
#include "base/result.h"

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

// The position of a record in the event file.
struct TensorLocation {
  std::string name;
  uint64_t start = 0;
  uint64_t length = 0;
  std::optional<uint32_t> crc32c;  // of the record's bytes
  std::optional<PartOf> part = {};
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
};

// Returns the text that the original writes, plus "crc32c" where it is known, plus "part_of",
// "part" and "whole_shape" for parts.
std::string IndexToJson(const IndexFile &index);

// Reads index text (at most 256 MiB).  Accepts keys in any order, and ignores unknown keys.  Fails
// with CORRUPT_DATA, `path` and the reason: invalid JSON, no meta, no payload, an invalid number, a
// name that is empty or has a NUL, an event file outside the trial, parts out of order.  `spare` is
// an index that is no longer needed; its memory is reused.
Result<IndexFile> IndexFromJson(std::string_view text, std::string_view path, IndexFile spare = {});

}  // namespace smdebug::format
