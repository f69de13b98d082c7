#include "config/collection.h"

#include "base/strings.h"

namespace smdebug::config {
namespace {

template <class Texts>
void WriteTexts(JsonWriter &json, std::string_view key, const Texts &texts) {
  json.Key(key);
  json.BeginArray();
  for (const std::string &text : texts) json.Text(text);
  json.EndArray();
}

template <class Config>
void WriteConfig(JsonWriter &json, std::string_view key, const std::optional<Config> &config) {
  json.Key(key);
  if (config) {
    config->WriteJson(json);
  } else {
    json.Null();
  }
}

template <class Config>
Result<std::optional<Config>> ReadConfig(const JsonValue &json, std::string_view key,
                                         Origin origin) {
  const std::optional<JsonValue> given = FindGiven(json, key);
  if (!given) return std::optional<Config>();
  SMD_ASSIGN_OR_RETURN(Config config, Config::FromJson(*given, origin));
  return std::optional<Config>(std::move(config));
}

Result<std::vector<std::string>> ReadTexts(const JsonValue &json, std::string_view key) {
  const std::optional<JsonValue> given = FindGiven(json, key);
  // If the original read a collection without expressions, it writes false for them.
  if (!given || (given->IsBool() && !*given->Bool())) return std::vector<std::string>();
  return Texts(*given);
}

Result<std::string> ReadName(const JsonValue &json) {
  const std::optional<JsonValue> given = FindGiven(json, "name");
  if (!given) return InvalidConfig(StrCat(json.Place(), ": the name is missing"));
  SMD_ASSIGN_OR_RETURN(std::string name, given->Text());
  if (name.empty()) return InvalidConfig(StrCat(json.Place(), ": the name is empty"));
  return name;
}

Result<bool> ReadHistogram(const JsonValue &json) {
  const std::optional<JsonValue> given = FindGiven(json, "save_histogram");
  if (!given) return true;
  return Switch(*given);
}

}  // namespace

Collection::Collection(const Collection &other) : name_(other.name_) {
  const MutexLock lock(other.mutex_);
  inclusions_ = other.inclusions_;
  tensors_ = other.tensors_;
  save_config_ = other.save_config_;
  reduction_config_ = other.reduction_config_;
  saves_histogram_ = other.saves_histogram_;
}

Status Collection::Include(std::string_view regex) {
  SMD_ASSIGN_OR_RETURN(Regex compiled, Regex::Compile(regex));
  auto inclusion =
      std::make_shared<const Inclusion>(Inclusion{std::string(regex), std::move(compiled)});
  const MutexLock lock(mutex_);
  for (const auto &known : *inclusions_) {
    if (known->expression == regex) return Status::Ok();
  }
  auto longer = std::make_shared<Inclusions>(*inclusions_);
  longer->push_back(std::move(inclusion));
  inclusions_ = std::move(longer);
  Changed();
  return Status::Ok();
}

void Collection::AddTensor(std::string_view tensor) {
  const MutexLock lock(mutex_);
  if (tensors_.emplace(tensor).second) Changed();
}

void Collection::RemoveTensor(std::string_view tensor) {
  const MutexLock lock(mutex_);
  const auto known = tensors_.find(tensor);
  if (known == tensors_.end()) return;
  tensors_.erase(known);
  Changed();
}

void Collection::NoteMatch(std::string_view tensor) {
  const MutexLock lock(mutex_);
  tensors_.emplace(tensor);
}

Result<bool> Collection::Has(std::string_view tensor) const {
  std::shared_ptr<const Inclusions> inclusions;
  std::shared_ptr<RegexBudget> budget;
  {
    const MutexLock lock(mutex_);
    if (tensors_.contains(tensor)) return true;
    inclusions = inclusions_;
    budget = budget_;
  }
  for (const auto &inclusion : *inclusions) {
    if (!inclusion->regex.IsOk()) return inclusion->regex.GetStatus();
    SMD_ASSIGN_OR_RETURN(const bool is_found, budget->IsFoundIn(*inclusion->regex, tensor));
    if (is_found) return true;
  }
  return false;
}

void Collection::SetBudget(std::shared_ptr<RegexBudget> budget) {
  const MutexLock lock(mutex_);
  budget_ = std::move(budget);
}

bool Collection::IsEmpty() const {
  const MutexLock lock(mutex_);
  return inclusions_->empty() && tensors_.empty();
}

std::vector<std::string> Collection::Regexes() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> expressions;
  for (const auto &inclusion : *inclusions_) expressions.push_back(inclusion->expression);
  return expressions;
}

