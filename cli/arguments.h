// The command line: the arguments of each command, and the choice of the command to run.
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

// The arguments of one command.  `names` have the form "-r,--rule".  Bound variables must live
// until the command has run, and keep their values if the option is missing.
class Arguments {
 public:
  // Adds the arguments to `app`, which must outlive this object.
  explicit Arguments(CLI::App &app) : app_(app) {}

  void Positional(const char *name, const char *help, std::string *out);
  void OptionalPositional(const char *name, const char *help, std::string *out);
  // At least `least` words; `names` may be several, such as "PATH... OUT".
  void Positionals(const char *names, const char *help, int least, std::vector<std::string> *out);
  void Flag(const char *names, const char *help, bool *out);
  void Text(const char *names, const char *value, const char *help, std::string *out);
  // The option may be repeated.
  void Texts(const char *names, const char *value, const char *help, std::vector<std::string> *out);
  // The value must be one of `choices`.
  void Choice(const char *names, const char *help, std::vector<std::string> choices,
              std::string *out);
  // The value must be a whole number, at least 0.
  void Whole(const char *names, const char *value, const char *help, std::optional<int64_t> *out);
  // The value must be a finite number, at least 0.
  void Number(const char *names, const char *value, const char *help, double *out);

  // Returns the output of `smdebug COMMAND --help`.
  std::string Help(const Command &command) const;

  // Returns "smdebug ls [OPTIONS] TRIAL".
  std::string Usage(const Command &command) const;

  // Fails with UsageError if a word looks like an option, and the command has none of that name;
  // the message names similar options.
  void RefuseUnknownOption(const std::string &command, const std::vector<std::string> &words) const;

 private:
  struct Line {
    std::string left;
    std::string help;
  };
  void Describe(const char *names, const char *value, const char *help);
  bool Has(const std::string &option) const;
  std::vector<std::string> LongOptions() const;

  CLI::App &app_;
  std::string usage_;
  std::vector<Line> positionals_;
  std::vector<Line> options_;
};

// Runs the command in the arguments, or prints help or the version.  Fails as Command::Run().
ExitCode RunCommandLine(int count, char **words,
                        const std::vector<std::unique_ptr<Command>> &commands);

}  // namespace smdebug::cli
