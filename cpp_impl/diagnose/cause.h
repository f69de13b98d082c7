// The causes that a diagnosis can name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smdebug::diagnose {

// First those of tests/rules/causes.py, in its order, then what only large trainings have.
enum class Cause : uint8_t {
  kRateTooHigh,
  kRateTooLow,
  kInitialisation,
  kDeadUnits,
  kGradientsVanish,
  kInputsNotNormalised,
  kInputsEmpty,
  kLabelsWrong,
  kClassesImbalanced,
  kBatchesRepeated,
  kBatchCorrupt,
  kLossOfWrongOutput,
  kNothingUpdated,
  kOptimizerIncomplete,
  kGradientsNotReset,
  kGradientCut,
  kPrecision,
  kUndefinedOperation,
  kMemoryCorrupt,
  kReplicasApart,
  kOverfit,
  kLeftInEvaluation,
  kSamplesSorted,
  kLossSign,
  kTargetsGiven,
  kOutputsCollapsed,
  kDecayTooStrong,
  kActivationMissing,
  kAxesSwapped,
  kDropoutTooStrong,
  kNotInEvaluation,
  kShardShared,
  kTieBroken,
  kExpertsStarved,
  kGradientsScaled,
  kAttentionUnstable,
  kOptimizerStateLost,
  kLogitsDrift,
  kComputedWrong,
};
inline constexpr size_t kCauses = 39;

// What users read about a cause.
struct CauseText {
  std::string_view id;      // in JSON, in the anchor of docs/diagnosis.md, and in causes.py
  std::string_view title;   // a few words
  std::string_view advice;  // two sentences that say what to do
  std::string_view link;    // the section of docs/diagnosis.md
};

const CauseText &TextOf(Cause cause);

}  // namespace smdebug::diagnose
