// Regular expressions with the semantics of Python's `re.search`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace smdebug {

// A compiled expression.  Copies share it; matching is safe from any thread.
//
// The syntax is that of Python 3.11.  Extensions of PCRE2 are refused, so that the original can
// use every accepted expression, except look-behind with alternatives of different lengths.
// Not supported: (?a), \N{...} and repetitions above 65535; \s does not match U+001C to
// U+001F.
class Regex {
 public:
  // Compiles a UTF-8 expression of at most 64 KiB.  Fails with INVALID_CONFIG; the message
  // contains the expression and the offset of the error in bytes.
  static Result<Regex> Compile(std::string_view expression);

  const std::string &Expression() const { return expression_; }

  // Returns true if the expression matches any part of `text`.  A search with excessive
  // backtracking stops soon (after milliseconds if JIT-compiled) and fails with
  // INVALID_CONFIG; the message contains the expression.  A byte of `text` that is not UTF-8
  // matches nothing, not even a dot.
  Result<bool> IsFoundIn(std::string_view text) const;

 private:
  friend class RegexBudget;
  struct Program;
  // The same in at most `limit` steps of the search; nothing if they do not suffice.
  Result<std::optional<bool>> SearchWithin(uint32_t limit, std::string_view text) const;
  Status TooLong(std::string_view text) const;

  Regex(std::string expression, std::shared_ptr<const Program> program)
      : expression_(std::move(expression)), program_(std::move(program)) {}

  std::string expression_;
  std::shared_ptr<const Program> program_;
};

// Bounds what many searches cost together, as where expressions and texts come from a file.
// Safe from any thread.
class RegexBudget {
 public:
  // About a second of searching.  Searches of up to kFreeSteps, which are nearly all, cost
  // nothing of it.
  static constexpr uint64_t kSteps = 100'000'000;
  static constexpr uint32_t kFreeSteps = 500;

  explicit RegexBudget(uint64_t steps = kSteps) : left_(steps) {}

  // Like Regex::IsFoundIn().  The result of a costly search is cached.  Once the budget is used up,
  // every further costly search fails with INVALID_CONFIG.
  Result<bool> IsFoundIn(const Regex &regex, std::string_view text);

 private:
  Result<bool> SearchOnBudget(const Regex &regex, std::string_view text) SMD_REQUIRES(mutex_);

  Mutex mutex_;
  uint64_t left_ SMD_GUARDED_BY(mutex_);
  // Outcomes of costly searches by expression, then text.  The budget bounds how many there are.
  using Outcomes = std::map<std::string, bool, std::less<>>;
  std::map<std::string, Outcomes, std::less<>> known_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug
