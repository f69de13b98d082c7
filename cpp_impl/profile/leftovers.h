// Completes the files that killed processes left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "storage/store.h"

namespace smdebug::profile {

struct CompletedFile {
  std::string text;
  int64_t stamp = 0;  // the time in the file's name
};

// Returns the file without what follows its last complete line; nothing if it has no event.
std::optional<CompletedFile> CompleteTimeline(std::string_view text);
std::optional<CompletedFile> CompleteSystemFile(std::string_view text);

// Completes the timelines and system files of processes that are proved dead.  Failures are logged:
// they must not stop a job.
void CompleteLeftovers(storage::Store &store, const Logger &logger);

}  // namespace smdebug::profile
