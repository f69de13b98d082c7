// Bytes of a step on their way from the training thread to a writer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/mode.h"
#include "format/index_json.h"
#include "record/step_file.h"

namespace smdebug::record {

// Consecutive bytes of a step's event file, and the records that begin in them.
struct Batch {
  std::vector<Piece> pieces;
  std::vector<RecordMark> records;
  std::vector<uint32_t> checksums;  // CRC-32C of each piece, or empty
  uint64_t bytes = 0;

  void Add(Piece piece) {
    bytes += piece.bytes.size();
    pieces.push_back(std::move(piece));
  }
  void ChecksumPieces() {
    checksums.reserve(pieces.size());
    for (const Piece &piece : pieces) checksums.push_back(Crc32c(piece.bytes));
  }
  bool IsEmpty() const { return pieces.empty() && records.empty(); }
};

// The position of a step in the job, and in its mode.
struct StepPosition {
  int64_t global_step = 0;
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
};

// A step from its begin until its files are written.
struct Step : StepPosition {
  // Used by the training thread until the step is sealed, then by the writer.
  std::vector<format::SavedShape> shapes;
  // Either thread sets it, and it stays set.  Then both stop working on the step, and its files are
  // removed.
  std::atomic<bool> is_dropped{false};
};

}  // namespace smdebug::record
