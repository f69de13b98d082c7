// The built-in rules; each has a file of its own.
#pragma once

#include "rules/registry.h"

namespace smdebug::rules {

extern const RuleSpec kVanishingGradient;

}  // namespace smdebug::rules
