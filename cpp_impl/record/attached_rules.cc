#include "record/attached_rules.h"

#include <iterator>
#include <utility>

namespace smdebug::record {
namespace {

// Limits the memory of a job that never takes its findings.
constexpr size_t kMostFindings = 10'000;

}  // namespace

void AttachedRules::Attach(std::unique_ptr<LiveRules> rules) {
  {
    const MutexLock run_lock(run_mutex_);
    rules_.swap(rules);
    const MutexLock lock(mutex_);
    action_ = rules::Action::kContinue;
  }
  // The replaced rules are destroyed here: they may be the last owner of another trial.
}

bool AttachedRules::Has(const rules::RuleSet &set) {
  const MutexLock run_lock(run_mutex_);
  return rules_ && rules_->IsOf(set);
}

bool AttachedRules::BeginStep(const rules::StepPlace &place) {
  const MutexLock run_lock(run_mutex_);
  evaluates_ = rules_ && rules_->BeginStep(place);
  return evaluates_;
}

bool AttachedRules::Wants(std::string_view tensor) {
  if (!evaluates_) return false;
  const MutexLock run_lock(run_mutex_);
  return evaluates_ && rules_->Wants(tensor);
}

void AttachedRules::Observe(std::string_view tensor, const tensor::View &view) {
  if (!evaluates_) return;
  const MutexLock run_lock(run_mutex_);
  rules_->Observe(tensor, view);
}

void AttachedRules::Observe(std::string_view tensor, const tensor::GivenStatistics &given) {
  if (!evaluates_) return;
  const MutexLock run_lock(run_mutex_);
  rules_->Observe(tensor, given);
}

void AttachedRules::EndStep() {
  const MutexLock run_lock(run_mutex_);
  if (!rules_) return;
  if (evaluates_.exchange(false)) {
    rules_->EndStep();
  } else {
    rules_->SkipStep();
  }
  CollectResults();
}

void AttachedRules::DiscardStep() {
  const MutexLock run_lock(run_mutex_);
  if (!rules_) return;
  if (evaluates_.exchange(false)) {
    rules_->DiscardStep();
  } else {
    rules_->SkipStep();
  }
  CollectResults();
}

void AttachedRules::CollectResults() {
  std::vector<rules::Finding> found = rules_->TakeFindings();
  const MutexLock lock(mutex_);
  action_ = rules_->LastAction();
  for (rules::Finding &finding : found) {
    findings_.push_back(std::move(finding));
    if (findings_.size() > kMostFindings) findings_.pop_front();
  }
}

rules::Action AttachedRules::LastAction() const {
  const MutexLock lock(mutex_);
  return action_;
}

std::vector<rules::Finding> AttachedRules::TakeFindings() {
  std::deque<rules::Finding> taken;
  {
    const MutexLock lock(mutex_);
    taken.swap(findings_);
  }
  return {std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end())};
}

}  // namespace smdebug::record
