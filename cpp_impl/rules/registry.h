// The rules that come with the library, by name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rules/detector.h"
#include "rules/parameters.h"
#include "rules/rule.h"

namespace smdebug::rules {

struct RuleSpec {
  std::string_view name;
  std::string_view summary;  // when it finds something, in one sentence
  std::span<const ParameterSpec> parameters;
  Result<std::unique_ptr<Detector>> (*make)(const Parameters &parameters);
};

// A rule that has it is shown estimates of larger tensors.
inline constexpr ParameterSpec kSample = {
    "sample", "0", "4096",
    "from about how many elements of a larger tensor its figures are estimated, spread evenly; 0 "
    "for all"};

// All, in the order in which they are listed.
std::span<const RuleSpec *const> BuiltinRules();

// Opens another job that a rule compares with.
using OpenJob = std::function<Result<std::shared_ptr<Source>>(const std::string &path)>;

// INVALID_ARGUMENT for an unknown rule, INVALID_CONFIG for an unknown or bad parameter, each
// by name and with the nearest known one; fails as `open` does.  Without it other jobs are the
// caller's to hand over.
Result<std::unique_ptr<Detector>> MakeDetector(std::string_view rule, Parameters::Given given,
                                               Profile profile, const OpenJob &open = nullptr);

// The same as a rule that is asked of one step after another.  `parameters` is a JSON object;
// empty: the defaults.
Result<std::unique_ptr<Rule>> MakeBuiltin(std::string_view rule, std::string_view parameters,
                                          Profile profile = Profile::kAws,
                                          const OpenJob &open = nullptr);

}  // namespace smdebug::rules
