#include "arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <climits>
#include <cmath>
#include <filesystem>
#include <map>

#include "output.h"
#include "smdebug.hpp"
#include "suggestions.h"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kWidestHelp = 80;
constexpr size_t kNarrowestHelp = 30;
constexpr size_t kWidestColumn = 26;

constexpr const char *kExitCodes =
    "Exit codes: 0 no findings, 10 findings, 2 usage, 3 not found, 4 damaged data, 5 files, "
    "6 network, 7 credentials, 8 not supported, 1 other failures.";

// Help fits a terminal; in a pipe, its lines have up to 80 characters.
size_t HelpWidth() {
  const size_t width = Stdout().width;
  return width == 0 ? kWidestHelp : std::clamp(width, kNarrowestHelp, kWidestHelp);
}

size_t HelpColumn() { return std::min(kWidestColumn, HelpWidth() / 3); }

std::string Paragraph(const std::string &text) {
  return Join(Wrap(text, HelpWidth()), "\n") + "\n";
}

// Commands are not broken: they can be pasted.
std::string Examples(const std::vector<std::string> &commands) {
  std::string out = "\nExamples:\n";
  for (const std::string &command : commands) out += "  " + command + "\n";
  return out + "\n" + Paragraph(kExitCodes);
}

// Returns `left`, and next to it the lines of `help`.
std::string HelpLine(const std::string &left, const std::string &help) {
  const size_t column = HelpColumn();
  std::string out;
  for (const std::string &line : Wrap(left, HelpWidth() - 2)) {
    out += (out.empty() ? "  " : "\n    ") + line;
  }
  const std::string indent(column, ' ');
  if (out.size() + 2 > column) {
    out += "\n" + indent;
  } else {
    out.resize(column, ' ');
  }
  bool is_first = true;
  for (const std::string &line : Wrap(help, HelpWidth() - column)) {
    if (!is_first) out += indent;
    out += line + "\n";
    is_first = false;
  }
  return out;
}

std::string ProgramHelp(const std::vector<std::unique_ptr<Command>> &commands) {
  std::string out =
      Paragraph("smdebug " + Version() + ": read and check what training jobs have recorded") +
      "\nusage: smdebug COMMAND ...\n\n" +
      Paragraph("A trial is the folder, or s3://bucket/prefix, that a job recorded into.") +
      "\ncommands:\n";
  for (const auto &command : commands) out += HelpLine(command->Name(), command->Summary());
  out += "\noptions:\n" + HelpLine("-h, --help", "print this help, or with a command its options") +
         HelpLine("-V, --version", "print the version");
  std::vector<std::string> examples;
  for (const auto &command : commands) {
    const std::string all = command->Examples();
    examples.push_back(all.substr(0, all.find('\n')));
  }
  return out + Examples(examples);
}

// Converts a message of CLI11 to the rest of a sentence: some messages begin with a capital letter,
// and some end with a full stop.
std::string Sentence(std::string what) {
  what.resize(what.find_last_not_of("\n. ") + 1);
  if (what.starts_with("The ")) what[0] = 't';
  // "--step: 1 required N missing"
  constexpr std::string_view kRequired = ": 1 required ";
  constexpr std::string_view kMissing = " missing";
  const size_t at = what.find(kRequired);
  if (at != std::string::npos && what.ends_with(kMissing)) {
    const size_t value = at + kRequired.size();
    return what.substr(0, at) + " needs a value, " +
           what.substr(value, what.size() - value - kMissing.size());
  }
  return what;
}

// What a value begins with, for messages.
std::string Excerpt(const std::string &value) {
  return "'" + Printable(Shortened(value, 40)) + "'";
}

// Returns why a value is no whole number from 0 on, or "".
std::string RefuseWhole(const std::string &value, int64_t *out) {
  const char *const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, *out);
  if (error == std::errc::result_out_of_range && at == end) {
    return Excerpt(value) + " is too large";
  }
  if (error != std::errc() || at != end) return Excerpt(value) + " is not a whole number";
  return *out < 0 ? Excerpt(value) + " is less than 0" : "";
}

// The same for a number from 0 on.
std::string RefuseNumber(const std::string &value, double *out) {
  const char *const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, *out);
  if (error == std::errc::result_out_of_range && at == end) {
    return Excerpt(value) + " is beyond the range of numbers";
  }
  if (error != std::errc() || at != end || !std::isfinite(*out)) {
    return Excerpt(value) + " is not a number";
  }
  return *out < 0 ? Excerpt(value) + " is less than 0" : "";
}

