// Detects use in a forked process.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace smdebug {

// Remembers the process that created it.
class ProcessMark {
 public:
  ProcessMark();

  // Returns false in a child that was forked later.  Takes no lock.
  bool IsSameProcess() const;

  // Fails with AFTER_FORK in a child that was forked later.
  Status Check() const;

 private:
  uint64_t generation_;
};

}  // namespace smdebug
