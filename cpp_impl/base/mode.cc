#include "base/mode.h"

namespace smdebug {

std::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kTrain: return "TRAIN";
    case Mode::kEval: return "EVAL";
    case Mode::kPredict: return "PREDICT";
    case Mode::kGlobal: return "GLOBAL";
  }
  return "";
}

std::optional<Mode> ModeFromName(std::string_view name) {
  for (const Mode mode : kModes) {
    if (ModeName(mode) == name) return mode;
  }
  return {};
}

std::optional<Mode> ModeFromNumber(int64_t number) {
  if (number < 1 || number > 4) return {};
  return static_cast<Mode>(number);
}

}  // namespace smdebug