std::vector<std::string> Collection::Tensors() const {
  const MutexLock lock(mutex_);
  return {tensors_.begin(), tensors_.end()};
}

std::optional<SaveConfig> Collection::GetSaveConfig() const {
  const MutexLock lock(mutex_);
  return save_config_;
}

void Collection::SetSaveConfig(std::optional<SaveConfig> config) {
  const MutexLock lock(mutex_);
  save_config_ = std::move(config);
  Changed();
}

std::optional<ReductionConfig> Collection::GetReductionConfig() const {
  const MutexLock lock(mutex_);
  return reduction_config_;
}

void Collection::SetReductionConfig(std::optional<ReductionConfig> config) {
  const MutexLock lock(mutex_);
  reduction_config_ = std::move(config);
  Changed();
}

bool Collection::SavesHistogram() const {
  const MutexLock lock(mutex_);
  return saves_histogram_;
}

void Collection::SetSavesHistogram(bool on) {
  const MutexLock lock(mutex_);
  saves_histogram_ = on;
  Changed();
}

void Collection::WriteJson(JsonWriter &json) const {
  json.BeginObject();
  json.Key("name");
  json.Text(name_);
  WriteTexts(json, "include_regex", Regexes());
  WriteTexts(json, "tensor_names", Tensors());
  WriteConfig(json, "reduction_config", GetReductionConfig());
  WriteConfig(json, "save_config", GetSaveConfig());
  json.Key("save_histogram");
  json.Bool(SavesHistogram());
  json.EndObject();
}

std::string Collection::ToJson() const {
  JsonWriter json;
  WriteJson(json);
  return json.Take();
}

Result<Collection::Inclusions> Collection::ReadInclusions(const JsonValue &json, Origin origin) {
  SMD_ASSIGN_OR_RETURN(const auto expressions, ReadTexts(json, "include_regex"));
  if (expressions.size() > kMaxRegexes) {
    return InvalidConfig(StrCat(json.Place(), ": more than ", kMaxRegexes, " expressions"));
  }
  Inclusions inclusions;
  std::set<std::string_view> known;
  for (const std::string &expression : expressions) {
    if (!known.insert(expression).second) continue;
    Result<Regex> regex = Regex::Compile(expression);
    if (!regex.IsOk() && origin == Origin::kUser) {
      return InvalidConfig(StrCat(json.Place(), ": ", regex.GetStatus().Message()));
    }
    inclusions.push_back(
        std::make_shared<const Inclusion>(Inclusion{expression, std::move(regex)}));
  }
  return inclusions;
}

Result<CollectionPtr> Collection::FromJson(const JsonValue &json, Origin origin) {
  SMD_RETURN_IF_ERROR(CheckIsObject(json));
  SMD_ASSIGN_OR_RETURN(std::string name, ReadName(json));
  SMD_ASSIGN_OR_RETURN(Inclusions inclusions, ReadInclusions(json, origin));
  SMD_ASSIGN_OR_RETURN(const auto tensors, ReadTexts(json, "tensor_names"));
  SMD_ASSIGN_OR_RETURN(auto reductions,
                       ReadConfig<ReductionConfig>(json, "reduction_config", origin));
  SMD_ASSIGN_OR_RETURN(auto saves, ReadConfig<SaveConfig>(json, "save_config", origin));
  SMD_ASSIGN_OR_RETURN(const bool histogram, ReadHistogram(json));

  auto collection = std::make_shared<Collection>(std::move(name));
  const MutexLock lock(collection->mutex_);
  collection->inclusions_ = std::make_shared<const Inclusions>(std::move(inclusions));
  collection->tensors_.insert(tensors.begin(), tensors.end());
  collection->reduction_config_ = std::move(reductions);
  collection->save_config_ = std::move(saves);
  collection->saves_histogram_ = histogram;
  return collection;
}

Result<CollectionPtr> Collection::FromJson(std::string_view text) {
  return FromJsonText<Collection>(text);
}

}  // namespace smdebug::config
