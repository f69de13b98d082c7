// Declares the built-in rules.  Each rule has its own file.
#pragma once

#include "rules/rule_spec.h"

namespace smdebug::rules {

// NOLINTBEGIN(readability-identifier-naming): these are constants, but the check treats them as
// variables.
extern const RuleSpec kAllZero;
extern const RuleSpec kCheckInputImages;
extern const RuleSpec kClassImbalance;
extern const RuleSpec kConfusion;
extern const RuleSpec kDeadRelu;
extern const RuleSpec kExplodingTensor;
extern const RuleSpec kFeatureImportanceOverweight;
extern const RuleSpec kFirstNonFinite;
extern const RuleSpec kLossNotDecreasing;
extern const RuleSpec kNlpSequenceRatio;
extern const RuleSpec kOverfit;
extern const RuleSpec kOvertraining;
extern const RuleSpec kPoorWeightInitialization;
extern const RuleSpec kSaturatedActivation;
extern const RuleSpec kSimilarAcrossRuns;
extern const RuleSpec kStalledTrainingRule;
extern const RuleSpec kTensorVariance;
extern const RuleSpec kTreeDepth;
extern const RuleSpec kUnchangedTensor;
extern const RuleSpec kUpdateNotApplied;
extern const RuleSpec kVanishingGradient;
extern const RuleSpec kWeightUpdateRatio;
extern const RuleSpec kWorkerDivergence;
// NOLINTEND(readability-identifier-naming)

}  // namespace smdebug::rules
