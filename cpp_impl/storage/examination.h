// Runs the checks of a location for trials, and collects their results.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "storage/doctor.h"
#include "storage/store.h"

namespace smdebug::storage {

class Examination {
 public:
  // Returns false if the check failed.
  bool Try(std::string name, const std::function<Status(std::string *finding)> &attempt);

  // Writes, reads and removes one small file.
  bool TryFile(Store &store);

  std::vector<Check> Take() { return std::move(checks_); }

 private:
  std::vector<Check> checks_;
};

// Checks a bucket.  A library without S3 reports that.
std::vector<Check> CheckS3(std::string_view url, const StoreOptions &options, const Logger &logger);

}  // namespace smdebug::storage
