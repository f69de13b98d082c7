#include "base/log.h"

#include <cstdio>
#include <new>

#include "base/deferral.h"
#include "base/environment.h"
#include "base/strings.h"

namespace smdebug {
namespace {

const char *LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return "error";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kInfo: return "info";
    case LogLevel::kDebug: return "debug";
    case LogLevel::kOff: break;
  }
  return "";
}

LogLevel LevelFromEnvironment() {
  const std::string name = ToLower(Environment("SMDEBUG_LOG_LEVEL").value_or("warning"));
  if (name == "off") return LogLevel::kOff;
  if (name == "error" || name == "critical") return LogLevel::kError;
  if (name == "info") return LogLevel::kInfo;
  if (name == "debug") return LogLevel::kDebug;
  return LogLevel::kWarning;
}

void WriteToStderr(LogLevel level, const std::string &message) {
  // A single write, so that lines of several processes do not interleave.
  const std::string line = StrCat("smdebug ", LevelName(level), ": ", message, "\n");
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

class LogLine final : public OutsideCall {
 public:
  LogLine(std::shared_ptr<const Logger::Sink> sink, LogLevel level, std::string message)
      : sink_(std::move(sink)), level_(level), message_(std::move(message)) {}
  void Run() noexcept override {
    try {
      (*sink_)(level_, message_);
    } catch (const std::bad_alloc &) {
      return;  // a line that there is no memory for is not worth a job
    }
  }

 private:
  const std::shared_ptr<const Logger::Sink> sink_;
  const LogLevel level_;
  const std::string message_;
};

}  // namespace

Logger::Logger() : Logger(LevelFromEnvironment(), WriteToStderr) {}

Logger::Logger(LogLevel level, Sink sink)
    : level_(level), sink_(std::make_shared<const Sink>(std::move(sink))) {}

// If there is no memory for a line, drops the line rather than fail the job.
void Logger::Log(LogLevel level, const std::string &message) const try {
  if (Logs(level) && *sink_) RunOutside(std::make_unique<LogLine>(sink_, level, message));
} catch (const std::bad_alloc &) {
  return;
}

}  // namespace smdebug
