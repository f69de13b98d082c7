#include "rules/registry.h"

#include <map>
#include <string>

#include "base/json.h"
#include "base/strings.h"
#include "rules/vanishing_gradient.h"

namespace smdebug::rules {
namespace {

using Parameters = std::map<std::string, std::string>;

// All parameters travel as texts.
Result<Parameters> ParseParameters(std::string_view json) {
  Parameters parameters;
  if (Trim(json).empty()) return parameters;
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  if (!document.Root().IsObject()) return InvalidConfig("rule parameters must be a JSON object");
  for (const auto &[name, value] : document.Root().Members()) {
    SMD_ASSIGN_OR_RETURN(parameters[name], value.Text());
  }
  return parameters;
}

Result<std::unique_ptr<Rule>> MakeVanishingGradient(const Parameters &parameters) {
  double threshold = VanishingGradient::kDefaultThreshold;
  for (const auto &[name, value] : parameters) {
    if (name != "threshold") {
      return InvalidConfig(StrCat("VanishingGradient has no parameter '", name, "'",
                                  DidYouMean(name, {"threshold"})));
    }
    const std::optional<double> parsed = ParseDouble(value);
    if (!parsed || !(*parsed > 0)) {
      return InvalidConfig(
          StrCat("VanishingGradient: threshold is '", value, "'; it must be a number above 0"));
    }
    threshold = *parsed;
  }
  return std::unique_ptr<Rule>(std::make_unique<VanishingGradient>(threshold));
}

}  // namespace

Result<std::unique_ptr<Rule>> MakeBuiltin(std::string_view name, std::string_view parameters) {
  if (name != "VanishingGradient") {
    return InvalidArgument(StrCat("there is no built-in rule '", name.substr(0, 64), "'",
                                  DidYouMean(name, {"VanishingGradient"})));
  }
  SMD_ASSIGN_OR_RETURN(const Parameters parsed, ParseParameters(parameters));
  return MakeVanishingGradient(parsed);
}

}  // namespace smdebug::rules
