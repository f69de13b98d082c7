// A command of the program, as `ls`.
#pragma once

#include <memory>

#include "exit_code.h"

namespace smdebug::cli {

class Arguments;

class Command {
 public:
  Command() = default;
  Command(const Command &) = delete;
  Command &operator=(const Command &) = delete;
  virtual ~Command() = default;

  virtual const char *Name() const = 0;
  virtual const char *Summary() const = 0;   // one line
  virtual const char *Details() const = 0;   // what the list of options does not say; may be ""
  virtual const char *Examples() const = 0;  // lines for a shell, each ending the line

  // Says what it takes; Run() finds it filled in.
  virtual void Declare(Arguments &arguments) = 0;

  // Fails by throwing smdebug::Error, UsageError or std::bad_alloc.
  virtual ExitCode Run() = 0;
};

}  // namespace smdebug::cli