// Returns "--rule" of "-r,--rule".
std::string LongName(const std::string &names) { return names.substr(names.rfind(',') + 1); }

// Returns the option in a word such as "--regex=x" or "-ofile"; "" if the word is none.
std::string OptionIn(const std::string &word) {
  if (word.starts_with("--")) return word.substr(0, word.find('='));
  const bool is_short =
      word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
  return is_short ? word.substr(0, 2) : "";
}

[[noreturn]] void RefuseCommand(const std::string &word,
                                const std::vector<std::unique_ptr<Command>> &commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const auto &command : commands) names.emplace_back(command->Name());
  std::error_code ignored;
  if (word.starts_with("s3://") || std::filesystem::is_directory(word, ignored)) {
    throw UsageError(Excerpt(word) + " is no command; to list what it holds: smdebug ls " +
                     Printable(word));
  }
  for (const char *const other : {"help", "--help", "--version"}) names.emplace_back(other);
  const std::string advice = DidYouMean(word, names);
  names.resize(commands.size());
  throw UsageError("unknown command " + Excerpt(word) +
                   (advice.empty() ? "; use " + Join(names, ", ") : advice));
}

// Returns why the program itself has no such option.
std::string RefusalOfOption(const std::string &word) {
  const std::vector<std::string> names = {"--help", "--version"};
  const std::string advice = word == "-v" ? "; did you mean '-V'?" : DidYouMean(word, names);
  return "unknown option " + Excerpt(word) + (advice.empty() ? "; see smdebug --help" : advice);
}

// Returns "unexpected 'x'; usage: " of "The following argument was not expected: x".
std::string RefusalOfWords(const std::string &what) {
  const std::string words = Sentence(what);
  const size_t colon = words.find(": ");
  return "unexpected " + Excerpt(colon == std::string::npos ? words : words.substr(colon + 2)) +
         "; usage: ";
}

// Returns the words of `smdebug help [COMMAND]` as --help takes them.
std::vector<std::string> WithHelpAsOption(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  if (words.size() == 1 && words.front() == "help") words.clear();
  if (words.size() > 1) {
    throw UsageError("smdebug help takes one command, not " + Excerpt(words[1]) + " too");
  }
  words.emplace_back("--help");
  return words;
}

// CLI11 takes "[a,b]" for the two words a and b, also where it names a folder.
std::vector<std::string> WithPathsInBrackets(std::vector<std::string> words) {
  for (std::string &word : words) {
    std::error_code ignored;
    const bool is_list = word.starts_with('[') && word.ends_with(']');
    if (is_list && std::filesystem::exists(word, ignored)) word.insert(0, "./");
  }
  return words;
}

std::vector<std::string> GivenWords(int count, char **words) {
  return WithPathsInBrackets(WithHelpAsOption({words + (count > 0 ? 1 : 0), words + count}));
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
      ->allow_extra_args(false)  // what follows is the next argument
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  Describe(names, value, help);
}

void Arguments::Choice(const char *names, const char *help, std::vector<std::string> choices,
                       std::string *out) {
  const std::string value = Join(choices, "|");
  Describe(names, value.c_str(), help);
  const auto check = [choices = std::move(choices)](const std::string &given) {
    if (std::find(choices.begin(), choices.end(), given) != choices.end()) return std::string();
    const std::string advice = DidYouMean(given, choices);
    return Excerpt(given) + " is none of " + Join(choices, ", ") + advice;
  };
  app_.add_option(names, *out)->type_name(value)->check(check);
}

void Arguments::Whole(const char *names, const char *value, const char *help,
                      std::optional<int64_t> *out) {
  const auto set = [out, name = LongName(names)](const std::string &given) {
    int64_t number = 0;
    const std::string reason = RefuseWhole(given, &number);
    if (!reason.empty()) throw UsageError(name + ": " + reason);
    *out = number;
  };
  app_.add_option_function<std::string>(names, set)->type_name(value);
  Describe(names, value, help);
}

