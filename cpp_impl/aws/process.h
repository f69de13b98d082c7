// Runs programs that return credentials.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace smdebug::aws {

// Splits a command into words as a POSIX shell does: with quotes and backslashes, but without
// expansion.  Fails with INVALID_CONFIG if a quote is not closed or there is no word.  The
// message does not contain the command, which may contain secrets.
Result<std::vector<std::string>> SplitCommand(std::string_view command);

struct ProcessLimits {
  Clock::Duration time = std::chrono::seconds(60);
  size_t output = size_t{64} << 10;
};

// Runs a program and returns its standard output.  Its input is empty, and its standard error
// is discarded.  If the program exceeds a limit, it is killed with its children.  Fails with
// IO (it cannot be started, or exits with a failure), TIMEOUT or CORRUPT_DATA (too much
// output).  Messages contain the program's name, not its arguments.  Safe from any thread.
Result<std::string> RunProcess(const std::vector<std::string> &words,
                               const ProcessLimits &limits = {});

}  // namespace smdebug::aws
