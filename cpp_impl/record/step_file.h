// Writes the files of one step and worker: an event file, then the index file that makes it
// visible.
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
#include "format/step_listener.h"
#include "storage/store.h"
#include "tensor/view.h"

namespace smdebug::record {

// A record, announced before its bytes.
struct RecordMark {
  std::string name;
  uint64_t length = 0;
  std::optional<format::PartOf> part = {};
  std::optional<format::SavedNumber> number = {};
  format::RecordHead head = {};  // unless the number is given
};

// Returns the number for the index, if the tensor has one real element.
// `wall_time` is in seconds since 1970.
std::optional<format::SavedNumber> NumberOf(const tensor::View &view, double wall_time);

// Thread safety: one thread at a time.  Without Commit() it leaves nothing behind.
class StepFile {
 public:
  // `worker` in its file form.  The event file is made with the first bytes.  If the step
  // `may_be_there`, from an earlier run that died, the event file of that run stays: readers see
  // either the step of that run or, once the index is written, the step of this one.
  StepFile(std::shared_ptr<storage::Store> store, int64_t step, std::string worker,
           bool may_be_there = false);

  // Returns the event file's name in the trial; it is final after the first bytes.
  const std::string &EventName() const { return event_name_; }

  // Declares that the bytes after those of the records announced before are this record.
  void Announce(RecordMark mark);
  // Appends bytes of announced records, in order; pieces need not end where records do.
  // `checksums` are the CRC-32C of the pieces, or empty if they are not known yet.
  Status Append(std::span<const Piece> pieces, std::span<const uint32_t> checksums = {});
  void AddShape(format::SavedShape shape) { index_.shapes.push_back(std::move(shape)); }

  bool IsEmpty() const { return index_.tensors.empty() && index_.shapes.empty(); }
  uint64_t BytesWritten() const { return written_; }
  size_t TensorCount() const { return index_.tensors.size(); }

  // Gives the event file its name.
  Status CommitEvents(bool durable);
  // Names the event file if that was not done, then writes the index file.
  Status Commit(Mode mode, int64_t mode_step, bool durable);
  // Returns what Commit() has written.  Valid as long as the file.
  format::WrittenStep Written() { return {step_, worker_, index_, heads_, index_size_}; }

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
  std::vector<format::RecordHead> heads_;
  uint64_t index_size_ = 0;
  uint64_t announced_ = 0;       // end of the last announced record
  uint64_t written_ = 0;         // bytes appended so far
  size_t current_ = 0;           // the record that the next byte belongs to
  uint32_t current_crc32c_ = 0;  // of its bytes so far
};

}  // namespace smdebug::record
