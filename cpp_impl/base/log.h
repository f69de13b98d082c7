// The log of one hook or trial.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace smdebug {

// Each value equals that of the same level in smd_log_level.
enum class LogLevel : int { kOff = 0, kError = 1, kWarning = 2, kInfo = 3, kDebug = 4 };

// Passes lines that are important enough to a function.  Safe from any thread, also under a
// DeferringLock: the function is called after that is released.  Copies share the function.
class Logger {
 public:
  using Sink = std::function<void(LogLevel, const std::string &)>;

  // Logs to stderr, up to the level in SMDEBUG_LOG_LEVEL (default: warnings and errors).
  Logger();
  Logger(LogLevel level, Sink sink);

  bool Logs(LogLevel level) const { return level <= level_; }
  void Error(const std::string &message) const { Log(LogLevel::kError, message); }
  void Warning(const std::string &message) const { Log(LogLevel::kWarning, message); }
  void Info(const std::string &message) const { Log(LogLevel::kInfo, message); }
  void Debug(const std::string &message) const { Log(LogLevel::kDebug, message); }
  void Log(LogLevel level, const std::string &message) const;

 private:
  LogLevel level_;
  std::shared_ptr<const Sink> sink_;
};

}  // namespace smdebug
