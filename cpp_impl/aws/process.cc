#include "aws/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/strings.h"

namespace smdebug::aws {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr Clock::Duration kExitPoll = std::chrono::milliseconds(5);

class File {
 public:
  explicit File(int number = -1) : number_(number) {}
  ~File() { Close(); }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  int Number() const { return number_; }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings &) = delete;
  SpawnSettings &operator=(const SpawnSettings &) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// Resets signals: library threads block all of them, the host may ignore some, and the child
// must inherit neither.  Its own process group lets us kill it with all its children.
void SetSignalsAndGroup(posix_spawnattr_t *attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(
      attributes,
      static_cast<int16_t>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP));
}

// A running child.  The destructor kills and reaps it.
class Child {
 public:
  explicit Child(std::string name) : name_(std::move(name)) {}
  ~Child() {
    if (process_ <= 0) return;
    kill(-process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  Status Start(const std::vector<std::string> &words, int output) {
    SpawnSettings settings;
    posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&settings.actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&settings.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    SetSignalsAndGroup(&settings.attributes);
    std::vector<std::string> copies = words;
    std::vector<char *> arguments;
    arguments.reserve(copies.size() + 1);
    for (std::string &word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error = posix_spawnp(&process_, arguments[0], &settings.actions, &settings.attributes,
                                   arguments.data(), environ);
    if (error == 0) return Status::Ok();
    process_ = -1;
    return SystemError("starting", name_, error);
  }

  Status WaitForExit(const Deadline &deadline) {
    Clock &clock = Clock::System();
    while (true) {
      int state = 0;
      const pid_t ended = waitpid(process_, &state, WNOHANG);
      if (ended < 0 && errno == EINTR) continue;
      if (ended != 0) process_ = -1;
      // The host reaped the child and has its state, so only the output counts.
      if (ended < 0) return Status::Ok();
      if (ended > 0) return CheckState(state);
      if (deadline.IsOver(clock)) return TooLong();
      poll(nullptr, 0, static_cast<int>(kExitPoll / std::chrono::milliseconds(1)));
    }
  }

  Status TooLong() const {
    return {Code::kTimeout, StrCat(name_, ": took too long and was killed")};
  }

 private:
  Status CheckState(int state) const {
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return Status::Ok();
    const std::string how = WIFEXITED(state) ? StrCat("exited with ", WEXITSTATUS(state))
                                             : StrCat("was killed by signal ", WTERMSIG(state));
    return {Code::kIo, StrCat(name_, ": ", how, "; run it by hand to see why")};
  }

  const std::string name_;
  pid_t process_ = -1;
};

Result<std::string> ReadToEnd(int file, const Child &child, const std::string &name,
                              const ProcessLimits &limits, const Deadline &deadline) {
  std::string output;
  std::array<char, 4096> piece{};
  while (true) {
    const Clock::Duration left = deadline.Left(Clock::System());
    if (left <= Clock::Duration::zero()) return child.TooLong();
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(
        std::min<Clock::Duration>(left, std::chrono::hours(1)));
    pollfd wanted{file, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(milliseconds.count()));
    if (ready < 0 && errno != EINTR) return SystemError("waiting for", name, errno);
    if (ready <= 0) continue;
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("reading", name, errno);
    if (got == 0) return output;
    output.append(piece.data(), static_cast<size_t>(got));
    if (output.size() > limits.output) {
      return CorruptData(name, StrCat("wrote more than ", limits.output, " bytes and was killed"));
    }
  }
}

// Appends the quoted text that begins at `begin` to `word`, and returns where it ends.
std::optional<size_t> ReadQuoted(std::string_view text, size_t begin, std::string *word) {
  const char quote = text[begin];
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == quote) return i;
    const bool escapes = quote == '"' && text[i] == '\\' && i + 1 < text.size() &&
                         (text[i + 1] == '"' || text[i + 1] == '\\');
    word->push_back(text[escapes ? ++i : i]);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> SplitCommand(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  for (size_t i = 0; i < command.size(); ++i) {
    const char letter = command[i];
    if (kBlanks.find(letter) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (letter == '"' || letter == '\'') {
      const std::optional<size_t> end = ReadQuoted(command, i, &words.back());
      if (!end) return InvalidConfig("the command has an unclosed quote");
      i = *end;
    } else if (letter == '\\') {
      if (i + 1 == command.size()) return InvalidConfig("the command ends with a backslash");
      words.back().push_back(command[++i]);
    } else {
      words.back().push_back(letter);
    }
  }
  if (words.empty() || words.front().empty()) return InvalidConfig("the command is empty");
  return words;
}

Result<std::string> RunProcess(const std::vector<std::string> &words, const ProcessLimits &limits) {
  const std::string &name = words.front();
  const Deadline deadline = Deadline::After(Clock::System(), limits.time);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("making a pipe for", name, errno);
  const File output(ends[0]);
  File input(ends[1]);
  Child child(name);
  SMD_RETURN_IF_ERROR(child.Start(words, input.Number()));
  input.Close();  // otherwise reading would never reach the end of the output
  auto text = ReadToEnd(output.Number(), child, name, limits, deadline);
  if (!text.IsOk()) return text.GetStatus();
  SMD_RETURN_IF_ERROR(child.WaitForExit(deadline));
  return text;
}

}  // namespace smdebug::aws
