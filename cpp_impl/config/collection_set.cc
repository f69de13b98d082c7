#include "config/collection_set.h"

#include "base/strings.h"
#include "config/collection_names.h"
#include "config/json_settings.h"

namespace smdebug::config {
namespace {

constexpr const char *kCollectionsKey = "collections";
constexpr const char *kMetaKey = "_meta";
constexpr const char *kNumWorkersKey = "num_workers";
constexpr const char *kPlacementsKey = "placements";
constexpr const char *kMetadataKey = "metadata";
constexpr const char *kHasEndedKey = "has_ended";

struct Default {
  std::string_view name;
  std::string_view regex;
};

constexpr Default kDefaults[] = {
    {kAllCollection, ""},
    {kDefaultCollection, ""},
    {"weights", "^(?!gradient).*weight"},
    {"biases", "^(?!gradient).*bias"},
    {kGradientsCollection, "^gradient"},
    {kLossesCollection, "[Ll]oss"},
};

Result<JsonValue> FindMember(const JsonValue &json, const char *key) {
  const std::optional<JsonValue> found = json.Find(key);
  if (!found) return InvalidConfig(StrCat(json.Place(), ": '", key, "' is missing"));
  return *found;
}

Result<int64_t> ReadNumWorkers(const JsonValue &meta) {
  SMD_ASSIGN_OR_RETURN(const JsonValue json, FindMember(meta, kNumWorkersKey));
  SMD_ASSIGN_OR_RETURN(const int64_t num_workers, WholeNumber(json));
  if (num_workers < 1) {
    return InvalidConfig(StrCat(json.Place(), " is ", num_workers, "; it must be 1 or more"));
  }
  return num_workers;
}

Status CheckKeys(const JsonValue &root) {
  SMD_RETURN_IF_ERROR(CheckIsObject(root));
  for (const auto &[key, value] : root.Members()) {
    if (key == kCollectionsKey || key == kMetaKey) continue;
    return InvalidConfig(
        StrCat("unknown key '", Excerpt(key), "'", DidYouMean(key, {kCollectionsKey, kMetaKey})));
  }
  return Status::Ok();
}

Result<CollectionsFile> Read(std::string_view text) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  const JsonValue root = document.Root();
  SMD_RETURN_IF_ERROR(CheckKeys(root));
  SMD_ASSIGN_OR_RETURN(const JsonValue collections, FindMember(root, kCollectionsKey));
  SMD_RETURN_IF_ERROR(CheckIsObject(collections));
  CollectionSet set;
  size_t expressions = 0;
  for (const auto &[key, json] : collections.Members()) {
    SMD_ASSIGN_OR_RETURN(CollectionPtr collection, Collection::FromJson(json, Origin::kFile));
    expressions += collection->Regexes().size();
    if (expressions > Collection::kMaxRegexes) return InvalidConfig("too many expressions");
    set.Add(std::move(collection));
  }
  CollectionsFile file;
  file.collections = set.List();
  SMD_ASSIGN_OR_RETURN(const JsonValue meta, FindMember(root, kMetaKey));
  SMD_RETURN_IF_ERROR(CheckIsObject(meta));
  SMD_ASSIGN_OR_RETURN(file.num_workers, ReadNumWorkers(meta));
  if (const std::optional<JsonValue> placements = FindGiven(meta, kPlacementsKey)) {
    SMD_ASSIGN_OR_RETURN(file.placements, ReadPlacements(*placements));
  }
  if (const std::optional<JsonValue> metadata = FindGiven(meta, kMetadataKey)) {
    SMD_ASSIGN_OR_RETURN(file.metadata, ReadMetadata(*metadata));
  }
  if (const std::optional<JsonValue> has_ended = FindGiven(meta, kHasEndedKey)) {
    SMD_ASSIGN_OR_RETURN(file.has_ended, has_ended->Bool());
  }
  return file;
}

}  // namespace

std::vector<CollectionPtr> CollectionSet::Defaults() {
  std::vector<CollectionPtr> defaults;
  for (const Default &each : kDefaults) {
    auto collection = std::make_shared<Collection>(std::string(each.name));
    if (!each.regex.empty()) (void)collection->Include(each.regex);
    defaults.push_back(std::move(collection));
  }
  return defaults;
}

void CollectionSet::Add(CollectionPtr collection) {
  const MutexLock lock(mutex_);
  AddLocked(std::move(collection));
}

void CollectionSet::AddLocked(CollectionPtr collection) {
  ++additions_;
  collection->SetBudget(budget_);
  const auto [place, is_new] = places_.emplace(collection->Name(), collections_.size());
  if (is_new) {
    collections_.push_back(std::move(collection));
    return;
  }
  CollectionPtr &replaced = collections_[place->second];
  // Without this, the new collection's lower version could restore an earlier sum.
  additions_ += replaced->Version();
  replaced = std::move(collection);
}

CollectionPtr CollectionSet::Find(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : collections_[place->second];
}

CollectionPtr CollectionSet::GetOrCreate(std::string_view name) {
  const MutexLock lock(mutex_);
  if (const auto place = places_.find(name); place != places_.end()) {
    return collections_[place->second];
  }
  auto collection = std::make_shared<Collection>(std::string(name));
  AddLocked(collection);
  return collection;
}

std::vector<CollectionPtr> CollectionSet::List() const {
  const MutexLock lock(mutex_);
  return collections_;
}

uint64_t CollectionSet::Version() const {
  const MutexLock lock(mutex_);
  uint64_t version = additions_;
  for (const CollectionPtr &collection : collections_) version += collection->Version();
  return version;
}

std::string CollectionsToJson(const std::vector<CollectionPtr> &collections, int64_t num_workers,
                              const Placements &placements, const Metadata &metadata,
                              bool has_ended) {
  JsonWriter json;
  json.BeginObject();
  json.Key(kCollectionsKey);
  json.BeginObject();
  for (const CollectionPtr &collection : collections) {
    json.Key(collection->Name());
    collection->WriteJson(json);
  }
  json.EndObject();
  json.Key(kMetaKey);
  json.BeginObject();
  json.Key(kNumWorkersKey);
  json.Int(num_workers);
  if (!placements.empty()) {
    json.Key(kPlacementsKey);
    WritePlacements(placements, json);
  }
  if (!metadata.empty()) {
    json.Key(kMetadataKey);
    WriteMetadata(metadata, json);
  }
  if (has_ended) {
    json.Key(kHasEndedKey);
    json.Bool(true);
  }
  json.EndObject();
  json.EndObject();
  return json.Take();
}

Result<CollectionsFile> CollectionsFromJson(std::string_view text, std::string_view path) {
  Result<CollectionsFile> file = Read(text);
  if (!file.IsOk()) return CorruptData(path, file.GetStatus().Message());
  return file;
}

}  // namespace smdebug::config
