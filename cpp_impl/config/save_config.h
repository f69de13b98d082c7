// Which steps of each mode are saved.
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
  std::optional<int64_t> end;           // exclusive; > start
  std::vector<int64_t> steps;           // saved besides; not bound by start and end

  bool operator==(const SaveConfigMode &) const = default;

  // INVALID_CONFIG that names the setting, if one is out of its range.
  Status Check() const;
  // Takes settings that Check() refuses as they are.
  bool Wants(int64_t mode_step) const;
};

// Settings for some of the modes; a mode without takes the defaults, or those of the
// config this one is merged with.
class SaveConfig {
 public:
  bool operator==(const SaveConfig &) const = default;

  const std::optional<SaveConfigMode> &Of(Mode mode) const { return modes_[ModeIndex(mode)]; }
  Status Set(Mode mode, SaveConfigMode settings);
  // Only settings that pass Check().
  void SetAll(const SaveConfigMode &settings);

  bool Wants(Mode mode, int64_t mode_step) const;

  // Gives each mode without settings those of `defaults`.
  void Merge(const SaveConfig &defaults);

  // The form of collection files: an object of mode names, each an object or null.  In
  // reading, settings may be missing or texts of numbers, and other settings are passed
  // over; a name that is no mode is a user's fault, but not a file's.
  void WriteJson(JsonWriter &json) const;
  std::string ToJson() const;
  static Result<SaveConfig> FromJson(const JsonValue &json, Origin origin = Origin::kUser);
  static Result<SaveConfig> FromJson(std::string_view text);

 private:
  std::array<std::optional<SaveConfigMode>, kModes.size()> modes_;
};

}  // namespace smdebug::config
