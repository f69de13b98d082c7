// Regular expressions with the semantics of Python's `re.search`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug {

// A compiled expression.  Copies share it; matching is safe from any thread.
//
// The syntax is that of Python 3.11.  What PCRE2 has beyond it is refused, so that the
// original can use what is accepted here (but for look-behind with alternatives of
// different lengths).  Not supported: (?a), \N{...}, repetitions above 65535; \s does not
// hold U+001C to U+001F.
class Regex {
 public:
  // Compiles a UTF-8 expression of at most 64 KiB; fails with INVALID_CONFIG, the
  // expression and the offset (in bytes) at which it is wrong.
  static Result<Regex> Compile(std::string_view expression);

  const std::string &Expression() const { return expression_; }

  // Whether the expression is found in `text`.  A search that runs away is ended soon
  // (milliseconds when compiled): INVALID_CONFIG names the expression.  A byte of `text`
  // that is not UTF-8 matches nothing, not even a dot.
  Result<bool> IsFoundIn(std::string_view text) const;

 private:
  struct Program;
  Regex(std::string expression, std::shared_ptr<const Program> program)
      : expression_(std::move(expression)), program_(std::move(program)) {}

  std::string expression_;
  std::shared_ptr<const Program> program_;
};

}  // namespace smdebug
