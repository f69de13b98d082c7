#include "aws/variables.h"

#include <unistd.h>

#include "base/strings.h"

namespace smdebug::aws {

Variables Variables::OfProcess() {
  Variables variables;
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (name == "HOME" || name.starts_with("AWS_")) {
      variables.values_.emplace(name, text.substr(equals + 1));
    }
  }
  return variables;
}

Variables Variables::Of(Values values) {
  Variables variables;
  variables.values_ = std::move(values);
  return variables;
}

std::optional<std::string> Variables::Find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return {};
  return found->second;
}

bool Variables::IsTrue(std::string_view name) const {
  const std::optional<std::string> text = Find(name);
  return text && ToLower(Trim(*text)) == "true";
}

std::string Variables::ExpandHome(std::string_view path) const {
  const std::optional<std::string> home = Find("HOME");
  if (!home || !path.starts_with("~/")) return std::string(path);
  return StrCat(*home, path.substr(1));
}

}  // namespace smdebug::aws
