// Expected failures without exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smdebug {

// The numbers are those of smd_code in the C interface.
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

// The constant's name in the C interface without its prefix, or "UNKNOWN".
const char *CodeName(Code code);

// Success, or a code with a one-line message and named details.  Copies share
// what they hold; success holds nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);

  static Status Ok() { return {}; }

  bool IsOk() const { return rep_ == nullptr; }
  Code GetCode() const { return rep_ ? rep_->code : Code::kOk; }
  const std::string &Message() const;

  // The detail of that name, or nullptr.
  const std::string *Detail(std::string_view key) const;

  // This status with one more detail; a success stays one.
  Status With(std::string key, std::string value) const &;
  Status With(std::string key, std::string value) &&;

  // Whether the same call may succeed later with nothing changed by the caller.
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

// A file does not hold what it should; the message begins with `path`.
Status CorruptData(std::string_view path, std::string_view what);

// A failed system call `action` ("rename", "read", ...) on `path`: the code fits
// `error_number`, the message says what to do where that is known.
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
