// The exit codes of the program; docs/cli.md lists them for scripts.
#pragma once

#include <stdexcept>

#include "smdebug/error.h"

namespace smdebug::cli {

enum class ExitCode : int {
  kNoFindings = 0,
  kInternal = 1,
  kUsage = 2,
  kNotThere = 3,
  kDamaged = 4,
  kFiles = 5,
  kNetwork = 6,
  kCredentials = 7,
  kUnsupported = 8,
  kFindings = 10,
};

// Returns the exit code for an error.
ExitCode ExitCodeOf(smd_code code);

// Reports an invalid command line; what() is the reason, without the program's name.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace smdebug::cli
