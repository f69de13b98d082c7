// Adds traces in Chrome's format, such as torch.profiler writes, to a profile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/store.h"

namespace smdebug::profile {

// The largest trace that is read.
inline constexpr uint64_t kMostTrace = uint64_t{1} << 30;

// Adds the complete events of the text of a trace: {"traceEvents": [...]} or [...].  `node` names
// the process of the trace in file names; empty: "trace".  Events of torch.profiler get the phases
// that the original gives them, "cpu_functions" and "gpu_functions-dev:<n>", and the step of the
// "ProfilerStep#<n>" that they begin in; events of others that of their process.  Times are rounded
// to microseconds.  Returns the number of events.  Fails with CORRUPT_DATA (cut off, or no such
// trace; nothing is added), and as the store does.
Result<int64_t> ImportTrace(std::string_view text, std::string_view node, storage::Store &store);

// Reads the trace in the file, a path or s3://bucket/key, and adds it to the profile in out_dir.
// Messages name the file.  Fails as ImportTrace(), and with UNSUPPORTED for a compressed file.
Result<int64_t> ImportTraceFile(const std::string &path, const std::string &out_dir,
                                std::string_view node);

}  // namespace smdebug::profile
