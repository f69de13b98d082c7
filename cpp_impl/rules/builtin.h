// The built-in rules; each has a file of its own.
#pragma once

#include "rules/registry.h"

namespace smdebug::rules {

// NOLINTBEGIN(readability-identifier-naming): constants, which the check takes for variables.
extern const RuleSpec kAllZero;
extern const RuleSpec kCheckInputImages;
extern const RuleSpec kDeadRelu;
extern const RuleSpec kExplodingTensor;
extern const RuleSpec kNlpSequenceRatio;
extern const RuleSpec kPoorWeightInitialization;
extern const RuleSpec kSaturatedActivation;
extern const RuleSpec kTensorVariance;
extern const RuleSpec kUnchangedTensor;
extern const RuleSpec kVanishingGradient;
extern const RuleSpec kWeightUpdateRatio;
// NOLINTEND(readability-identifier-naming)

}  // namespace smdebug::rules
