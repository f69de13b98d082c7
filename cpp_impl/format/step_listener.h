// Follows the steps that a job writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "format/index_json.h"
#include "format/record_head.h"

namespace smdebug::format {

// A step of one worker whose files are in the trial.  Valid during a call.
struct WrittenStep {
  int64_t step;
  const std::string &worker;  // in its file form
  const IndexFile &index;
  // Of the records in the index, but those whose number is known.  May be moved from.
  std::span<RecordHead> heads;
  uint64_t index_size;  // of the index file, in bytes
};

// Calls come one after the other, from any thread, with no lock held.
class StepListener {
 public:
  virtual ~StepListener() = default;

  virtual void OnWritten(const WrittenStep &step) noexcept = 0;
  // Nothing, or little, follows.  May be called again.
  virtual void OnEnd() noexcept = 0;
};

}  // namespace smdebug::format
