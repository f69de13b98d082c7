// The files of a profiler folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "storage/store.h"

namespace smdebug::profile {

inline constexpr std::string_view kSystemFolder = "system";
inline constexpr std::string_view kFrameworkFolder = "framework";
inline constexpr std::string_view kTimelineFolder = "framework/pevents";
inline constexpr int64_t kMicrosecondsPerSecond = 1'000'000;

struct ProfileFile {
  std::string name;   // relative to the profiler folder
  int64_t stamp = 0;  // microseconds since 1970: of system metrics the first minute, of a timeline
                      // the end of its last event
  std::string node;
  std::string_view type;  // of a timeline: what wrote it, as the original names it
};

// Parses "system/.../1706745540.algo-1.json".  Returns nothing for other names.
std::optional<ProfileFile> ParseSystemFileName(std::string_view name);
// Parses "framework/pevents/.../1706745596693122_314-algo-1_pythontimeline.json"; the node of this
// one is "algo-1-314".  Returns nothing for other names.
std::optional<ProfileFile> ParseTimelineFileName(std::string_view name);

// Return the files in the order of their stamps, then of their names.  Fail as the store does.
Result<std::vector<ProfileFile>> ListSystemFiles(storage::Store &store);
Result<std::vector<ProfileFile>> ListTimelineFiles(storage::Store &store);

}  // namespace smdebug::profile
