#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "numbers.h"
#include "serve/alerts.h"

namespace smdebug::cli::serve {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMostTime{30};
constexpr std::chrono::milliseconds kBetweenLooks{20};

// The environment of the command: ours, and the finding.
class Environment {
 public:
  explicit Environment(const AlertTarget::Alert &alert) {
    const Finding &finding = alert.finding;
    Add("RUN", alert.run);
    Add("PATH", alert.path);
    Add("RULE", finding.rule);
    Add("CHECK", finding.check);
    Add("TENSOR", finding.tensor);
    Add("WORKER", finding.worker);
    Add("STEP", std::to_string(finding.step));
    Add("MODE", ModeName(finding.mode));
    Add("MESSAGE", finding.message);
    Add("ACTION", smdebug::Name(finding.action));
    for (char **each = environ; *each != nullptr; ++each) {
      if (!std::string_view(*each).starts_with("SMDEBUG_FINDING_")) texts_.emplace_back(*each);
    }
    for (std::string &text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  char **Get() { return pointers_.data(); }

 private:
  void Add(const std::string &name, const std::string &value) {
    texts_.push_back("SMDEBUG_FINDING_" + name + "=" + value.substr(0, value.find('\0')));
  }

  std::vector<std::string> texts_;
  std::vector<char *> pointers_;
};

// Writes without waiting longer than `end`.  The command may ignore its stdin.
void WriteAll(int to, const std::string &text, Clock::time_point end) {
  size_t written = 0;
  while (written < text.size() && Clock::now() < end) {
    const ssize_t count = write(to, text.data() + written, text.size() - written);
    if (count > 0) {
      written += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd ready{to, POLLOUT, 0};
      static_cast<void>(poll(&ready, 1, 100));
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::string Await(pid_t child, Clock::time_point end) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) {
      static_cast<void>(kill(-child, SIGKILL));
      static_cast<void>(waitpid(child, &status, 0));
      return "the command took longer than " + std::to_string(kMostTime.count()) + " seconds";
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFEXITED(status)) return "the command exited with " + std::to_string(WEXITSTATUS(status));
  return "the command was killed by signal " + std::to_string(WTERMSIG(status));
}

// Starts the command in a process group of its own, with `in` as its stdin and our stderr as its
// stdout, which is for the address.
int Spawn(const std::string &command, int in, char **environment, pid_t *child) {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  sigset_t none{};
  sigset_t defaults{};
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int each : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, each);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::array<std::string, 3> words = {"sh", "-c", command};
  std::array<char *, 4> pointers = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  const int error =
      posix_spawn(child, "/bin/sh", &actions, &attributes, pointers.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

class CommandTarget final : public AlertTarget {
 public:
  explicit CommandTarget(std::string command) : command_(std::move(command)) {}

  std::string Send(const Alert &alert) override {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::strerror(errno);
    static_cast<void>(fcntl(ends[1], F_SETFL, O_NONBLOCK));
    Environment environment(alert);
    pid_t child = -1;
    const int error = Spawn(command_, ends[0], environment.Get(), &child);
    close(ends[0]);
    const Clock::time_point end = Clock::now() + kMostTime;
    if (error == 0) WriteAll(ends[1], alert.json + "\n", end);
    close(ends[1]);
    return error == 0 ? Await(child, end) : std::strerror(error);
  }

 private:
  const std::string command_;
};

}  // namespace

std::unique_ptr<AlertTarget> MakeCommandTarget(std::string command) {
  return std::make_unique<CommandTarget>(std::move(command));
}

}  // namespace smdebug::cli::serve
