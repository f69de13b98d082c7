#include "base/status.h"

#include <cerrno>
#include <system_error>

#include "base/strings.h"

namespace smdebug {
namespace {

Code CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermission;
    case ENOSPC:
    case EDQUOT: return Code::kNoSpace;
    case ENOMEM: return Code::kOutOfMemory;
    default: return Code::kIo;
  }
}

const char *Advice(int error_number) {
  switch (error_number) {
    case ENOSPC: return "; free space on that disk";
    case EDQUOT: return "; the disk quota is used up";
    case EMFILE:
    case ENFILE: return "; raise the limit of open files (ulimit -n)";
    case EACCES:
    case EPERM: return "; check the owner and mode of the folder";
    case EROFS: return "; choose a folder on a writable file system";
    default: return "";
  }
}

}  // namespace

const char *CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kInvalidConfig: return "INVALID_CONFIG";
    case Code::kWrongState: return "WRONG_STATE";
    case Code::kAbiMismatch: return "ABI_MISMATCH";
    case Code::kUnsupported: return "UNSUPPORTED";
    case Code::kAfterFork: return "AFTER_FORK";
    case Code::kTrialExists: return "TRIAL_EXISTS";
    case Code::kStepUnavailable: return "STEP_UNAVAILABLE";
    case Code::kStepNotYet: return "STEP_NOT_YET";
    case Code::kNoMoreData: return "NO_MORE_DATA";
    case Code::kTensorUnavailable: return "TENSOR_UNAVAILABLE";
    case Code::kValueUnavailable: return "VALUE_UNAVAILABLE";
    case Code::kWorkerUnknown: return "WORKER_UNKNOWN";
    case Code::kMissingCollections: return "MISSING_COLLECTIONS";
    case Code::kCorruptData: return "CORRUPT_DATA";
    case Code::kShapeUnavailable: return "SHAPE_UNAVAILABLE";
    case Code::kIo: return "IO";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kPermission: return "PERMISSION";
    case Code::kNetwork: return "NETWORK";
    case Code::kCredentials: return "CREDENTIALS";
    case Code::kTimeout: return "TIMEOUT";
    case Code::kCancelled: return "CANCELLED";
    case Code::kOutOfMemory: return "OUT_OF_MEMORY";
    case Code::kStepDropped: return "STEP_DROPPED";
    case Code::kNoSpace: return "NO_SPACE";
    case Code::kTls: return "TLS";
    case Code::kCredentialsRefused: return "CREDENTIALS_REFUSED";
    case Code::kCredentialsExpired: return "CREDENTIALS_EXPIRED";
    case Code::kClockSkewed: return "CLOCK_SKEWED";
    case Code::kWrongRegion: return "WRONG_REGION";
    case Code::kBucketNotFound: return "BUCKET_NOT_FOUND";
    case Code::kThrottled: return "THROTTLED";
    case Code::kCallbackFailed: return "CALLBACK_FAILED";
    case Code::kInternal: return "INTERNAL";
    case Code::kRuleConditionMet: return "RULE_CONDITION_MET";
  }
  return "UNKNOWN";
}

Status::Status(Code code, std::string message)
    : rep_(std::make_shared<const Rep>(Rep{code, std::move(message), {}})) {}

const std::string &Status::Message() const {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

const std::string *Status::Detail(std::string_view key) const {
  if (!rep_) return nullptr;
  for (const auto &[name, value] : rep_->details) {
    if (name == key) return &value;
  }
  return nullptr;
}

Status Status::With(std::string key, std::string value) const & {
  return Status(*this).With(std::move(key), std::move(value));
}

Status Status::With(std::string key, std::string value) && {
  if (!rep_) return {};
  auto rep = std::make_shared<Rep>(*rep_);
  rep->details.emplace_back(std::move(key), std::move(value));
  rep_ = std::move(rep);
  return std::move(*this);
}

bool Status::IsRetryable() const {
  switch (GetCode()) {
    case Code::kStepNotYet:
    case Code::kNetwork:
    case Code::kTimeout:
    case Code::kIo:
    case Code::kNoSpace:
    case Code::kOutOfMemory:
    case Code::kStepDropped:
    case Code::kThrottled: return true;
    default: return false;
  }
}

Status InvalidArgument(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

Status InvalidConfig(std::string message) { return {Code::kInvalidConfig, std::move(message)}; }

Status WrongState(std::string message) { return {Code::kWrongState, std::move(message)}; }

Status Unsupported(std::string message) { return {Code::kUnsupported, std::move(message)}; }

Status CorruptData(std::string_view path, std::string_view what) {
  return Status(Code::kCorruptData, StrCat(path, ": ", what)).With("path", std::string(path));
}

Status SystemError(std::string_view action, std::string_view path, int error_number) {
  return Status(CodeOfErrno(error_number),
                StrCat(path, ": ", action, " failed: ",
                       std::generic_category().message(error_number), Advice(error_number)))
      .With("path", std::string(path))
      .With("errno", std::to_string(error_number));
}

}  // namespace smdebug
