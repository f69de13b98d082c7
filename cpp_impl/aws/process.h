// Programs that hand out credentials.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace smdebug::aws {

// The words of a command as a POSIX shell would split them; quotes and backslashes count,
// nothing is expanded or run.  INVALID_CONFIG for an open quote or no words at all; the
// message does not hold the command, which may hold secrets.
Result<std::vector<std::string>> SplitCommand(std::string_view command);

struct ProcessLimits {
  Clock::Duration time = std::chrono::seconds(60);
  size_t output = size_t{64} << 10;
};

// What the program writes to its standard output.  It gets no input, and its standard
// error goes nowhere.  Killed, with its children, when it exceeds a limit.  Fails with IO
// (cannot be started, exits with a failure), TIMEOUT or CORRUPT_DATA (too much output);
// messages name the program, not its arguments.  Safe from any thread.
Result<std::string> RunProcess(const std::vector<std::string> &words,
                               const ProcessLimits &limits = {});

}  // namespace smdebug::aws
