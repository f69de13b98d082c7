// A copy of the environment from when a handle was created.  Reading it later would race with
// host threads that change it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace smdebug::aws {

class Variables {
 public:
  // Copies HOME and all variables whose names begin with AWS_.
  static Variables OfProcess();

  using Values = std::map<std::string, std::string, std::less<>>;
  static Variables Of(Values values);

  Variables() = default;

  // Returns the variable's text, or nothing if it is unset or empty.
  std::optional<std::string> Find(std::string_view name) const;
  // Returns true if the variable is "true", in upper or lower case, as AWS defines switches.
  bool IsTrue(std::string_view name) const;

  // Returns the path with a leading "~/" replaced by the home folder.
  std::string ExpandHome(std::string_view path) const;

 private:
  Values values_;
};

}  // namespace smdebug::aws
