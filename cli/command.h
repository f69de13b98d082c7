// A command of the program, such as `ls`.
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
  virtual const char *Details() const = 0;   // further explanation; may be ""
  virtual const char *Examples() const = 0;  // shell commands, each ending in a newline

  // Declares the arguments, which are filled in before Run().
  virtual void Declare(Arguments &arguments) = 0;

  // Fails by throwing smdebug::Error, UsageError or std::bad_alloc.
  virtual ExitCode Run() = 0;
};

}  // namespace smdebug::cli
