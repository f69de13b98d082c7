// The save settings in the flat parameters of a hook's configuration.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mode.h"
#include "config/save_config.h"
#include "config/settings_reader.h"

namespace smdebug::config {

// "save_interval", "start_step", "end_step" and "save_steps", each also for one mode
// ("train.save_interval").
class SaveParameters {
 public:
  static SaveParameters Read(SettingsReader *settings);

  bool IsEmpty() const;

  // Returns settings for all modes.  Settings that neither these parameters nor `outer` have
  // are those of `defaults`.
  SaveConfig Over(const SaveParameters &outer, const SaveConfig &defaults) const;

  static std::vector<std::string> Names();

 private:
  struct Given {
    std::optional<int64_t> interval;
    std::optional<int64_t> start;
    std::optional<int64_t> end;
    std::optional<std::vector<int64_t>> steps;

    bool operator==(const Given &) const = default;
    static Given Read(SettingsReader *settings, const std::string &prefix);
    void ApplyTo(SaveConfigMode *settings) const;
  };

  Given plain_;
  std::array<Given, kModes.size()> of_mode_;
};

}  // namespace smdebug::config
