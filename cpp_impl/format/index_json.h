// Index files: which tensors a step's event file holds, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mode.h"
#include "base/result.h"

namespace smdebug::format {

// A record in the event file.
struct TensorLocation {
  std::string name;
  uint64_t start = 0;
  uint64_t length = 0;
  std::optional<uint32_t> crc32c;  // of the record's bytes
};

struct SavedShape {
  std::string name;
  std::string original_name;
  std::vector<int64_t> shape;
};

// One step and worker.
struct IndexFile {
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
  std::string event_file_name;  // relative to the trial; empty if there is none
  std::vector<TensorLocation> tensors;
  std::vector<SavedShape> shapes;
};

// The text the original writes for it, and "crc32c" where it is known.
std::string IndexToJson(const IndexFile &index);

// Reads such a text (at most 256 MiB); unknown keys are passed over, in any order.
// Fails with CORRUPT_DATA, `path` and the reason: no JSON, no meta, no payload, a
// number that is none, an event file outside the trial.  `spare` is one that is needed no
// more, whose memory is used again.
Result<IndexFile> IndexFromJson(std::string_view text, std::string_view path, IndexFile spare = {});

}  // namespace smdebug::format
