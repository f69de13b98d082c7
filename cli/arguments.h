// The command line: what each command takes, and which of them is called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"

namespace CLI {
class App;
}

namespace smdebug::cli {

// What one command takes.  `names` are as "-r,--rule"; what is bound must live until the command
// has run, and keeps its value where the option is not given.
class Arguments {
 public:
  // Adds to `app`, which outlives this.
  explicit Arguments(CLI::App &app) : app_(app) {}

  void Positional(const char *name, const char *help, std::string *out);
  void OptionalPositional(const char *name, const char *help, std::string *out);
  void Flag(const char *names, const char *help, bool *out);
  void Text(const char *names, const char *value, const char *help, std::string *out);
  // May be given several times.
  void Texts(const char *names, const char *value, const char *help, std::vector<std::string> *out);
  // One of `choices`.
  void Choice(const char *names, const char *help, std::vector<std::string> choices,
              std::string *out);
  // At least 0.
  void Whole(const char *names, const char *value, const char *help, std::optional<int64_t> *out);
  void Number(const char *names, const char *value, const char *help, double *out);

  // What `smdebug COMMAND --help` prints.
  std::string Help(const Command &command) const;

 private:
  struct Line {
    std::string left;
    std::string help;
  };
  void Describe(const char *names, const char *value, const char *help);

  CLI::App &app_;
  std::string usage_;
  std::vector<Line> positionals_;
  std::vector<Line> options_;
};

// Runs the command that the arguments name, or prints help or the version.  Fails as
// Command::Run().
ExitCode RunCommandLine(int count, char **words,
                        const std::vector<std::unique_ptr<Command>> &commands);

}  // namespace smdebug::cli
