#include "config/hook_config.h"

#include <algorithm>

#include "base/strings.h"
#include "config/json_settings.h"
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

Result<std::optional<bool>> OptionalSwitch(const JsonValue &parameters, std::string_view key) {
  const std::optional<JsonValue> given = FindGiven(parameters, key);
  if (!given) return std::optional<bool>();
  SMD_ASSIGN_OR_RETURN(const bool is_on, Switch(*given));
  return std::optional<bool>(is_on);
}

Result<std::vector<std::string>> List(const JsonValue &parameters, std::string_view key) {
  const std::optional<JsonValue> given = FindGiven(parameters, key);
  if (!given) return std::vector<std::string>();
  if (given->IsArray()) return Texts(*given);
  SMD_ASSIGN_OR_RETURN(const std::string text, given->Text());
  return SplitList(text);
}

// Reads one document.
class HookConfigReader {
 public:
  explicit HookConfigReader(const HookConfigContext &context) : context_(context) {}

  Result<HookConfig> Read(const JsonValue &root);

 private:
  // INVALID_CONFIG if `object` has a key that is not among `known`.
  Status CheckKeys(const JsonValue &object, const Names &known) const;
  Status ReadHook(const JsonValue &parameters);
  Status ReadIncludeWorkers(const JsonValue &parameters);
  Status ReadCollection(const JsonValue &json);
  Status ReadParameters(const JsonValue &parameters, Collection *collection) const;
  CollectionPtr Named(const std::string &name) const;

  const HookConfigContext &context_;
  SaveParameters save_parameters_;
  HookConfig config_;
};

Status HookConfigReader::CheckKeys(const JsonValue &object, const Names &known) const {
  SMD_RETURN_IF_ERROR(CheckIsObject(object));
  if (!context_.is_strict) return Status::Ok();
  for (const auto &[key, value] : object.Members()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return InvalidConfig(StrCat(object.Place(), " has the unknown key '", Excerpt(key), "'",
                                DidYouMean(key, {known.begin(), known.end()})))
        .With("key", key);
  }
  return Status::Ok();
}

// Nothing if none of the three settings is given.
Result<std::optional<ReductionConfig>> ReadReductions(const JsonValue &parameters) {
  const bool is_given = FindGiven(parameters, "reductions") ||
                        FindGiven(parameters, "save_raw_tensor") ||
                        FindGiven(parameters, "save_shape");
  if (!is_given) return std::optional<ReductionConfig>();
  SMD_ASSIGN_OR_RETURN(ReductionConfig config, ReductionConfig::FromJson(parameters));
  // To ask for a shape alone takes nothing away.
  if (config.Reductions().empty() && !FindGiven(parameters, "save_raw_tensor")) {
    config.SetSavesRaw(true);
  }
  return std::optional(std::move(config));
}

Status HookConfigReader::ReadIncludeWorkers(const JsonValue &parameters) {
  const std::optional<JsonValue> given = FindGiven(parameters, "include_workers");
  if (!given) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const std::string which, given->Text());
  if (which != "one" && which != "all") {
    return InvalidConfig(
        StrCat(given->Place(), " is '", Excerpt(which), "'; it must be 'one' or 'all'"));
  }
  config_.includes_all_workers = which == "all";
  return Status::Ok();
}

Status HookConfigReader::ReadHook(const JsonValue &parameters) {
  SMD_RETURN_IF_ERROR(CheckKeys(parameters, HookNames()));
  SMD_ASSIGN_OR_RETURN(config_.saves_all, OptionalSwitch(parameters, "save_all"));
  SMD_ASSIGN_OR_RETURN(config_.is_dry_run, OptionalSwitch(parameters, "dry_run"));
  SMD_ASSIGN_OR_RETURN(config_.exports_tensorboard,
                       OptionalSwitch(parameters, "export_tensorboard"));
  SMD_RETURN_IF_ERROR(ReadIncludeWorkers(parameters));
  SMD_ASSIGN_OR_RETURN(config_.include_regexes, List(parameters, "include_regex"));
  SMD_ASSIGN_OR_RETURN(config_.reduction_config, ReadReductions(parameters));
  SMD_ASSIGN_OR_RETURN(save_parameters_, SaveParameters::Read(parameters));
  if (const auto folder = FindGiven(parameters, "tensorboard_dir")) {
    SMD_ASSIGN_OR_RETURN(config_.tensorboard_dir, folder->Text());
  }
  return Status::Ok();
}

