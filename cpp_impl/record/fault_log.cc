#include "record/fault_log.h"

#include <new>
#include <utility>

#include "base/strings.h"

namespace smdebug::record {

void FaultLog::Log(const Status &error) {
  if (std::exchange(last_logged_, error.GetCode()) == error.GetCode()) return;
  logger_.Error(error.Message());
}

// A line that there is no memory for is not worth a job.
void FaultLog::LogSkipped(const storage::Store &place, std::string_view file,
                          std::string_view why) try {
  if (std::exchange(is_skipping_, true)) return;
  logger_.Error(StrCat(place.Location(), "/", file, ": skipped: ", why));
} catch (const std::bad_alloc &) {
  is_skipping_ = false;
}

}  // namespace smdebug::record
