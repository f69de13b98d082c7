// Collects errors of the writer threads: logs them, and keeps the first one for the caller.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::record {

// Thread safety: every function needs the queue's lock.  Lines reach the log function after the
// lock is released (base/deferral.h).
class FaultLog {
 public:
  explicit FaultLog(Logger logger) : logger_(std::move(logger)) {}

  // Logs an error.  Repeated codes, such as those of a full disk, give one line.
  void Log(const Status &error);
  // Keeps the first error until it is taken.
  void Keep(const Status &error) {
    if (error_.IsOk()) error_ = error;
  }
  // Notes a successful write: the next failure is logged again.
  void NoteWritten() { last_logged_ = Code::kOk; }

  // Logs that an optional file is skipped, unless the one before it was skipped too.
  void LogSkipped(const storage::Store &place, std::string_view file, std::string_view why);
  void NoteNotSkipped() { is_skipping_ = false; }

  // Returns the error kept, or success.
  Status TakeError() { return std::exchange(error_, Status::Ok()); }

 private:
  const Logger logger_;
  Status error_;
  Code last_logged_ = Code::kOk;
  bool is_skipping_ = false;
};

}  // namespace smdebug::record
