// Declares the built-in rules.  Each rule has its own file.
#pragma once

#include "rules/rule_spec.h"

namespace smdebug::rules {

// NOLINTBEGIN(readability-identifier-naming): these are constants, but the check treats them as
// variables.
extern const RuleSpec kAdamEpsDominates;
extern const RuleSpec kAllZero;
extern const RuleSpec kAttentionEntropyCollapse;
extern const RuleSpec kAttentionLogitGrowth;
extern const RuleSpec kCheckInputImages;
extern const RuleSpec kClassImbalance;
extern const RuleSpec kCollapsedOutput;
extern const RuleSpec kConfusion;
extern const RuleSpec kDeadExpert;
extern const RuleSpec kDeadRelu;
extern const RuleSpec kExplodingTensor;
extern const RuleSpec kFeatureImportanceOverweight;
extern const RuleSpec kFirstNonFinite;
extern const RuleSpec kFp8Range;
extern const RuleSpec kGradBlowup;
extern const RuleSpec kGradNormSpike;
extern const RuleSpec kGradientNotReset;
extern const RuleSpec kInputScale;
extern const RuleSpec kLearningRateJump;
extern const RuleSpec kLeftInEvaluation;
extern const RuleSpec kUnusualSettings;
extern const RuleSpec kLossInput;
extern const RuleSpec kLossNotDecreasing;
extern const RuleSpec kLossSpike;
extern const RuleSpec kLowPrecisionUpdateLost;
extern const RuleSpec kMissingActivation;
extern const RuleSpec kNlpSequenceRatio;
extern const RuleSpec kOutputLogitDrift;
extern const RuleSpec kOverfit;
extern const RuleSpec kOvertraining;
extern const RuleSpec kPoorWeightInitialization;
extern const RuleSpec kRepeatedBatch;
extern const RuleSpec kRewardAtLowest;
extern const RuleSpec kRouterImbalance;
extern const RuleSpec kSaturatedActivation;
extern const RuleSpec kSecondMomentStale;
extern const RuleSpec kSharedShard;
extern const RuleSpec kSimilarAcrossRuns;
extern const RuleSpec kStalledTrainingRule;
extern const RuleSpec kStepRecompute;
extern const RuleSpec kTensorVariance;
extern const RuleSpec kTiedWeightsBroken;
extern const RuleSpec kTreeDepth;
extern const RuleSpec kUnchangedTensor;
extern const RuleSpec kUpdateNotApplied;
extern const RuleSpec kUpdateRms;
extern const RuleSpec kVanishingGradient;
extern const RuleSpec kWeightUpdateRatio;
extern const RuleSpec kWorkerDivergence;
// NOLINTEND(readability-identifier-naming)

}  // namespace smdebug::rules
