// Finds the trials in folders and buckets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tables/request.h"

namespace smdebug::tables {

struct FoundTrial {
  std::string path;
  // The last part of the path; or, for trials that were found below a folder or by a pattern, the
  // parts below it.  If two would have one name, all have the parts below the folder they share.
  std::string name;
  // The folder that was searched; that of the trial's folder, if the path names a trial.
  std::string root;
};

// A trial is a folder with a folder "index", "collections" or "events": with two of them, or the
// numbers of steps in one, unless a path names the folder itself.  Returns the trials that
// the paths name, hold or match, each once, in the order of the paths, then of their names.  In
// patterns, "*", "?" and "[...]" match within one part of a path; a folder that has the pattern as
// its name is the only match.  Folders in trials, and hidden ones, are not searched, symbolic links
// are not followed, folders that may not be read are logged, and at most kDepth folders lie between
// a path and a trial.  Fails with
// NOT_FOUND if a path leads to no trial, INVALID_ARGUMENT, and as stores do.
//
// For the tables of profilers, finds profiler folders instead: those with a folder "system" or
// "framework".
Result<std::vector<FoundTrial>> FindTrials(const Request &request);

inline constexpr int kDepth = 8;

// Returns how many trials are worth looking at concurrently, which depends on where one is.
size_t LooksAtOnce(std::string_view path);

}  // namespace smdebug::tables
