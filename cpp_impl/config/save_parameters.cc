#include "config/save_parameters.h"

#include "base/strings.h"
#include "config/json_settings.h"

namespace smdebug::config {
namespace {

constexpr std::array<const char *, 4> kNames = {"save_interval", "start_step", "end_step",
                                                "save_steps"};

std::string Prefix(Mode mode) { return StrCat(ToLower(ModeName(mode)), "."); }

Result<std::optional<int64_t>> Number(const JsonValue &parameters, const std::string &key) {
  const std::optional<JsonValue> given = FindGiven(parameters, key);
  if (!given) return std::optional<int64_t>();
  SMD_ASSIGN_OR_RETURN(const int64_t number, WholeNumber(*given));
  return std::optional<int64_t>(number);
}

Result<std::optional<std::vector<int64_t>>> Numbers(const JsonValue &parameters,
                                                    const std::string &key) {
  const std::optional<JsonValue> given = FindGiven(parameters, key);
  if (!given) return std::optional<std::vector<int64_t>>();
  std::vector<int64_t> numbers;
  if (given->IsArray()) {
    for (const JsonValue &item : given->Items()) {
      SMD_ASSIGN_OR_RETURN(const int64_t number, WholeNumber(item));
      numbers.push_back(number);
    }
    return std::optional(std::move(numbers));
  }
  SMD_ASSIGN_OR_RETURN(const std::string text, given->Text());
  for (const std::string &part : SplitList(text)) {
    const std::optional<int64_t> number = ParseInt(part);
    if (!number) {
      return InvalidConfig(StrCat(given->Place(), ": '", Excerpt(part),
                                  "' is no whole number; it is a list as 1,2,3"));
    }
    numbers.push_back(*number);
  }
  return std::optional(std::move(numbers));
}

}  // namespace

Result<SaveParameters::Given> SaveParameters::Given::Read(const JsonValue &parameters,
                                                          const std::string &prefix) {
  Given given;
  SMD_ASSIGN_OR_RETURN(given.interval, Number(parameters, prefix + kNames[0]));
  SMD_ASSIGN_OR_RETURN(given.start, Number(parameters, prefix + kNames[1]));
  SMD_ASSIGN_OR_RETURN(given.end, Number(parameters, prefix + kNames[2]));
  SMD_ASSIGN_OR_RETURN(given.steps, Numbers(parameters, prefix + kNames[3]));
  return given;
}

void SaveParameters::Given::ApplyTo(SaveConfigMode *settings) const {
  if (interval) settings->interval = *interval;
  if (start) settings->start = *start;
  if (end) settings->end = end;
  if (steps) settings->steps = *steps;
}

Result<SaveParameters> SaveParameters::Read(const JsonValue &parameters) {
  SaveParameters read;
  SMD_ASSIGN_OR_RETURN(read.plain_, Given::Read(parameters, ""));
  for (const Mode mode : kModes) {
    SMD_ASSIGN_OR_RETURN(read.of_mode_[ModeIndex(mode)], Given::Read(parameters, Prefix(mode)));
  }
  return read;
}

bool SaveParameters::IsEmpty() const {
  for (const Given &given : of_mode_) {
    if (given != Given()) return false;
  }
  return plain_ == Given();
}

Result<SaveConfig> SaveParameters::Over(const SaveParameters &outer,
                                        const SaveConfig &defaults) const {
  SaveConfig config;
  for (const Mode mode : kModes) {
    SaveConfigMode settings = defaults.Of(mode).value_or(SaveConfigMode());
    outer.plain_.ApplyTo(&settings);
    outer.of_mode_[ModeIndex(mode)].ApplyTo(&settings);
    plain_.ApplyTo(&settings);
    of_mode_[ModeIndex(mode)].ApplyTo(&settings);
    SMD_RETURN_IF_ERROR(config.Set(mode, std::move(settings)));
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