CollectionPtr HookConfigReader::Named(const std::string &name) const {
  const auto found =
      std::find_if(context_.collections.begin(), context_.collections.end(),
                   [&](const CollectionPtr &collection) { return collection->Name() == name; });
  return found == context_.collections.end() ? std::make_shared<Collection>(name) : *found;
}

Status HookConfigReader::ReadParameters(const JsonValue &parameters, Collection *collection) const {
  SMD_RETURN_IF_ERROR(CheckKeys(parameters, CollectionNames()));
  SMD_ASSIGN_OR_RETURN(const std::vector<std::string> regexes, List(parameters, "include_regex"));
  for (const std::string &regex : regexes) SMD_RETURN_IF_ERROR(collection->Include(regex));
  SMD_ASSIGN_OR_RETURN(const std::optional<bool> saves_histogram,
                       OptionalSwitch(parameters, "save_histogram"));
  if (saves_histogram) collection->SetSavesHistogram(*saves_histogram);
  SMD_ASSIGN_OR_RETURN(std::optional<ReductionConfig> reductions, ReadReductions(parameters));
  if (reductions) collection->SetReductionConfig(std::move(reductions));
  SMD_ASSIGN_OR_RETURN(const SaveParameters own, SaveParameters::Read(parameters));
  if (own.IsEmpty()) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(SaveConfig save_config, own.Over(save_parameters_, context_.save_config));
  collection->SetSaveConfig(std::move(save_config));
  return Status::Ok();
}

Status HookConfigReader::ReadCollection(const JsonValue &json) {
  SMD_RETURN_IF_ERROR(CheckKeys(json, {kCollectionName, kCollectionParameters}));
  const std::optional<JsonValue> given = FindGiven(json, kCollectionName);
  if (!given) return InvalidConfig(StrCat(json.Place(), ": '", kCollectionName, "' is missing"));
  SMD_ASSIGN_OR_RETURN(const std::string name, given->Text());
  if (name.empty()) return InvalidConfig(StrCat(given->Place(), " is empty"));
  CollectionPtr collection = Named(name);
  if (const auto parameters = FindGiven(json, kCollectionParameters)) {
    if (const Status read = ReadParameters(*parameters, collection.get()); !read.IsOk()) {
      return InvalidConfig(StrCat("collection '", Excerpt(name), "': ", read.Message()))
          .With("collection", name);
    }
  }
  config_.collections.push_back(std::move(collection));
  return Status::Ok();
}

Result<HookConfig> HookConfigReader::Read(const JsonValue &root) {
  SMD_RETURN_IF_ERROR(
      CheckKeys(root, {"S3OutputPath", "LocalPath", kHookParameters, kCollectionConfigurations}));
  if (const auto folder = FindGiven(root, "LocalPath")) {
    SMD_ASSIGN_OR_RETURN(config_.out_dir, folder->Text());
  }
  if (const auto parameters = FindGiven(root, kHookParameters)) {
    SMD_RETURN_IF_ERROR(ReadHook(*parameters));
  }
  SMD_ASSIGN_OR_RETURN(config_.save_config,
                       save_parameters_.Over(SaveParameters(), context_.save_config));
  if (const auto collections = FindGiven(root, kCollectionConfigurations)) {
    if (!collections->IsArray()) {
      return InvalidConfig(StrCat(collections->Place(), ": expected a list of collections, found ",
                                  collections->Kind()));
    }
    for (const JsonValue &each : collections->Items()) SMD_RETURN_IF_ERROR(ReadCollection(each));
  }
  return std::move(config_);
}

}  // namespace

Result<HookConfig> ParseHookConfig(std::string_view json, const HookConfigContext &context) {
  Result<HookConfig> config = [&]() -> Result<HookConfig> {
    SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
    return HookConfigReader(context).Read(document.Root());
  }();
  if (config.IsOk() || context.path.empty()) return config;
  return InvalidConfig(StrCat(context.path, ": ", config.GetStatus().Message()))
      .With("path", context.path);
}

}  // namespace smdebug::config
