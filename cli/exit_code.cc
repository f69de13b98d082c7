#include "exit_code.h"

namespace smdebug::cli {

ExitCode ExitCodeOf(smd_code code) {
  switch (code) {
    case SMD_OK: return ExitCode::kNoFindings;
    case SMD_INVALID_ARGUMENT:
    case SMD_INVALID_CONFIG:
    case SMD_TRIAL_EXISTS: return ExitCode::kUsage;
    case SMD_STEP_UNAVAILABLE:
    case SMD_STEP_NOT_YET:
    case SMD_NO_MORE_DATA:
    case SMD_TENSOR_UNAVAILABLE:
    case SMD_VALUE_UNAVAILABLE:
    case SMD_WORKER_UNKNOWN:
    case SMD_MISSING_COLLECTIONS:
    case SMD_SHAPE_UNAVAILABLE:
    case SMD_NOT_FOUND:
    case SMD_BUCKET_NOT_FOUND: return ExitCode::kNotThere;
    case SMD_CORRUPT_DATA: return ExitCode::kDamaged;
    case SMD_IO:
    case SMD_PERMISSION:
    case SMD_NO_SPACE: return ExitCode::kFiles;
    case SMD_NETWORK:
    case SMD_TIMEOUT:
    case SMD_TLS:
    case SMD_THROTTLED: return ExitCode::kNetwork;
    case SMD_CREDENTIALS:
    case SMD_CREDENTIALS_REFUSED:
    case SMD_CREDENTIALS_EXPIRED:
    case SMD_CLOCK_SKEWED:
    case SMD_WRONG_REGION: return ExitCode::kCredentials;
    case SMD_UNSUPPORTED:
    case SMD_ABI_MISMATCH: return ExitCode::kUnsupported;
    case SMD_RULE_CONDITION_MET: return ExitCode::kFindings;
    default: return ExitCode::kInternal;
  }
}

}  // namespace smdebug::cli
