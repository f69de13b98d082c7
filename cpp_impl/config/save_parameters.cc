#include "config/save_parameters.h"

#include <limits>

#include "base/strings.h"

namespace smdebug::config {
namespace {

constexpr std::array<const char *, 4> kNames = {"save_interval", "start_step", "end_step",
                                                "save_steps"};

std::string Prefix(Mode mode) { return StrCat(ToLower(ModeName(mode)), "."); }

}  // namespace

SaveParameters::Given SaveParameters::Given::Read(SettingsReader *settings,
                                                  const std::string &prefix) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::min();
  Given given;
  given.interval = settings->Number(prefix + kNames[0], 1);
  given.start = settings->Number(prefix + kNames[1], 0);
  given.end = settings->Number(prefix + kNames[2], kAny);
  given.steps = settings->Numbers(prefix + kNames[3]);
  return given;
}

void SaveParameters::Given::ApplyTo(SaveConfigMode *settings) const {
  if (interval) settings->interval = *interval;
  if (start) settings->start = *start;
  if (end) settings->end = end;
  if (steps) settings->steps = *steps;
}

SaveParameters SaveParameters::Read(SettingsReader *settings) {
  SaveParameters read;
  read.plain_ = Given::Read(settings, "");
  for (const Mode mode : kModes) {
    read.of_mode_[ModeIndex(mode)] = Given::Read(settings, Prefix(mode));
  }
  return read;
}

bool SaveParameters::IsEmpty() const {
  for (const Given &given : of_mode_) {
    if (given != Given()) return false;
  }
  return plain_ == Given();
}

SaveConfig SaveParameters::Over(const SaveParameters &outer, const SaveConfig &defaults) const {
  SaveConfig config;
  for (const Mode mode : kModes) {
    SaveConfigMode settings = defaults.Of(mode).value_or(SaveConfigMode());
    outer.plain_.ApplyTo(&settings);
    outer.of_mode_[ModeIndex(mode)].ApplyTo(&settings);
    plain_.ApplyTo(&settings);
    of_mode_[ModeIndex(mode)].ApplyTo(&settings);
    config.SetChecked(mode, std::move(settings));
  }
  return config;
}

std::vector<std::string> SaveParameters::Names() {
  std::vector<std::string> names(kNames.begin(), kNames.end());
  for (const Mode mode : kModes) {
    for (const char *name : kNames) names.push_back(Prefix(mode) + name);
  }
  return names;
}

}  // namespace smdebug::config
