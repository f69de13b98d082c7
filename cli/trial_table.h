// The trials below a folder or in a bucket, with their states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json_writer.h"
#include "table_scan.h"

namespace smdebug::cli {

struct ListedTrial {
  std::string name;  // its path below the folder
  std::string path;
  std::string state;  // "finished", "failed", "running", "interrupted", "empty" or "unreadable"
  int64_t steps = 0;
  std::optional<int64_t> last_step;
  int64_t workers = 0;
  std::optional<int64_t> last_time;  // microseconds since 1970
  std::string problem;               // why it failed or cannot be read
};

// Returns the trials at and below `path` whose names match one of `regexes`, if there are any, in
// natural order.  `settings` are options of the library.  Fails with NOT_FOUND if there is no
// trial, and as smd_scan_open().
std::vector<ListedTrial> FindTrials(const std::string &path,
                                    const std::vector<std::string> &regexes,
                                    const Settings &settings);

// Prints a row for each trial.
void PrintTrials(const std::string &path, const std::vector<ListedTrial> &trials);
// Returns one object.
std::string ToJson(const std::string &path, const std::vector<ListedTrial> &trials);

}  // namespace smdebug::cli
