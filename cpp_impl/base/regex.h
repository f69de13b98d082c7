// Regular expressions with the semantics of Python's `re.search`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smdebug {

// A compiled expression.  Copies share it; matching is safe from any thread.
class Regex {
 public:
  // Compiles a UTF-8 expression; fails with INVALID_CONFIG, the expression and
  // the offset at which it is wrong.
  static Result<Regex> Compile(std::string_view expression);

  const std::string &Expression() const { return expression_; }

  // Whether the expression is found in `text`.  A search that runs away (match or
  // depth limit) fails with INVALID_CONFIG and names the expression; text that is
  // not UTF-8 is matched byte by byte.
  Result<bool> IsFoundIn(std::string_view text) const;

 private:
  struct Program;
  Regex(std::string expression, std::shared_ptr<const Program> program)
      : expression_(std::move(expression)), program_(std::move(program)) {}

  std::string expression_;
  std::shared_ptr<const Program> program_;
};

}  // namespace smdebug
