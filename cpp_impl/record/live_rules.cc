#include "record/live_rules.h"

#include <algorithm>
#include <utility>

namespace smdebug::record {
namespace {

// A job that never asks must not fill the memory.
constexpr size_t kMostVerdicts = 10'000;

// Of a strided view, which is not recorded either, nothing.
std::vector<std::string_view> TextsOf(const tensor::View &view) {
  std::vector<std::string_view> texts;
  if (!view.IsCompact()) return texts;
  const auto *elements = static_cast<const char *const *>(view.data);
  for (int64_t i = 0; i < view.ElementCount(); ++i) {
    texts.emplace_back(elements[i] == nullptr ? "" : elements[i]);
  }
  return texts;
}

}  // namespace

LiveRules::LiveRules(std::shared_ptr<rules::SharedPanel> panel,
                     const config::CollectionSet &collections, std::string worker)
    : panel_(std::move(panel)), collections_(collections), worker_(std::move(worker)) {}

bool LiveRules::BeginStep(const rules::StepPlace &place) {
  const uint64_t version = collections_.Version();
  const MutexLock lock(panel_->mutex);
  if (!panel_->panel.LooksAt(place)) return false;
  place_ = place;
  if (std::exchange(version_, version) != version) panel_->panel.ForgetNames();
  return true;
}

bool LiveRules::Wants(std::string_view tensor) {
  const MutexLock lock(panel_->mutex);
  return panel_->panel.Wants(tensor, *this);
}

void LiveRules::Observe(std::string_view tensor, const tensor::View &view) {
  const MutexLock lock(panel_->mutex);
  if (!panel_->panel.Wants(tensor, *this)) return;
  rules::Sample sample(place_, worker_, tensor);
  if (view.dtype == tensor::DType::kString) {
    sample.SetTexts(TextsOf(view));
  } else {
    sample.SetElements(view);
  }
  panel_->panel.Observe(sample, *this);
}

void LiveRules::EndStep() {
  const MutexLock lock(panel_->mutex);
  panel_->last_shown = place_.step;
  advice_ = rules::Action::kContinue;
  for (rules::Verdict &verdict : panel_->panel.EndStep(place_)) {
    advice_ = std::max(advice_, verdict.action);
    verdicts_.push_back(std::move(verdict));
    if (verdicts_.size() > kMostVerdicts) verdicts_.pop_front();
  }
}

std::vector<rules::Verdict> LiveRules::TakeVerdicts() {
  std::vector<rules::Verdict> taken(std::make_move_iterator(verdicts_.begin()),
                                    std::make_move_iterator(verdicts_.end()));
  verdicts_.clear();
  return taken;
}

void LiveRules::Inherit(std::vector<rules::Verdict> verdicts) {
  verdicts_.assign(std::make_move_iterator(verdicts.begin()),
                   std::make_move_iterator(verdicts.end()));
}

bool LiveRules::IsIn(std::string_view collection, std::string_view tensor) const {
  const config::CollectionPtr found = collections_.Find(collection);
  if (!found) return false;
  const auto has = found->Has(tensor);
  return has.IsOk() && *has;
}

}  // namespace smdebug::record
