// Telling a process from the one that forked it.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace smdebug {

// Remembers the process it was made in.
class ProcessMark {
 public:
  ProcessMark();

  // False in a child forked since; touches no lock.
  bool IsSameProcess() const;

  // AFTER_FORK in a child forked since.
  Status Check() const;

 private:
  uint64_t generation_;
};

}  // namespace smdebug
