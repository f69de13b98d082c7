// Reports what is wrong with a location for trials.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "storage/store_options.h"

namespace smdebug::storage {

// The result of one check.
struct Check {
  std::string name;     // "address", "credentials", "list", "clock", "write", "read", "remove"
  Status status;        // success, or the problem and its remedy
  std::string finding;  // on success, the finding; never a secret
};

// Runs the checks that recording and reading depend on, in order.  Stops at the first failure,
// except for the clock: requests compensate for its skew.  Writes, reads and removes one small file
// with a unique name, and leaves nothing behind.  If a folder does not exist, reports that and
// checks the nearest existing folder above it.
std::vector<Check> CheckStore(std::string_view path, const StoreOptions &options,
                              const Logger &logger);

}  // namespace smdebug::storage
