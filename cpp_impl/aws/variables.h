// The environment as it was when a handle was made: it is not read again later, when
// another thread of the host may be changing it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace smdebug::aws {

class Variables {
 public:
  // HOME and all whose names begin with AWS_.
  static Variables OfProcess();

  using Values = std::map<std::string, std::string, std::less<>>;
  static Variables Of(Values values);

  Variables() = default;

  // The variable's text, or nothing if it is not set or empty.
  std::optional<std::string> Find(std::string_view name) const;
  // Whether it is "true" in any case, as AWS's own switches are written.
  bool IsTrue(std::string_view name) const;

  // The path with a leading "~/" replaced by the home folder.
  std::string ExpandHome(std::string_view path) const;

 private:
  Values values_;
};

}  // namespace smdebug::aws
