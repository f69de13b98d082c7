// A value or an error.
#pragma once

#include <utility>
#include <variant>

#include "base/status.h"

namespace smdebug {

template <class T>
class [[nodiscard]] Result {
 public:
  // Takes a failed status.  Passing success is a bug, which becomes an INTERNAL error.
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (std::get<Status>(state_).IsOk()) {
      state_ = Status(Code::kInternal, "a result was made from success without a value");
    }
  }
  Result(T value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  bool IsOk() const { return state_.index() == 1; }
  Status GetStatus() const { return IsOk() ? Status::Ok() : std::get<Status>(state_); }

  // Only if IsOk().
  T &operator*() & { return std::get<T>(state_); }
  const T &operator*() const & { return std::get<T>(state_); }
  T &&operator*() && { return std::get<T>(std::move(state_)); }
  T *operator->() { return &std::get<T>(state_); }
  const T *operator->() const { return &std::get<T>(state_); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace smdebug

// `SMD_ASSIGN_OR_RETURN(auto file, store.Open(name));`
#define SMD_ASSIGN_OR_RETURN(declaration, expression) \
  SMD_ASSIGN_OR_RETURN_INNER(SMD_CONCAT(smd_result_, __LINE__), declaration, expression)
#define SMD_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.IsOk()) return result.GetStatus();                    \
  declaration = *std::move(result)
