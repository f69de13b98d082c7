#include "record/attached_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace smdebug::record {
namespace {

// Limits the memory of a job that never takes its findings.
constexpr size_t kMostFindings = 10'000;

Result<KeptTensor> Keep(const tensor::View &view) { return KeptTensor::Of(view); }
Result<KeptStatistics> Keep(const tensor::GivenStatistics &given) {
  return KeptStatistics::Of(given);
}

void Show(LiveRules &rules, std::string_view tensor, const KeptTensor &kept) {
  rules.Observe(tensor, kept.AsView());
}
void Show(LiveRules &rules, std::string_view tensor, const KeptStatistics &kept) {
  rules.Observe(tensor, kept.AsGiven());
}

}  // namespace

void AttachedRules::Attach(std::unique_ptr<LiveRules> rules) {
  std::shared_ptr<LiveRules> replaced(std::move(rules));
  {
    const MutexLock run_lock(run_mutex_);
    rules_.swap(replaced);
    ++changes_;
    const MutexLock lock(mutex_);
    action_ = rules::Action::kContinue;
  }
  // The replaced rules are destroyed here: they may be the last owner of another trial.
}

bool AttachedRules::Has(const rules::RuleSet &set) {
  const MutexLock run_lock(run_mutex_);
  return rules_ && rules_->IsOf(set);
}

// ---- the steps -----------------------------------------------------------------------------

bool AttachedRules::BeginStep(const rules::StepPlace &place) {
  const MutexLock run_lock(run_mutex_);
  TakeTurn();
  Turn turn{rules_, place};
  if (turn_) {
    turn.is_evaluated = rules_ && rules_->WillEvaluate(place);
    waiting_.push_back(std::move(turn));
  } else {
    turn.is_evaluated = rules_ && rules_->BeginStep(place);
    turn_ = std::move(turn);
  }
  newest_ = place.step;
  evaluates_ = waiting_.empty() ? turn_->is_evaluated : waiting_.back().is_evaluated;
  if (evaluates_) ++evaluated_steps_;
  NoteChanges();
  return evaluates_;
}

void AttachedRules::NoteChanges() {
  const std::tuple<const LiveRules *, bool, uint64_t> now(rules_.get(), evaluates_,
                                                          rules_ ? rules_->Changes() : 0);
  if (std::exchange(answering_, now) != now) ++changes_;
}

bool AttachedRules::Wants(std::string_view tensor) {
  if (!evaluates_) return false;
  const MutexLock run_lock(run_mutex_);
  return evaluates_ && rules_->Wants(tensor);
}

AttachedRules::Turn *AttachedRules::Find(int64_t step) {
  if (turn_ && turn_->place.step == step) return &*turn_;
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [step](const Turn &turn) { return turn.place.step == step; });
  return found == waiting_.end() ? nullptr : &*found;
}

template <class Observed>
void AttachedRules::ObserveAny(int64_t step, std::string_view tensor, const Observed &observed) {
  const MutexLock run_lock(run_mutex_);
  TakeTurn();
  Turn *turn = Find(step);
  if (turn == nullptr || !turn->is_evaluated) return;
  if (turn == &*turn_) {
    turn->rules->Observe(tensor, observed);
  } else if (turn->rules->Wants(tensor)) {
    auto kept = Keep(observed);
    // A text that is NULL: saving it fails.
    if (kept.IsOk()) turn->kept.push_back({std::string(tensor), *std::move(kept)});
  }
}

template void AttachedRules::ObserveAny(int64_t, std::string_view, const tensor::View &);
template void AttachedRules::ObserveAny(int64_t, std::string_view, const tensor::GivenStatistics &);

void AttachedRules::EndStep(int64_t step) {
  std::shared_ptr<LiveRules> replaced;  // destroyed without the lock
  const MutexLock run_lock(run_mutex_);
  NoteEnd(step);
  TakeTurn();
  if (turn_ && turn_->place.step == step) {
    replaced = turn_->rules;
    EndTurn();
  } else if (rules_) {
    rules_->SkipStep();
    CollectResults(*rules_);
  }
  TakeTurn();
}

void AttachedRules::DiscardStep(int64_t step) {
  std::shared_ptr<LiveRules> replaced;  // destroyed without the lock
  const MutexLock run_lock(run_mutex_);
  NoteEnd(step);
  TakeTurn();
  Turn *turn = Find(step);
  if (turn != nullptr) turn->is_discarded = true;
  if (turn != nullptr && turn == &*turn_) {
    replaced = turn->rules;
    EndTurn();
  } else if (turn == nullptr && rules_) {
    rules_->SkipStep();
    CollectResults(*rules_);
  }
}

void AttachedRules::EndJob() {
  const MutexLock run_lock(run_mutex_);
  if (!rules_ || turn_) return;
  rules_->EndJob();
  CollectResults(*rules_);
}

void AttachedRules::AbortStep(int64_t step) noexcept {
  std::shared_ptr<LiveRules> replaced;  // destroyed without the lock
  const MutexLock run_lock(run_mutex_);
  NoteEnd(step);
  Turn *turn = step < 0 ? nullptr : Find(step);
  if (turn == nullptr) return;
  replaced = std::move(turn->rules);
  if (turn->is_evaluated) --evaluated_steps_;
  if (turn_ && turn == &*turn_) {
    turn_.reset();
  } else {
    waiting_.erase(std::find_if(waiting_.begin(), waiting_.end(),
                                [turn](const Turn &each) { return &each == turn; }));
  }
}

void AttachedRules::NoteEnd(int64_t step) {
  if (step < 0 || step == newest_) evaluates_ = false;
}

void AttachedRules::TakeTurn() {
  while (!turn_ && !waiting_.empty()) {
    turn_ = std::move(waiting_.front());
    waiting_.pop_front();
    Replay(*turn_);
    if (turn_->is_discarded) EndTurn();
  }
}

void AttachedRules::Replay(Turn &turn) {
  const bool has_begun = turn.rules && turn.rules->BeginStep(turn.place);
  if (turn.is_evaluated && !has_begun) {
    turn.is_evaluated = false;
    --evaluated_steps_;
  }
  const std::vector<Kept> kept = std::exchange(turn.kept, {});
  for (const Kept &each : kept) {
    if (!turn.is_evaluated) return;
    std::visit([&](const auto &observed) { Show(*turn.rules, each.tensor, observed); },
               each.observed);
  }
}

void AttachedRules::EndTurn() {
  const Turn turn = std::exchange(turn_, {}).value();
  if (turn.is_evaluated) --evaluated_steps_;
  if (!turn.rules) return;
  if (!turn.is_evaluated) {
    turn.rules->SkipStep();
  } else if (turn.is_discarded) {
    turn.rules->DiscardStep();
  } else {
    turn.rules->EndStep();
  }
  CollectResults(*turn.rules);
}

void AttachedRules::CollectResults(LiveRules &rules) {
  std::vector<rules::Finding> found = rules.TakeFindings();
  const MutexLock lock(mutex_);
  // The action of replaced rules no longer counts.
  if (rules_.get() == &rules) action_ = rules.LastAction();
  for (rules::Finding &finding : found) {
    findings_.push_back(std::move(finding));
    if (findings_.size() > kMostFindings) findings_.pop_front();
  }
}

// ---- the results ---------------------------------------------------------------------------

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
