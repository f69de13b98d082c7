#include "config/save_config.h"

#include <algorithm>

#include "base/strings.h"

namespace smdebug::config {
namespace {

// Reads the setting `key` into `setting`, which keeps its value if the key is missing.
template <class Number>
Status ReadNumber(const JsonValue &json, std::string_view key, Number &setting) {
  const std::optional<JsonValue> given = FindGiven(json, key);
  if (!given) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(setting, WholeNumber(*given));
  return Status::Ok();
}

Status ReadSteps(const JsonValue &json, std::vector<int64_t> &steps) {
  const std::optional<JsonValue> given = FindGiven(json, "save_steps");
  if (!given) return Status::Ok();
  if (!given->IsArray()) {
    return InvalidConfig(
        StrCat(given->Place(), ": expected a list of whole numbers, found ", given->Kind()));
  }
  for (const JsonValue &item : given->Items()) {
    SMD_ASSIGN_OR_RETURN(const int64_t step, item.Int());
    steps.push_back(step);
  }
  return Status::Ok();
}

Result<SaveConfigMode> ReadMode(const JsonValue &json, Origin origin) {
  SMD_RETURN_IF_ERROR(CheckIsObject(json));
  SaveConfigMode settings;
  SMD_RETURN_IF_ERROR(ReadNumber(json, "save_interval", settings.interval));
  SMD_RETURN_IF_ERROR(ReadNumber(json, "start_step", settings.start));
  SMD_RETURN_IF_ERROR(ReadNumber(json, "end_step", settings.end));
  SMD_RETURN_IF_ERROR(ReadSteps(json, settings.steps));
  if (origin == Origin::kFile) return settings;
  if (const Status status = settings.Check(); !status.IsOk()) {
    return InvalidConfig(StrCat(json.Place(), ": ", status.Message()));
  }
  return settings;
}

void WriteMode(JsonWriter &json, const SaveConfigMode &settings) {
  json.BeginObject();
  json.Key("save_interval");
  json.Int(settings.interval);
  json.Key("save_steps");
  json.BeginArray();
  for (const int64_t step : settings.steps) json.Int(step);
  json.EndArray();
  json.Key("start_step");
  json.Int(settings.start);
  json.Key("end_step");
  if (settings.end) {
    json.Int(*settings.end);
  } else {
    json.Null();
  }
  json.EndObject();
}

}  // namespace

Status SaveConfigMode::Check() const {
  if (interval < 1) {
    return InvalidConfig(StrCat("save_interval is ", interval, "; it must be 1 or more"));
  }
  if (start < 0) return InvalidConfig(StrCat("start_step is ", start, "; it must be 0 or more"));
  for (const int64_t step : steps) {
    if (step < 0) return InvalidConfig(StrCat("save_steps contains ", step, "; steps begin at 0"));
  }
  return Status::Ok();
}

bool SaveConfigMode::Wants(int64_t mode_step) const {
  if (std::find(steps.begin(), steps.end(), mode_step) != steps.end()) return true;
  const bool is_in_range = mode_step >= start && (!end || mode_step < *end);
  // A file's interval may be 0.
  return is_in_range && interval >= 1 && mode_step % interval == 0;
}

bool SaveConfigMode::WantsNothing() const {
  const bool has_multiple = interval >= 1 && (!end || start < *end);
  return steps.empty() && !has_multiple;
}

Status SaveConfig::Set(Mode mode, SaveConfigMode settings) {
  SMD_RETURN_IF_ERROR(settings.Check());
  SetChecked(mode, std::move(settings));
  return Status::Ok();
}

void SaveConfig::SetChecked(Mode mode, SaveConfigMode settings) {
  modes_[ModeIndex(mode)] = std::move(settings);
}

void SaveConfig::SetAll(const SaveConfigMode &settings) { modes_.fill(settings); }

bool SaveConfig::Wants(Mode mode, int64_t mode_step) const {
  static const SaveConfigMode kDefaults;
  const std::optional<SaveConfigMode> &settings = Of(mode);
  return (settings ? *settings : kDefaults).Wants(mode_step);
}

void SaveConfig::Merge(const SaveConfig &defaults) {
  for (const Mode mode : kModes) {
    std::optional<SaveConfigMode> &settings = modes_[ModeIndex(mode)];
    if (!settings) settings = defaults.Of(mode);
  }
}

void SaveConfig::WriteJson(JsonWriter &json) const {
  json.BeginObject();
  for (const Mode mode : kModes) {
    json.Key(ModeName(mode));
    if (Of(mode)) {
      WriteMode(json, *Of(mode));
    } else {
      json.Null();
    }
  }
  json.EndObject();
}

std::string SaveConfig::ToJson() const {
  JsonWriter json;
  WriteJson(json);
  return json.Take();
}

Result<SaveConfig> SaveConfig::FromJson(const JsonValue &json, Origin origin) {
  SMD_RETURN_IF_ERROR(CheckIsObject(json));
  SaveConfig config;
  for (const auto &[name, settings] : json.Members()) {
    const std::optional<Mode> mode = ModeFromName(name);
    if (!mode && origin == Origin::kUser) {
      return InvalidConfig(StrCat(json.Place(), ": '", Excerpt(name),
                                  "' is not a mode; use TRAIN, EVAL, PREDICT or GLOBAL"));
    }
    if (!mode || settings.IsNull()) continue;
    SMD_ASSIGN_OR_RETURN(config.modes_[ModeIndex(*mode)], ReadMode(settings, origin));
  }
  return config;
}

Result<SaveConfig> SaveConfig::FromJson(std::string_view text) {
  return FromJsonText<SaveConfig>(text);
}

}  // namespace smdebug::config
