#include "record/state_store.h"

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/step.h"
#include "base/strings.h"
#include "config/service_folder.h"

namespace smdebug::record {
namespace {

constexpr const char *kMetadata = "metadata.json";

constexpr const char *kRunKey = "training-run";
constexpr const char *kSavedKey = "latest-global-step-saved";
constexpr const char *kSeenKey = "latest-global-step-seen";
constexpr const char *kModesKey = "latest-mode-step";

// A step or a number of runs: one can be added to it.  -1 stands for none.
Result<int64_t> CountFromJson(const JsonValue &value, std::string_view what) {
  SMD_ASSIGN_OR_RETURN(const int64_t count, value.Int());
  if (count >= -1 && count <= kMaxStep) return count;
  return InvalidConfig(StrCat("'", what, "' is ", count, "; it must be from -1 to ", kMaxStep));
}

Result<int64_t> RequiredCount(const JsonValue &object, const char *key) {
  const std::optional<JsonValue> value = object.Find(key);
  if (!value) return InvalidConfig(StrCat("'", key, "' is missing"));
  return CountFromJson(*value, key);
}

Result<RunState> StateFromJson(const JsonValue &json) {
  RunState state;
  SMD_ASSIGN_OR_RETURN(state.training_run, RequiredCount(json, kRunKey));
  SMD_ASSIGN_OR_RETURN(state.last_seen, RequiredCount(json, kSeenKey));
  if (const auto saved = json.Find(kSavedKey); saved && !saved->IsNull()) {
    SMD_ASSIGN_OR_RETURN(state.last_saved, CountFromJson(*saved, kSavedKey));
  }
  const std::optional<JsonValue> modes = json.Find(kModesKey);
  if (!modes) return InvalidConfig(StrCat("'", kModesKey, "' is missing"));
  for (const auto &[name, step] : modes->Members()) {
    const std::optional<Mode> mode = ModeFromName(name);
    if (!mode) return InvalidConfig(StrCat("unknown mode '", name, "'"));
    SMD_ASSIGN_OR_RETURN(state.mode_steps[*mode], CountFromJson(step, name));
  }
  return state;
}

Result<std::vector<RunState>> StatesFromJson(std::string_view text) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  if (!document.Root().IsArray()) return InvalidConfig("the file does not hold a list");
  std::vector<RunState> states;
  for (const JsonValue &item : document.Root().Items()) {
    SMD_ASSIGN_OR_RETURN(RunState state, StateFromJson(item));
    states.push_back(std::move(state));
  }
  std::stable_sort(states.begin(), states.end(),
                   [](const RunState &a, const RunState &b) { return a.last_seen < b.last_seen; });
  return states;
}

bool IsCheckpoint(const std::string &name) {
  return name != kMetadata && name.find("sagemaker-uploaded") == std::string::npos;
}

}  // namespace

StateStore::StateStore(std::string folder, std::shared_ptr<storage::Store> store)
    : folder_(std::move(folder)), store_(std::move(store)) {}

Result<std::optional<std::string>> StateStore::ConfiguredFolder() {
  return config::ServiceFolder("CHECKPOINT_CONFIG_FILE_PATH",
                               "/opt/ml/input/config/checkpointconfig.json");
}

Result<std::unique_ptr<StateStore>> StateStore::Open(const std::string &folder) {
  SMD_ASSIGN_OR_RETURN(std::shared_ptr<storage::Store> store, storage::OpenStore(folder));
  const std::string location = store->Location();
  std::unique_ptr<StateStore> states(new StateStore(location, std::move(store)));
  SMD_ASSIGN_OR_RETURN(const bool has_states, states->store_->Exists(kMetadata));
  if (has_states) {
    SMD_ASSIGN_OR_RETURN(const std::string text, states->store_->ReadText(kMetadata));
    auto parsed = StatesFromJson(text);
    if (!parsed.IsOk()) {
      return CorruptData(StrCat(location, "/", kMetadata), parsed.GetStatus().Message());
    }
    states->states_ = *std::move(parsed);
  }
  states->seen_ = states->Look();
  return states;
}

StateStore::Fingerprint StateStore::Look() const {
  Fingerprint files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder_, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    std::error_code gone;  // a checkpoint may be replaced meanwhile
    if (!entry->is_regular_file(gone) || !IsCheckpoint(entry->path().filename().string())) continue;
    File file{entry->path().string(), entry->file_size(gone), {}};
    if (gone) file.size = 0;
    const auto written = entry->last_write_time(gone);
    if (!gone) file.written = written;
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<RunState> StateStore::Latest() const {
  if (states_.empty()) return {};
  return states_.back();
}

std::string StateStore::ToJson() const {
  JsonWriter json;
  json.BeginArray();
  for (const RunState &state : states_) {
    json.BeginObject();
    json.Key(kRunKey);
    json.Int(state.training_run);
    json.Key(kSavedKey);
    state.last_saved ? json.Int(*state.last_saved) : json.Null();
    json.Key(kSeenKey);
    json.Int(state.last_seen);
    json.Key(kModesKey);
    json.BeginObject();
    for (const auto &[mode, step] : state.mode_steps) {
      json.Key(ModeName(mode));
      json.Int(step);
    }
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

Status StateStore::Update(const RunState &state, bool durable) {
  Fingerprint now = Look();
  if (now.empty() || now == seen_) return Status::Ok();
  seen_ = std::move(now);
  states_.push_back(state);
  return store_->WriteText(kMetadata, ToJson(), durable);
}

}  // namespace smdebug::record
