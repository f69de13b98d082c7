// What a step was done for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smdebug {

// The numbers are those of the files and of smd_mode.
enum class Mode : int32_t { kTrain = 1, kEval = 2, kPredict = 3, kGlobal = 4 };

inline constexpr std::array<Mode, 4> kModes = {Mode::kTrain, Mode::kEval, Mode::kPredict,
                                               Mode::kGlobal};

// 0 to 3, for tables with one entry a mode.
inline constexpr size_t ModeIndex(Mode mode) { return static_cast<size_t>(mode) - 1; }

// "TRAIN", "EVAL", "PREDICT" or "GLOBAL".
std::string_view ModeName(Mode mode);

// Of such a name, or nothing.
std::optional<Mode> ModeFromName(std::string_view name);

// Of such a number, or nothing.
std::optional<Mode> ModeFromNumber(int64_t number);

}  // namespace smdebug
