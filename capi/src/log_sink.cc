#include "log_sink.h"

#include "guard.h"

namespace smdebug::capi {

Result<Logger> LoggerFromC(smd_log_level level, smd_log_fn log, void *user_data,
                           smd_release_fn destroy) {
  const std::shared_ptr<const void> owned = OwnerFromC(destroy, user_data);
  if (log == nullptr) return InvalidArgument("log is NULL");
  if (level < SMD_LOG_OFF || level > SMD_LOG_DEBUG) {
    return InvalidArgument(StrCat(level, " is not a log level; use 0 (off) to 4 (debug)"));
  }
  return Logger(static_cast<LogLevel>(level),
                [log, user_data, owned](LogLevel at, const std::string &message) {
                  log(user_data, static_cast<smd_log_level>(at), message.c_str());
                });
}

}  // namespace smdebug::capi
