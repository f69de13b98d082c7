#include "record/step_plan.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "config/collection_names.h"

namespace smdebug::record {
namespace {

// A job that invents a new name at every step must not fill the memory.
constexpr size_t kMostMemos = 200'000;

// Adds what the config selects: reductions, norms, then those of absolute values.
void AddTo(SavedParts *parts, const config::ReductionConfig &config) {
  parts->raw = parts->raw || config.SavesRaw();
  parts->shape = parts->shape || config.SavesShape();
  constexpr std::array<std::pair<bool, bool>, 4> kOrder = {
      {{false, false}, {true, false}, {false, true}, {true, true}}};
  for (const auto &[is_norm, is_absolute] : kOrder) {
    for (const tensor::Reduction reduction : config.Reductions()) {
      if (reduction.IsNorm() != is_norm || reduction.absolute != is_absolute) continue;
      auto &known = parts->reductions;
      if (std::find(known.begin(), known.end(), reduction) == known.end()) {
        known.push_back(reduction);
      }
    }
  }
}

void AddSummariesTo(SavedParts *parts, const config::CollectionPtr &collection) {
  if (config::IsScalarCollection(collection->Name())) {
    parts->scalar = true;
  } else if (parts->histogram == nullptr && collection->SavesHistogram()) {
    parts->histogram = collection;
  }
}

}  // namespace

StepPlan::StepPlan(const config::CollectionSet &collections, PlanDefaults defaults)
    : collections_(collections), defaults_(std::move(defaults)) {}

Status StepPlan::CheckCollections() const {
  for (const config::CollectionPtr &collection : collections_.List()) {
    if (config::IsKnownCollection(collection->Name()) || !collection->IsEmpty()) continue;
    return InvalidConfig(StrCat("collection '", collection->Name(),
                                "' includes nothing; give it a regular expression or tensor "
                                "names"))
        .With("collection", collection->Name());
  }
  return Status::Ok();
}

config::ReductionConfig StepPlan::ReductionConfigOf(const config::Collection &collection) const {
  if (config::IsScalarCollection(collection.Name())) return config::ReductionConfig::Raw();
  return collection.GetReductionConfig().value_or(defaults_.reduction_config);
}

config::SaveConfig StepPlan::SaveConfigOf(const config::Collection &collection) const {
  std::optional<config::SaveConfig> own = collection.GetSaveConfig();
  if (!own) return defaults_.save_config;
  own->Merge(defaults_.save_config);
  config::SaveConfig plain;
  plain.SetAll({});
  own->Merge(plain);
  return *std::move(own);
}

std::vector<config::CollectionPtr> StepPlan::FilledIn() const {
  std::vector<config::CollectionPtr> filled;
  for (const config::CollectionPtr &collection : collections_.List()) {
    const auto copy = std::make_shared<config::Collection>(*collection);
    copy->SetSaveConfig(SaveConfigOf(*collection));
    copy->SetReductionConfig(ReductionConfigOf(*collection));
    if (config::IsScalarCollection(collection->Name())) copy->SetSavesHistogram(false);
    filled.push_back(copy);
  }
  return filled;
}

std::vector<std::string> StepPlan::Unknown() const {
  const std::vector<config::CollectionPtr> known = collections_.List();
  std::vector<std::string_view> names;
  for (const config::CollectionPtr &collection : known) names.emplace_back(collection->Name());
  std::vector<std::string> sentences;
  for (const std::string &name : defaults_.included) {
    if (name == config::kLossesCollection || collections_.Find(name)) continue;
    sentences.push_back(StrCat("include_collections names '", Excerpt(name),
                               "', and after the first step there is no such collection",
                               DidYouMean(name, names)));
  }
  return sentences;
}

void StepPlan::Prepare() {
  const auto is_saved = [&](const std::string &name) {
    return defaults_.saves_all || std::find(defaults_.included.begin(), defaults_.included.end(),
                                            name) != defaults_.included.end();
  };
  planned_.clear();
  memos_.clear();
  ++round_;
  for (const config::CollectionPtr &collection : collections_.List()) {
    if (!is_saved(collection->Name())) continue;
    planned_.push_back({collection, SaveConfigOf(*collection), ReductionConfigOf(*collection)});
  }
}

Status StepPlan::Begin(Mode mode, int64_t mode_step) {
  if (!is_checked_) {
    SMD_RETURN_IF_ERROR(CheckCollections());
    version_ = collections_.Version();
    Prepare();
    is_checked_ = true;
  } else if (const uint64_t version = collections_.Version(); version != version_) {
    Prepare();
    version_ = version;
  }
  if (memos_.size() >= kMostMemos) memos_.clear();
  const bool is_training = mode == Mode::kTrain || mode == Mode::kGlobal;
  saves_anything_ = false;
  bool has_changed = false;
  for (Planned &planned : planned_) {
    const bool saves_now =
        planned.save_config.Wants(mode, mode_step) &&
        (is_training || !config::IsTrainingCollection(planned.collection->Name()));
    has_changed = has_changed || saves_now != planned.saves_now;
    planned.saves_now = saves_now;
    saves_anything_ = saves_anything_ || saves_now;
  }
  if (has_changed) ++round_;
  return Status::Ok();
}

void StepPlan::Add(const std::vector<std::string> &collections) {
  for (Planned &planned : planned_) {
    const std::string &name = planned.collection->Name();
    if (std::find(collections.begin(), collections.end(), name) == collections.end()) continue;
    planned.saves_now = saves_anything_ = true;
    ++round_;
  }
}

Result<StepPlan::Memo> StepPlan::Remember(std::string_view tensor) const {
  Memo memo;
  for (size_t i = 0; i < planned_.size(); ++i) {
    SMD_ASSIGN_OR_RETURN(const bool is_member, planned_[i].collection->Has(tensor));
    if (!is_member) continue;
    memo.members.push_back(i);
  }
  return memo;
}

SavedParts StepPlan::Combine(const Memo &memo) const {
  SavedParts parts;
  for (const size_t member : memo.members) {
    const Planned &planned = planned_[member];
    if (!planned.saves_now) continue;
    AddTo(&parts, planned.reduction_config);
    AddSummariesTo(&parts, planned.collection);
  }
  return parts;
}

Result<StepPlan::Memo *> StepPlan::FindMemo(std::string_view tensor) {
  auto found = memos_.find(tensor);
  if (found == memos_.end()) {
    SMD_ASSIGN_OR_RETURN(Memo memo, Remember(tensor));
    found = memos_.emplace(std::string(tensor), std::move(memo)).first;
  }
  Memo &memo = found->second;
  if (memo.round != round_) {
    memo.parts = Combine(memo);
    memo.round = round_;
  }
  return &memo;
}

Result<const SavedParts *> StepPlan::Find(std::string_view tensor) {
  SMD_ASSIGN_OR_RETURN(const Memo *memo, FindMemo(tensor));
  return memo->parts.IsNothing() ? nullptr : &memo->parts;
}

Result<const SavedParts *> StepPlan::FindToSave(std::string_view tensor) {
  SMD_ASSIGN_OR_RETURN(Memo * memo, FindMemo(tensor));
  if (memo->parts.IsNothing()) return nullptr;
  if (!memo->is_noted) {
    for (const size_t member : memo->members) planned_[member].collection->NoteMatch(tensor);
    memo->is_noted = true;
  }
  return &memo->parts;
}

SavedParts StepPlan::FindCustom(const std::vector<config::CollectionPtr> &collections) const {
  SavedParts parts;
  for (const config::CollectionPtr &collection : collections) {
    AddTo(&parts, ReductionConfigOf(*collection));
  }
  // A custom tensor is written as it is.
  parts.reductions.clear();
  return parts;
}

}  // namespace smdebug::record
