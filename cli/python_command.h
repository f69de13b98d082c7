// Commands that are written in Python, in the package libsmdebug.
#pragma once

#include <string>
#include <vector>

#include "exit_code.h"

namespace smdebug::cli {

// The words of such a command.
class PythonWords {
 public:
  explicit PythonWords(const char *command) : words_{command} {}

  void Flag(const char *name, bool is_given);
  // Adds nothing if the value is empty.
  void Option(const char *name, const std::string &value);
  void Options(const char *name, const std::vector<std::string> &values);
  void Positionals(const std::vector<std::string> &values);

  const std::vector<std::string> &All() const { return words_; }

 private:
  std::vector<std::string> words_;
};

// Becomes the command: replaces the process by python3.  Returns only if there is no python3; then
// reports what to install.  Python reports it if its package is missing.
ExitCode RunInPython(const PythonWords &words);

}  // namespace smdebug::cli
