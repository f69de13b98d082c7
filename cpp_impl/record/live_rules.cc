#include "record/live_rules.h"

#include <algorithm>
#include <utility>

namespace smdebug::record {
namespace {

std::vector<std::string_view> TextsOf(const tensor::View &view) {
  // Pointers to texts are strided like numbers of their size.
  tensor::View addresses = view;
  addresses.dtype = tensor::DType::kUInt64;
  static_assert(sizeof(const char *) == sizeof(uint64_t));
  std::vector<const char *> elements(static_cast<size_t>(view.ElementCount()));
  CopyCompact(addresses, reinterpret_cast<std::byte *>(elements.data()));
  std::vector<std::string_view> texts;
  texts.reserve(elements.size());
  for (const char *element : elements) texts.emplace_back(element == nullptr ? "" : element);
  return texts;
}

}  // namespace

LiveRules::LiveRules(rules::Evaluation evaluation, const config::CollectionSet &collections,
                     std::string worker)
    : evaluation_(std::move(evaluation)), collections_(collections), worker_(std::move(worker)) {}

void LiveRules::NoteCollections() {
  const uint64_t version = collections_.Version();
  if (std::exchange(version_, version) != version) evaluation_.ForgetNames();
}

bool LiveRules::WillEvaluate(const rules::StepPlace &place) {
  if (!evaluation_.Selects(place)) return false;
  NoteCollections();
  return true;
}

bool LiveRules::BeginStep(const rules::StepPlace &place) {
  if (!evaluation_.BeginStep(place)) return false;
  place_ = place;
  NoteCollections();
  return true;
}

bool LiveRules::Wants(std::string_view tensor) { return evaluation_.Wants(tensor, *this); }

void LiveRules::Observe(std::string_view tensor, const tensor::View &view) {
  rules::Sample sample(place_, worker_, tensor);
  if (view.dtype == tensor::DType::kString) {
    if (!Wants(tensor)) return;
    sample.SetTexts(TextsOf(view));
  } else {
    sample.SetElements(view);
  }
  evaluation_.Observe(sample, *this);
}

void LiveRules::Observe(std::string_view tensor, const tensor::GivenStatistics &given) {
  rules::Sample sample(place_, worker_, tensor);
  if (given.HasElements()) {
    sample.SetElements(given.Elements());
  } else {
    sample.SetGiven(given);
  }
  evaluation_.Observe(sample, *this);
}

void LiveRules::EndStep() {
  findings_.clear();
  evaluation_.EndStep(&findings_);
  TakeAction();
}

void LiveRules::TakeAction() {
  action_ = rules::Action::kContinue;
  for (const rules::Finding &finding : findings_) action_ = std::max(action_, finding.action);
}

void LiveRules::DiscardStep() {
  evaluation_.PassStep();
  action_ = rules::Action::kContinue;
}

void LiveRules::EndJob() {
  findings_.clear();
  evaluation_.EndJob(&findings_);
  TakeAction();
}

bool LiveRules::IsIn(std::string_view collection, std::string_view tensor) const {
  const config::CollectionPtr found = collections_.Find(collection);
  if (!found) return false;
  const auto has = found->Has(tensor);
  return has.IsOk() && *has;
}

}  // namespace smdebug::record
