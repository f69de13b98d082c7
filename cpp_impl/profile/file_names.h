// The names of a profile's files and of its nodes, as the original's readers find them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace smdebug::profile {

inline constexpr const char *kTimelineEndMark = "framework/training_job_end.ts";
inline constexpr const char *kSystemEndMark = "system/training_job_end.ts";

// The largest time of an event, in microseconds since 1970: in 2286, with 16 digits.
inline constexpr int64_t kLastTime = 9'999'999'999'999'999;

// Returns "framework/pevents/<hour>/<time>_<node>_pythontimeline.json".  `last_us` is the end of
// the file's last event.
std::string TimelineName(int64_t last_us, std::string_view node);
// Returns "system/incremental/<hour>/<time>.<node>.json".
std::string SystemName(int64_t seconds, std::string_view node);

// Return the name of a file that is still written.  Readers ignore it.
std::string TimelineTemporaryName(int64_t now_us, std::string_view node);
std::string SystemTemporaryName(int64_t now_us, std::string_view node);

// Return the node of such a name without its folder, or nothing if it is none.
std::optional<std::string> NodeOfTimeline(std::string_view temporary_name);
std::optional<std::string> NodeOfSystem(std::string_view temporary_name);

// Returns the name of a node in file names: "_" becomes "-".  Fails with INVALID_CONFIG if it is
// empty, longer than 200 bytes, or has other characters than letters, digits, "-", "." and "_".
Status CheckNode(std::string_view node);
std::string NodeInNames(std::string_view node);

// Returns "<process>-<host>".
std::string DefaultNode();
// Returns "algo-<n>", as the original's readers skip all others: that of the training service, else
// "algo-1".
std::string DefaultSystemNode();
bool IsSystemNode(std::string_view node);

}  // namespace smdebug::profile
