// Reads tables of the library: which runs there are, and when their steps were recorded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "table_scan.h"

namespace smdebug::cli::serve {

// A row of the table "trials".
struct ListedRun {
  std::string name;
  std::string path;
  // "finished", "failed", "running", "interrupted", "empty" or "unreadable"
  std::string state;
  int64_t steps = 0;
  int64_t last_step = -1;
  int64_t workers = 0;
  int64_t first_time = 0;  // microseconds since 1970; 0: unknown
  int64_t last_time = 0;
  std::string problem;  // why it failed or cannot be read

  bool HasEnded() const { return state == "finished" || state == "failed"; }
};

// Returns the runs in a folder or bucket, in the order of their paths; none if there is none.
// Fails by throwing smdebug::Error.
std::vector<ListedRun> ListRuns(const std::string &path, const Settings &settings);

// When steps were recorded, in seconds since 1970, by global step.
using StepTimes = std::map<int64_t, double>;

// Returns the times of the steps from `first` on, of a tensor of one element.  Fails by throwing
// smdebug::Error.
StepTimes ReadTimes(const std::string &path, const std::string &tensor, int64_t first,
                    const Settings &settings);

}  // namespace smdebug::cli::serve
