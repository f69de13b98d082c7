#include "config/hook_config.h"

#include <algorithm>

#include "base/regex.h"
#include "base/strings.h"
#include "config/save_parameters.h"

namespace smdebug::config {
namespace {

constexpr const char *kHookParameters = "HookParameters";
constexpr const char *kCollectionConfigurations = "CollectionConfigurations";
constexpr const char *kCollectionName = "CollectionName";
constexpr const char *kCollectionParameters = "CollectionParameters";

using Names = std::vector<std::string>;

Names HookNames() {
  Names names = {"save_all",           "include_regex",   "include_workers",
                 "reductions",         "save_raw_tensor", "save_shape",
                 "export_tensorboard", "tensorboard_dir", "dry_run"};
  for (std::string &name : SaveParameters::Names()) names.push_back(std::move(name));
  return names;
}

Names CollectionNames() {
  Names names = {"include_regex", "save_histogram", "reductions", "save_raw_tensor", "save_shape"};
  for (std::string &name : SaveParameters::Names()) names.push_back(std::move(name));
  return names;
}

// Reads one document.
class HookConfigReader {
 public:
  explicit HookConfigReader(const HookConfigContext &context) : context_(context) {}

  HookConfig Read(const JsonValue &root);

 private:
  void ReadHook(SettingsReader *settings);
  void ReadCollection(const JsonValue &json);
  void ReadParameters(SettingsReader *settings, Collection *collection) const;
  // Returns the collection with this name, from the document or the context.
  CollectionPtr Named(const std::string &name) const;

  const HookConfigContext &context_;
  SaveParameters save_parameters_;
  HookConfig config_;
};

// Returns nothing if all three settings are missing.
std::optional<ReductionConfig> ReadReductions(SettingsReader *settings) {
  const bool is_given = settings->Has("reductions") || settings->Has("save_raw_tensor") ||
                        settings->Has("save_shape");
  if (!is_given) return {};
  ReductionConfig config;
  for (const std::string &name : settings->Texts("reductions")) {
    if (settings->IsFull()) break;
    if (const Status status = config.AddList(name); !status.IsOk()) {
      settings->Ignore(StrCat("reductions: ", status.Message()));
    }
  }
  const std::optional<bool> saves_raw = settings->Switch("save_raw_tensor");
  // A config with only save_shape still saves the tensor.
  config.SetSavesRaw(saves_raw.value_or(config.Reductions().empty()));
  config.SetSavesShape(settings->Switch("save_shape").value_or(false));
  return config;
}

void HookConfigReader::ReadHook(SettingsReader *settings) {
  settings->CheckKeys(HookNames());
  config_.saves_all = settings->Switch("save_all");
  config_.is_dry_run = settings->Switch("dry_run");
  config_.exports_tensorboard = settings->Switch("export_tensorboard");
  if (const auto which = settings->Text("include_workers")) {
    if (*which == "one" || *which == "all") {
      config_.includes_all_workers = *which == "all";
    } else {
      settings->Ignore(StrCat("HookParameters.include_workers is '", Excerpt(*which),
                              "'; it must be 'one' or 'all'"));
    }
  }
  for (std::string &regex : settings->Texts("include_regex")) {
    if (settings->IsFull()) break;
    if (const Result<Regex> compiled = Regex::Compile(regex); compiled.IsOk()) {
      config_.include_regexes.push_back(std::move(regex));
    } else {
      settings->Ignore(StrCat("include_regex: ", compiled.GetStatus().Message()));
    }
  }
  config_.reduction_config = ReadReductions(settings);
  save_parameters_ = SaveParameters::Read(settings);
  config_.tensorboard_dir = settings->Text("tensorboard_dir");
}

CollectionPtr HookConfigReader::Named(const std::string &name) const {
  for (const auto *known : {&config_.collections, &context_.collections}) {
    for (const CollectionPtr &collection : *known) {
      if (collection->Name() == name) return collection;
    }
  }
  return std::make_shared<Collection>(name);
}

void HookConfigReader::ReadParameters(SettingsReader *settings, Collection *collection) const {
  settings->CheckKeys(CollectionNames());
  for (const std::string &regex : settings->Texts("include_regex")) {
    if (settings->IsFull()) break;
    if (const Status status = collection->Include(regex); !status.IsOk()) {
      settings->Ignore(StrCat("include_regex: ", status.Message()));
    }
  }
  if (const auto on = settings->Switch("save_histogram")) collection->SetSavesHistogram(*on);
  if (auto reductions = ReadReductions(settings)) {
    collection->SetReductionConfig(std::move(reductions));
  }
  const SaveParameters own = SaveParameters::Read(settings);
  if (own.IsEmpty()) return;
  collection->SetSaveConfig(own.Over(save_parameters_, context_.save_config));
}

void HookConfigReader::ReadCollection(const JsonValue &json) {
  SettingsReader entry(json, &config_.problems);
  if (!json.IsObject()) return;
  entry.CheckKeys({kCollectionName, kCollectionParameters});
  if (!entry.Has(kCollectionName)) {
    return entry.Ignore(StrCat(json.Place(), ": '", kCollectionName, "' is missing"));
  }
  const std::optional<std::string> name = entry.Text(kCollectionName);
  if (!name) return;
  if (name->empty()) return entry.Ignore(StrCat(json.Place(), ".", kCollectionName, " is empty"));
  CollectionPtr collection = Named(*name);
  if (const auto parameters = entry.Object(kCollectionParameters)) {
    SettingsReader settings(*parameters, &config_.problems,
                            StrCat("collection '", Excerpt(*name), "': "));
    ReadParameters(&settings, collection.get());
  }
  auto &listed = config_.collections;
  if (std::find(listed.begin(), listed.end(), collection) == listed.end()) {
    listed.push_back(std::move(collection));
  }
}

HookConfig HookConfigReader::Read(const JsonValue &root) {
  SettingsReader document(root, &config_.problems);
  document.CheckKeys({"S3OutputPath", "LocalPath", kHookParameters, kCollectionConfigurations});
  config_.out_dir = document.Text("LocalPath");
  if (const auto parameters = document.Object(kHookParameters)) {
    SettingsReader settings(*parameters, &config_.problems);
    ReadHook(&settings);
  }
  config_.save_config = save_parameters_.Over(SaveParameters(), context_.save_config);
  for (const JsonValue &each : document.Items(kCollectionConfigurations)) {
    if (document.IsFull()) break;
    ReadCollection(each);
  }
  return std::move(config_);
}

}  // namespace

Result<HookConfig> ParseHookConfig(std::string_view json, const HookConfigContext &context) {
  Result<HookConfig> config = [&]() -> Result<HookConfig> {
    SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
    SMD_RETURN_IF_ERROR(CheckIsObject(document.Root()));
    return HookConfigReader(context).Read(document.Root());
  }();
  if (config.IsOk() || context.path.empty()) return config;
  return InvalidConfig(StrCat(context.path, ": ", config.GetStatus().Message()))
      .With("path", context.path);
}

}  // namespace smdebug::config
