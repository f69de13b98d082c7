#include "arguments.h"

#include <CLI/CLI.hpp>
#include <climits>
#include <map>

#include "output.h"
#include "smdebug.hpp"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kHelpWidth = 80;
constexpr size_t kHelpColumn = 26;

constexpr const char *kEnd =
    "\nExit codes: 0 no findings, 10 findings, 2 usage, 3 not found, 4 damaged data,\n"
    "5 files, 6 network, 7 credentials, 8 not supported, 1 other failures.\n";

// Returns `left`, and next to it the lines of `help`.
std::string HelpLine(const std::string &left, const std::string &help) {
  std::string out = "  " + left;
  const std::string indent(kHelpColumn, ' ');
  if (out.size() + 2 > kHelpColumn) {
    out += "\n" + indent;
  } else {
    out.resize(kHelpColumn, ' ');
  }
  bool is_first = true;
  for (const std::string &line : Wrap(help, kHelpWidth - kHelpColumn)) {
    if (!is_first) out += indent;
    out += line + "\n";
    is_first = false;
  }
  return out;
}

std::string ProgramHelp(const std::vector<std::unique_ptr<Command>> &commands) {
  std::string out =
      "smdebug " + Version() +
      ": read and check what training jobs have recorded\n\n"
      "usage: smdebug COMMAND ...\n\n"
      "A trial is the folder, or s3://bucket/prefix, that a job recorded into.\n\ncommands:\n";
  for (const auto &command : commands) out += HelpLine(command->Name(), command->Summary());
  out += "\noptions:\n" + HelpLine("-h, --help", "print this help, or with a command its options") +
         HelpLine("--version", "print the version");
  out += "\nExamples:\n";
  for (const auto &command : commands) {
    const std::string examples = command->Examples();
    out += "  " + examples.substr(0, examples.find('\n')) + "\n";
  }
  return out + kEnd;
}

// Converts a message of CLI11 to the rest of a sentence: some messages begin with a capital letter,
// and some end with a full stop.
std::string Sentence(std::string what) {
  what.resize(what.find_last_not_of("\n. ") + 1);
  if (what.starts_with("The ")) what[0] = 't';
  return what;
}

[[noreturn]] void RefuseCommand(const std::string &word,
                                const std::vector<std::unique_ptr<Command>> &commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const auto &command : commands) names.emplace_back(command->Name());
  throw UsageError("unknown command '" + Printable(word) + "'; use " + Join(names, ", "));
}

}  // namespace

void Arguments::Describe(const char *names, const char *value, const char *help) {
  std::string left = names;
  for (size_t at = 0; (at = left.find(',', at)) != std::string::npos; at += 2) {
    left.insert(at + 1, " ");
  }
  if (*value != '\0') left += std::string(" ") + value;
  options_.push_back({left, help});
}

void Arguments::Positional(const char *name, const char *help, std::string *out) {
  app_.add_option(name, *out)->required();
  usage_ += std::string(" ") + name;
  positionals_.push_back({name, help});
}

void Arguments::OptionalPositional(const char *name, const char *help, std::string *out) {
  app_.add_option(name, *out);
  usage_ += std::string(" [") + name + "]";
  positionals_.push_back({name, help});
}

void Arguments::Positionals(const char *names, const char *help, int least,
                            std::vector<std::string> *out) {
  // A name for CLI11 has no spaces.
  const std::string all = names;
  app_.add_option(all.substr(0, all.find('.')), *out)->required()->expected(least, INT_MAX);
  usage_ += " " + all;
  positionals_.push_back({all, help});
}

void Arguments::Flag(const char *names, const char *help, bool *out) {
  app_.add_flag(names, *out);
  Describe(names, "", help);
}

void Arguments::Text(const char *names, const char *value, const char *help, std::string *out) {
  app_.add_option(names, *out)->type_name(value);
  Describe(names, value, help);
}

void Arguments::Texts(const char *names, const char *value, const char *help,
                      std::vector<std::string> *out) {
  app_.add_option(names, *out)
      ->type_name(value)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  Describe(names, value, help);
}

void Arguments::Choice(const char *names, const char *help, std::vector<std::string> choices,
                       std::string *out) {
  const std::string value = Join(choices, "|");
  Describe(names, value.c_str(), help);
  const auto check = [choices = std::move(choices)](const std::string &given) {
    if (std::find(choices.begin(), choices.end(), given) != choices.end()) return std::string();
    return "'" + given + "' is none of " + Join(choices, ", ");
  };
  app_.add_option(names, *out)->type_name(value)->check(check);
}

void Arguments::Whole(const char *names, const char *value, const char *help,
                      std::optional<int64_t> *out) {
  const auto set = [out](const int64_t &number) { *out = number; };
  app_.add_option_function<int64_t>(names, set)->type_name(value)->check(CLI::NonNegativeNumber);
  Describe(names, value, help);
}

void Arguments::Number(const char *names, const char *value, const char *help, double *out) {
  app_.add_option(names, *out)->type_name(value)->check(CLI::NonNegativeNumber);
  Describe(names, value, help);
}

std::string Arguments::Help(const Command &command) const {
  std::string out = std::string("smdebug ") + command.Name() + ": " + command.Summary() +
                    "\n\nusage: smdebug " + command.Name() + " [OPTIONS]" + usage_ + "\n\n";
  for (const Line &line : positionals_) out += HelpLine(line.left, line.help);
  out += "\noptions:\n";
  for (const Line &line : options_) out += HelpLine(line.left, line.help);
  out += HelpLine("-h, --help", "print this help");
  const std::string details = command.Details();
  if (!details.empty()) {
    out += "\n";
    for (const std::string &line : Wrap(details, kHelpWidth)) out += line + "\n";
  }
  out += "\nExamples:\n";
  for (const std::string &example : Lines(command.Examples())) out += "  " + example + "\n";
  return out + kEnd;
}

ExitCode RunCommandLine(int count, char **words,
                        const std::vector<std::unique_ptr<Command>> &commands) {
  CLI::App app("", "smdebug");
  app.set_version_flag("--version", "smdebug " + Version());
  app.require_subcommand(0, 1);
  std::map<std::string, Command *> by_name;
  std::map<std::string, Arguments> arguments;
  for (const auto &command : commands) {
    CLI::App *const sub = app.add_subcommand(command->Name(), command->Summary());
    by_name[command->Name()] = command.get();
    command->Declare(arguments.try_emplace(command->Name(), *sub).first->second);
  }
  const std::string first = count > 1 ? words[1] : "";
  if (!first.empty() && first[0] != '-' && by_name.count(first) == 0)
    RefuseCommand(first, commands);

  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp &) {
    const auto asked = arguments.find(first);
    Print(asked == arguments.end() ? ProgramHelp(commands) : asked->second.Help(*by_name[first]));
    return ExitCode::kNoFindings;
  } catch (const CLI::CallForVersion &version) {
    Print(std::string(version.what()) + "\n");
    return ExitCode::kNoFindings;
  } catch (const CLI::ParseError &error) {
    const std::string command = by_name.count(first) == 0 ? "" : " " + first;
    throw UsageError(Printable(Sentence(error.what())) + "; see smdebug" + command + " --help");
  }
  if (app.get_subcommands().empty()) {
    Print(ProgramHelp(commands));
    return ExitCode::kUsage;
  }
  return by_name[app.get_subcommands().front()->get_name()]->Run();
}

}  // namespace smdebug::cli
