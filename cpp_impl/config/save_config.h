// Selects the steps of each mode that are saved.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mode.h"
#include "base/result.h"
#include "config/json_settings.h"

namespace smdebug::config {

// The settings of one mode, in mode steps.
struct SaveConfigMode {
  static constexpr int64_t kDefaultInterval = 500;

  int64_t interval = kDefaultInterval;  // >= 1; counted from 0, not from `start`
  int64_t start = 0;                    // >= 0
  // Exclusive.  If it is not after `start`, only `steps` are saved: users disable a
  // collection with end_step 0.
  std::optional<int64_t> end;
  std::vector<int64_t> steps;  // saved in addition, even outside `start` and `end`

  bool operator==(const SaveConfigMode &) const = default;

  // Fails with INVALID_CONFIG if a setting is out of range; the message names it.
  Status Check() const;
  // Returns true if the step is saved.  Also works with settings that Check() refuses.
  bool Wants(int64_t mode_step) const;
  // Returns true if no step is ever saved.
  bool WantsNothing() const;
};

// Settings for some of the modes.  A mode without settings uses the defaults, or those of the
// config that Merge() takes.
class SaveConfig {
 public:
  bool operator==(const SaveConfig &) const = default;

  const std::optional<SaveConfigMode> &Of(Mode mode) const { return modes_[ModeIndex(mode)]; }
  Status Set(Mode mode, SaveConfigMode settings);
  // The settings must pass Check().
  void SetChecked(Mode mode, SaveConfigMode settings);
  // The settings must pass Check().
  void SetAll(const SaveConfigMode &settings);

  bool Wants(Mode mode, int64_t mode_step) const;

  // Sets each mode without settings to those of `defaults`.
  void Merge(const SaveConfig &defaults);

  // Writes the form of collection files: an object with mode names as keys, each an object or
  // null.  FromJson() also accepts missing settings and numbers as texts, and ignores other
  // settings.  An unknown mode is an error in a user's settings, and ignored in a file.
  void WriteJson(JsonWriter &json) const;
  std::string ToJson() const;
  static Result<SaveConfig> FromJson(const JsonValue &json, Origin origin = Origin::kUser);
  static Result<SaveConfig> FromJson(std::string_view text);

 private:
  std::array<std::optional<SaveConfigMode>, kModes.size()> modes_;
};

}  // namespace smdebug::config