void Arguments::Number(const char *names, const char *value, const char *help, double *out) {
  const auto set = [out, name = LongName(names)](const std::string &given) {
    double number = 0;
    const std::string reason = RefuseNumber(given, &number);
    if (!reason.empty()) throw UsageError(name + ": " + reason);
    *out = number;
  };
  app_.add_option_function<std::string>(names, set)->type_name(value);
  Describe(names, value, help);
}

std::string Arguments::Help(const Command &command) const {
  const std::string name = std::string("smdebug ") + command.Name();
  std::string out = Paragraph(name + ": " + command.Summary()) + "\n" +
                    Paragraph("usage: " + Usage(command)) + "\n";
  for (const Line &line : positionals_) out += HelpLine(line.left, line.help);
  out += "\noptions:\n";
  for (const Line &line : options_) out += HelpLine(line.left, line.help);
  out += HelpLine("-h, --help", "print this help");
  const std::string details = command.Details();
  if (!details.empty()) {
    out += "\n";
    out += Paragraph(details);
  }
  return out + Examples(Lines(command.Examples()));
}

std::string Arguments::Usage(const Command &command) const {
  return std::string("smdebug ") + command.Name() + " [OPTIONS]" + usage_;
}

bool Arguments::Has(const std::string &option) const {
  return option == "--" || app_.get_option_no_throw(option) != nullptr;
}

std::vector<std::string> Arguments::LongOptions() const {
  std::vector<std::string> names;
  for (const CLI::Option *const option : app_.get_options()) {
    for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

void Arguments::RefuseUnknownOption(const std::string &command,
                                    const std::vector<std::string> &words) const {
  for (const std::string &word : words) {
    const std::string option = OptionIn(word);
    if (option == "--") return;
    if (option.empty() || Has(option)) continue;
    const std::string advice = DidYouMean(option, LongOptions());
    throw UsageError(command + " has no option " + Excerpt(option) +
                     (advice.empty() ? "; see smdebug " + command + " --help" : advice));
  }
}

ExitCode RunCommandLine(int count, char **words,
                        const std::vector<std::unique_ptr<Command>> &commands) {
  CLI::App app("", "smdebug");
  app.set_version_flag("-V,--version", "smdebug " + Version());
  app.require_subcommand(0, 1);
  std::map<std::string, Command *> by_name;
  std::map<std::string, Arguments> arguments;
  for (const auto &command : commands) {
    CLI::App *const sub = app.add_subcommand(command->Name(), command->Summary());
    by_name[command->Name()] = command.get();
    command->Declare(arguments.try_emplace(command->Name(), *sub).first->second);
  }
  std::vector<std::string> given = GivenWords(count, words);
  const std::string first = given.empty() ? "" : given.front();
  const auto chosen = arguments.find(first);
  if (!first.empty() && first[0] != '-' && chosen == arguments.end()) {
    RefuseCommand(first, commands);
  }
  if (chosen != arguments.end()) chosen->second.RefuseUnknownOption(first, given);

  try {
    std::reverse(given.begin(), given.end());  // as CLI11 takes them
    app.parse(std::move(given));
  } catch (const CLI::CallForHelp &) {
    Print(chosen == arguments.end() ? ProgramHelp(commands) : chosen->second.Help(*by_name[first]));
    return ExitCode::kNoFindings;
  } catch (const CLI::CallForVersion &version) {
    Print(std::string(version.what()) + "\n");
    return ExitCode::kNoFindings;
  } catch (const CLI::ExtrasError &error) {
    throw UsageError(chosen == arguments.end()
                         ? RefusalOfOption(first)
                         : RefusalOfWords(error.what()) + chosen->second.Usage(*by_name[first]));
  } catch (const CLI::ParseError &error) {
    const std::string command = chosen == arguments.end() ? "" : " " + first;
    const std::string what = Printable(Sentence(error.what()));
    if (const size_t at = what.find(": At Most 1 required"); at != std::string::npos) {
      throw UsageError(what.substr(0, at) + " is given more than once");
    }
    if (chosen != arguments.end() && what.find("required but received") != std::string::npos) {
      throw UsageError("too few words; usage: " + chosen->second.Usage(*by_name[first]));
    }
    throw UsageError(what + (what.ends_with('?') ? "" : "; see smdebug" + command + " --help"));
  }
  if (app.get_subcommands().empty()) {
    Print(ProgramHelp(commands));
    return ExitCode::kUsage;
  }
  return by_name[app.get_subcommands().front()->get_name()]->Run();
}

}  // namespace smdebug::cli
