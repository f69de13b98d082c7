// The modes of a step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smdebug {

// The purpose of a step.  The numbers are those in files and in smd_mode.
enum class Mode : int32_t { kTrain = 1, kEval = 2, kPredict = 3, kGlobal = 4 };

inline constexpr std::array<Mode, 4> kModes = {Mode::kTrain, Mode::kEval, Mode::kPredict,
                                               Mode::kGlobal};

// Returns 0 to 3, for tables with one entry per mode.
inline constexpr size_t ModeIndex(Mode mode) { return static_cast<size_t>(mode) - 1; }

// Returns "TRAIN", "EVAL", "PREDICT" or "GLOBAL".
std::string_view ModeName(Mode mode);

// Returns the mode with this name, or nothing.
std::optional<Mode> ModeFromName(std::string_view name);

// Returns the mode with this number, or nothing.
std::optional<Mode> ModeFromNumber(int64_t number);

}  // namespace smdebug
