// Loggers that call a log function of the caller.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "smdebug/log.h"
#include "smdebug/types.h"

namespace smdebug::capi {

// Returns a logger that calls `log`.  `destroy` runs when the last copy is destroyed, or
// immediately if this fails.
Result<Logger> LoggerFromC(smd_log_level level, smd_log_fn log, void *user_data,
                           smd_release_fn destroy);

}  // namespace smdebug::capi
