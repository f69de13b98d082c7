// When to save, as the flat parameters of a hook's configuration say it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mode.h"
#include "base/result.h"
#include "config/save_config.h"

namespace smdebug::config {

// "save_interval", "start_step", "end_step", "save_steps", each also for one mode alone
// ("train.save_interval").
class SaveParameters {
 public:
  static Result<SaveParameters> Read(const JsonValue &parameters);

  bool IsEmpty() const;

  // The settings of every mode; what is given neither here nor there is as in `defaults`.
  // INVALID_CONFIG if together they make no sense.
  Result<SaveConfig> Over(const SaveParameters &outer, const SaveConfig &defaults) const;

  static std::vector<std::string> Names();

 private:
  struct Given {
    std::optional<int64_t> interval;
    std::optional<int64_t> start;
    std::optional<int64_t> end;
    std::optional<std::vector<int64_t>> steps;

    bool operator==(const Given &) const = default;
    static Result<Given> Read(const JsonValue &parameters, const std::string &prefix);
    void ApplyTo(SaveConfigMode *settings) const;
  };

  Given plain_;
  std::array<Given, kModes.size()> of_mode_;
};

}  // namespace smdebug::config
