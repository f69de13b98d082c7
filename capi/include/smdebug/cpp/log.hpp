// Where the library's log lines go.
#ifndef SMDEBUG_CPP_LOG_HPP
#define SMDEBUG_CPP_LOG_HPP

#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "smdebug/cpp/error.hpp"
#include "smdebug/log.h"

namespace smdebug {

enum class LogLevel : smd_log_level {
  kOff = SMD_LOG_OFF,
  kError = SMD_LOG_ERROR,
  kWarning = SMD_LOG_WARNING,
  kInfo = SMD_LOG_INFO,
  kDebug = SMD_LOG_DEBUG
};

// Takes one line without its end, on any thread.  smd_log_fn.  If it throws, the line goes to
// stderr with the message of the exception.
using LogFunction = std::function<void(LogLevel, std::string_view)>;

namespace detail {

inline void CallLog(void *user_data, smd_log_level level, const char *message) noexcept {
  try {
    (*static_cast<LogFunction *>(user_data))(static_cast<LogLevel>(level), message);
  } catch (const std::exception &thrown) {
    std::fprintf(stderr, "%s (the log function threw: %s)\n", message, thrown.what());
  } catch (...) {
    std::fprintf(stderr, "%s (the log function threw)\n", message);
  }
}

inline void FreeLog(void *user_data) noexcept { delete static_cast<LogFunction *>(user_data); }

// Passes `log` to `set`, which refuses an empty one.
template <class Options, class Set>
void SetLog(Options *options, Set set, LogLevel level, LogFunction log) {
  const bool is_empty = log == nullptr;
  auto held = std::make_unique<LogFunction>(std::move(log));
  Check(set(options, static_cast<smd_log_level>(level), is_empty ? nullptr : CallLog,
            held.release(), FreeLog));
}

}  // namespace detail
}  // namespace smdebug

#endif  // SMDEBUG_CPP_LOG_HPP
