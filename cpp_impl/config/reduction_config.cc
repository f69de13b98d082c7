#include "config/reduction_config.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "base/strings.h"

namespace smdebug::config {
namespace {

using tensor::Reduction;
using tensor::ReductionKind;

// The original refuses to open a trial if "reductions" contains an unknown name, but ignores
// unknown keys.
constexpr const char *kReductionsKey = "reductions";
constexpr const char *kOwnReductionsKey = "extra_reductions";

bool IsKnownToOriginal(Reduction reduction) { return reduction.kind != ReductionKind::kMedian; }

// Returns the position in the original's order: reductions, norms, then both for absolute
// values.
int Group(Reduction reduction) {
  return (reduction.absolute ? 2 : 0) + (reduction.IsNorm() ? 1 : 0);
}

template <class Predicate>
std::string Names(std::vector<Reduction> reductions, Predicate is_wanted) {
  std::stable_sort(reductions.begin(), reductions.end(),
                   [](Reduction a, Reduction b) { return Group(a) < Group(b); });
  std::vector<std::string> names;
  for (const Reduction reduction : reductions) {
    if (is_wanted(reduction)) names.push_back(ReductionConfigName(reduction));
  }
  return Join(names, ",");
}

std::bitset<tensor::kReductions> AsSet(const std::vector<Reduction> &reductions) {
  std::bitset<tensor::kReductions> set;
  for (const Reduction reduction : reductions) set.set(reduction.Index());
  return set;
}

Status UnknownReduction(std::string_view name) {
  std::vector<std::string> known;
  for (size_t index = 0; index < tensor::kReductions; ++index) {
    known.push_back(tensor::ReductionName(Reduction::FromIndex(index)));
    known.push_back(ReductionConfigName(Reduction::FromIndex(index)));
  }
  const std::string advice = DidYouMean(name, {known.begin(), known.end()});
  return InvalidConfig(
      StrCat("'", Excerpt(name), "' is not a reduction",
             advice.empty() ? "; use min, max, median, mean, std, variance, sum, prod, l1 or l2, "
                              "or one of these with abs_ in front"
                            : advice));
}

Status ReadList(const JsonValue &json, const char *key, Origin origin, ReductionConfig &config) {
  const std::optional<JsonValue> given = FindGiven(json, key);
  if (!given) return Status::Ok();
  SMD_ASSIGN_OR_RETURN(const std::string names, given->Text());
  if (origin == Origin::kUser) {
    if (const Status status = config.AddList(names); !status.IsOk()) {
      return InvalidConfig(StrCat(given->Place(), ": ", status.Message()));
    }
    return Status::Ok();
  }
  for (const std::string &name : SplitList(names)) {
    if (const auto reduction = tensor::ReductionFromName(name)) config.Add(*reduction);
  }
  return Status::Ok();
}

Result<bool> ReadSwitch(const JsonValue &json, const char *key) {
  const std::optional<JsonValue> given = FindGiven(json, key);
  if (!given) return false;
  return Switch(*given);
}

}  // namespace

ReductionConfig ReductionConfig::Raw() {
  ReductionConfig config;
  config.SetSavesRaw(true);
  return config;
}

bool ReductionConfig::operator==(const ReductionConfig &other) const {
  return saves_raw_ == other.saves_raw_ && saves_shape_ == other.saves_shape_ &&
         AsSet(reductions_) == AsSet(other.reductions_);
}

void ReductionConfig::Add(Reduction reduction) {
  if (!AsSet(reductions_).test(reduction.Index())) reductions_.push_back(reduction);
}

Status ReductionConfig::AddList(std::string_view names) {
  std::vector<Reduction> reductions;
  for (const std::string &name : SplitList(names)) {
    const std::optional<Reduction> reduction = tensor::ReductionFromName(name);
    if (!reduction) return UnknownReduction(name);
    reductions.push_back(*reduction);
  }
  for (const Reduction reduction : reductions) Add(reduction);
  return Status::Ok();
}

std::string ReductionConfig::List() const {
  return Names(reductions_, [](Reduction) { return true; });
}

void ReductionConfig::WriteJson(JsonWriter &json) const {
  const std::string own =
      Names(reductions_, [](Reduction reduction) { return !IsKnownToOriginal(reduction); });
  json.BeginObject();
  json.Key("save_raw_tensor");
  json.Bool(saves_raw_);
  json.Key(kReductionsKey);
  json.Text(Names(reductions_, IsKnownToOriginal));
  json.Key("save_shape");
  json.Bool(saves_shape_);
  if (!own.empty()) {
    json.Key(kOwnReductionsKey);
    json.Text(own);
  }
  json.EndObject();
}

std::string ReductionConfig::ToJson() const {
  JsonWriter json;
  WriteJson(json);
  return json.Take();
}

Result<ReductionConfig> ReductionConfig::FromJson(const JsonValue &json, Origin origin) {
  SMD_RETURN_IF_ERROR(CheckIsObject(json));
  ReductionConfig config;
  SMD_RETURN_IF_ERROR(ReadList(json, kReductionsKey, origin, config));
  SMD_RETURN_IF_ERROR(ReadList(json, kOwnReductionsKey, origin, config));
  SMD_ASSIGN_OR_RETURN(config.saves_raw_, ReadSwitch(json, "save_raw_tensor"));
  SMD_ASSIGN_OR_RETURN(config.saves_shape_, ReadSwitch(json, "save_shape"));
  return config;
}

Result<ReductionConfig> ReductionConfig::FromJson(std::string_view text) {
  return FromJsonText<ReductionConfig>(text);
}

std::string ReductionConfigName(Reduction reduction) {
  return tensor::ReductionName(reduction) + (reduction.IsNorm() ? "_norm" : "");
}

}  // namespace smdebug::config
