// The rules that come with the library, by name.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "rules/rule.h"

namespace smdebug::rules {

// `parameters` is a JSON object of texts; empty: the defaults.  INVALID_ARGUMENT for an
// unknown rule, INVALID_CONFIG for an unknown or bad parameter, each by name and with
// the nearest known one.
Result<std::unique_ptr<Rule>> MakeBuiltin(std::string_view name, std::string_view parameters);

}  // namespace smdebug::rules
