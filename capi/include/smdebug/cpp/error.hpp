// Failures as exceptions.
#ifndef SMDEBUG_CPP_ERROR_HPP
#define SMDEBUG_CPP_ERROR_HPP

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "smdebug/error.h"

namespace smdebug {

// The error of a function.  what() is the message: what failed, where, and what to do.
class SMD_API Error : public std::runtime_error {
 public:
  // Takes ownership of `error`, which must not be NULL.
  explicit Error(smd_error *error) : Error(std::shared_ptr<smd_error>(error, smd_error_free)) {}

  // An error of the caller's own, for a rule to throw.  smd_error_new().
  Error(smd_code code, const std::string &message) : Error(smd_error_new(code, message.c_str())) {}

  // One of SMD_....  smd_error_code().
  smd_code Code() const noexcept { return smd_error_code(error_.get()); }

  // The name of the code, such as "STEP_UNAVAILABLE".  Static text.  smd_code_name().
  const char *CodeName() const noexcept { return smd_code_name(Code()); }

  // A detail, such as "step" or "path"; nothing if the error has none with that name.
  // smd_error_detail().
  std::optional<std::string> Detail(const char *key) const {
    const char *text = smd_error_detail(error_.get(), key);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  }

  // Returns true if the same call may succeed later.  smd_error_is_retryable().
  bool IsRetryable() const noexcept { return smd_error_is_retryable(error_.get()) != 0; }

 private:
  explicit Error(std::shared_ptr<smd_error> error)
      : std::runtime_error(smd_error_message(error.get())), error_(std::move(error)) {}

  std::shared_ptr<smd_error> error_;  // shared, as exceptions are copied
};

// Errors that a program may want to catch one by one.  Each has the code of its name.

// STEP_UNAVAILABLE: the step was not saved and never will be.
class SMD_API StepUnavailable : public Error {
 public:
  using Error::Error;
};

// STEP_NOT_YET: the step was not seen yet; it may still come.
class SMD_API StepNotYet : public Error {
 public:
  using Error::Error;
};

// NO_MORE_DATA: the job ended before this step (detail "last_step").
class SMD_API NoMoreData : public Error {
 public:
  using Error::Error;
};

// TENSOR_UNAVAILABLE: no tensor with this name was saved so far.
class SMD_API TensorUnavailable : public Error {
 public:
  using Error::Error;
};

// VALUE_UNAVAILABLE: no value was saved at this step, or only reductions of it.
class SMD_API ValueUnavailable : public Error {
 public:
  using Error::Error;
};

// RULE_CONDITION_MET: a rule's finding (details "rule", "step").
class SMD_API RuleConditionMet : public Error {
 public:
  using Error::Error;
};

namespace detail {

// Takes ownership of `error` and throws it as the class of its code.
[[noreturn]] inline void Throw(smd_error *error) {
  switch (smd_error_code(error)) {
    case SMD_STEP_UNAVAILABLE: throw StepUnavailable(error);
    case SMD_STEP_NOT_YET: throw StepNotYet(error);
    case SMD_NO_MORE_DATA: throw NoMoreData(error);
    case SMD_TENSOR_UNAVAILABLE: throw TensorUnavailable(error);
    case SMD_VALUE_UNAVAILABLE: throw ValueUnavailable(error);
    case SMD_RULE_CONDITION_MET: throw RuleConditionMet(error);
    default: throw Error(error);
  }
}

// Throws unless the function of the C interface succeeded.
inline void Check(smd_error *error) {
  if (error != nullptr) Throw(error);
}

}  // namespace detail
}  // namespace smdebug

#endif  // SMDEBUG_CPP_ERROR_HPP
