// What went wrong in the background: lines for the log, and the error for whoever asks.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "storage/store.h"

namespace smdebug::record {

// For one thread at a time.  What there is no memory for is left out of the log: it is not
// worth a job.
class FaultLog {
 public:
  // Logs an error.  Equal ones in a row, as of a full disk, are one line.
  void Log(const Status &error);
  // Keeps the first error until it is taken.
  void Keep(const Status &error) {
    if (error_.IsOk()) error_ = error;
  }
  // Says that writing works: the next failure is news.
  void NoteWritten() { last_logged_ = Code::kOk; }

  // Logs that a file nothing depends on was not written, if the one before it was.
  void LogLeftOut(const storage::Store &place, std::string_view file, std::string_view why);
  void NoteNotLeftOut() { leaves_out_ = false; }

  // The error kept, or success.
  Status TakeError() { return std::exchange(error_, Status::Ok()); }
  // The lines since the last call.
  std::vector<std::string> TakeLines() { return std::exchange(lines_, {}); }

 private:
  Status error_;
  Code last_logged_ = Code::kOk;
  bool leaves_out_ = false;  // the last file that was offered
  std::vector<std::string> lines_;
};

}  // namespace smdebug::record
