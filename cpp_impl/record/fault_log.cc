#include "record/fault_log.h"

#include <new>
#include <utility>

#include "base/strings.h"

namespace smdebug::record {

void FaultLog::Log(const Status &error) try {
  if (std::exchange(last_logged_, error.GetCode()) == error.GetCode()) return;
  lines_.push_back(error.Message());
} catch (const std::bad_alloc &) {
  return;
}

void FaultLog::LogLeftOut(const storage::Store &place, std::string_view file,
                          std::string_view why) try {
  if (std::exchange(leaves_out_, true)) return;
  lines_.push_back(StrCat(place.Location(), "/", file, " is left out: ", why));
} catch (const std::bad_alloc &) {
  leaves_out_ = false;  // not said so far
}

}  // namespace smdebug::record
