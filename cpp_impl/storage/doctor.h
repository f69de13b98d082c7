// Tells what is wrong with a place where trials are to lie.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "storage/store_options.h"

namespace smdebug::storage {

// One thing that was tried.
struct Check {
  std::string name;     // "address", "credentials", "list", "clock", "write", "read", "remove"
  Status status;        // success, or what is wrong and what to do
  std::string finding;  // what was found, where that is a success; never a secret
};

// Tries, in this order, what recording and reading need; the first that fails is the
// last, but for the clock, which requests make up for.  Writes, reads and removes one
// small file of a name that nobody else uses.
std::vector<Check> CheckStore(std::string_view path, const StoreOptions &options,
                              const Logger &logger);

}  // namespace smdebug::storage
