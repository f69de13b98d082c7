// The files of one step and worker: an event file, then the index file that makes it
// count.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/mode.h"
#include "base/result.h"
#include "format/index_json.h"
#include "storage/store.h"

namespace smdebug::record {

// What is announced of a record before its bytes.
struct RecordMark {
  std::string name;
  uint64_t length = 0;
};

// Without Commit() nothing is left behind.  For one thread.
class StepFile {
 public:
  // `worker` in its file form.  The event file is made with the first bytes.  If the step
  // `may_be_there`, of an earlier run that died, its event file is left alone: what the
  // trial holds is all of that run until it is all of this one.
  StepFile(std::shared_ptr<storage::Store> store, int64_t step, std::string worker,
           bool may_be_there = false);

  // The event file's name in the trial; final with the first bytes.
  const std::string &EventName() const { return event_name_; }

  // Says that the bytes appended next, after those of the records announced before,
  // are this record.
  void Announce(RecordMark mark);
  // Appends bytes of announced records, in order; pieces need not end where records do.
  // `checksums` are those of the pieces, CRC-32C, or empty if nobody knows them yet.
  Status Append(std::span<const Piece> pieces, std::span<const uint32_t> checksums = {});
  void AddShape(format::SavedShape shape) { index_.shapes.push_back(std::move(shape)); }

  bool IsEmpty() const { return index_.tensors.empty() && index_.shapes.empty(); }
  uint64_t BytesWritten() const { return written_; }
  size_t TensorCount() const { return index_.tensors.size(); }

  // Gives the event file its name.
  Status CommitEvents(bool durable);
  // The same where it was not done yet, then writes the index file.
  Status Commit(Mode mode, int64_t mode_step, bool durable);

 private:
  Status ChooseEventName();
  void Checksum(ByteSpan bytes, std::optional<uint32_t> known = std::nullopt);

  std::shared_ptr<storage::Store> store_;
  const int64_t step_;
  const std::string worker_;
  const bool may_be_there_;
  std::string event_name_;
  std::unique_ptr<storage::FileWriter> events_;
  format::IndexFile index_;
  uint64_t announced_ = 0;       // end of the last announced record
  uint64_t written_ = 0;         // bytes appended so far
  size_t current_ = 0;           // the record that the next byte belongs to
  uint32_t current_crc32c_ = 0;  // of its bytes so far
};

}  // namespace smdebug::record
