// Reports expected failures without exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smdebug {

// Each value equals that of the same code in smd_code.
enum class Code : int32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kInvalidConfig = 2,
  kWrongState = 3,
  kAbiMismatch = 4,
  kUnsupported = 5,
  kAfterFork = 6,
  kTrialExists = 7,
  kStepUnavailable = 20,
  kStepNotYet = 21,
  kNoMoreData = 22,
  kTensorUnavailable = 23,
  kValueUnavailable = 24,
  kWorkerUnknown = 25,
  kMissingCollections = 26,
  kCorruptData = 27,
  kShapeUnavailable = 28,
  kIo = 40,
  kNotFound = 41,
  kPermission = 42,
  kNetwork = 43,
  kCredentials = 44,
  kTimeout = 45,
  kCancelled = 46,
  kOutOfMemory = 47,
  kStepDropped = 48,
  kNoSpace = 49,
  kTls = 50,
  kCredentialsRefused = 51,
  kCredentialsExpired = 52,
  kClockSkewed = 53,
  kWrongRegion = 54,
  kBucketNotFound = 55,
  kThrottled = 56,
  kCallbackFailed = 60,
  kInternal = 61,
  kRuleConditionMet = 80,
};

// Returns the constant's name in the C interface without its prefix, or "UNKNOWN".
const char *CodeName(Code code);

// Success, or a code with a one-line message and named details.  Copies share their contents;
// success needs no memory.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);

  static Status Ok() { return {}; }

  bool IsOk() const { return rep_ == nullptr; }
  Code GetCode() const { return rep_ ? rep_->code : Code::kOk; }
  const std::string &Message() const;

  // Returns the detail with this name, or nullptr.
  const std::string *Detail(std::string_view key) const;

  // Returns this status with another detail; success stays unchanged.
  Status With(std::string key, std::string value) const &;
  Status With(std::string key, std::string value) &&;

  // Returns true if the same call may succeed later without a change by the caller.
  bool IsRetryable() const;

 private:
  struct Rep {
    Code code;
    std::string message;
    std::vector<std::pair<std::string, std::string>> details;
  };
  std::shared_ptr<const Rep> rep_;
};

Status InvalidArgument(std::string message);
Status InvalidConfig(std::string message);
Status WrongState(std::string message);
Status Unsupported(std::string message);

// Keeps the first failure of several.
inline void KeepFirst(Status *first, Status status) {
  if (first->IsOk()) *first = std::move(status);
}

// Returns the error for a file with invalid contents; the message begins with `path`.
Status CorruptData(std::string_view path, std::string_view what);

// Returns the error for a system call `action` ("rename", "read", ...) that failed on `path`.
// The code follows from `error_number`; the message says what to do if that is known.
Status SystemError(std::string_view action, std::string_view path, int error_number);

}  // namespace smdebug

#define SMD_CONCAT_INNER(a, b) a##b
#define SMD_CONCAT(a, b) SMD_CONCAT_INNER(a, b)

#define SMD_RETURN_IF_ERROR(expression)                       \
  do {                                                        \
    if (auto smd_status = (expression); !smd_status.IsOk()) { \
      return smd_status;                                      \
    }                                                         \
  } while (false)
