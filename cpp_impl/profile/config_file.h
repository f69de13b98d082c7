// A file that may change while a job runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace smdebug::profile {

// Returns `path`, else what SMPROFILER_CONFIG_PATH names, else the path of the training service.
std::string ProfilerConfigPath(std::string_view path);

// For one thread at a time.
class ConfigFile {
 public:
  explicit ConfigFile(std::string path) : path_(std::move(path)) {}

  const std::string &Path() const { return path_; }

  // Returns true if the file is another one, or has another time or size, than at the last call;
  // at the first call, if it exists.  Costs one system call.
  bool HasChanged();
  // Returns the text, or nothing if there is no file.  Fails as ReadSmallFile().
  Result<std::optional<std::string>> Read() const;

 private:
  struct State {
    bool exists = false;
    uint64_t file = 0;
    int64_t size = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;

    bool operator==(const State &) const = default;
  };

  const std::string path_;
  State state_;
};

}  // namespace smdebug::profile
