#include "serve/judge.h"

#include <algorithm>
#include <utility>

#include "damage.h"

namespace smdebug::cli::serve {
namespace {

RuleSet MakeRules(const RuleChoice &choice) {
  std::vector<SkippedRule> skipped;
  return MakeRuleSet(choice.profile, choice.requests, &skipped);
}

std::string WhatDiffers(const Finding &finding) {
  JsonWriter json;
  json.BeginArray().Text(finding.rule).Text(finding.check).Text(finding.tensor);
  return json.Text(finding.worker).Text(Name(finding.level)).EndArray().Take();
}

template <class T>
void KeepEveryOther(std::vector<T> *all) {
  for (size_t i = 0; 2 * i < all->size(); ++i) (*all)[i] = (*all)[2 * i];
  all->resize((all->size() + 1) / 2);
}

}  // namespace

Judge::Judge(const RuleChoice &choice)
    : names_causes_(choice.requests.empty()), set_(MakeRules(choice)) {}

bool Judge::Evaluate(const Trial &trial, const std::vector<int64_t> &steps,
                     Clock::time_point deadline, std::vector<Finding> *found) {
  const int64_t last = EvaluatedTo();
  auto step = std::upper_bound(steps.begin(), steps.end(), last);
  if (step == steps.end()) return End(trial, last, found);
  for (; step != steps.end() && Clock::now() < deadline; ++step) {
    // One step per call, so that a step that cannot be read is skipped.
    EvaluateTo(trial, *step, found);
    const std::lock_guard lock(mutex_);
    state_.evaluated_to = *step;
    state_.has_heard_end = false;
  }
  Note(*found);
  return true;
}

void Judge::EvaluateTo(const Trial &trial, int64_t step, std::vector<Finding> *found) {
  try {
    set_.Evaluate(trial, EvaluateOptions{.end = EndAfter(step)}, found);
  } catch (const Error &error) {
    if (!Damage::IsOfTrial(error)) throw;
  }
}

bool Judge::End(const Trial &trial, int64_t last, std::vector<Finding> *found) {
  if (HasHeardEnd() || !trial.HasEnded()) return false;
  if (last >= 0) EvaluateTo(trial, last, found);
  Note(*found);
  const std::lock_guard lock(mutex_);
  state_.has_heard_end = true;
  return true;
}

void Judge::Note(const std::vector<Finding> &found) {
  std::vector<RuleResult> results = set_.Results();
  std::vector<Cause> causes;
  if (names_causes_) causes = set_.Diagnose();
  const std::lock_guard lock(mutex_);
  state_.results = std::move(results);
  state_.causes = std::move(causes);
  for (const Finding &finding : found) {
    if (finding.level == Level::kFinding) ++state_.findings;
    if (found_count_ < kMostSteps && found_steps_[finding.tensor].insert(finding.step).second) {
      ++found_count_;
    }
    Keep(finding);
  }
}

void Judge::Keep(const Finding &finding) {
  const std::string key = WhatDiffers(finding);
  auto known = known_.find(key);
  if (known == known_.end()) {
    if (known_.size() >= kMostKept) return;
    known = known_.emplace(key, state_.first.size()).first;
    state_.first.push_back(finding);
    histories_.push_back({finding, 0, 1, {}, {}, {}});
  }
  History &history = histories_[known->second];
  if (history.count++ % history.every != 0) return;
  if (history.steps.size() >= kMostValues) {
    KeepEveryOther(&history.steps);
    KeepEveryOther(&history.values);
    KeepEveryOther(&history.limits);
    history.every *= 2;
  }
  history.steps.push_back(finding.step);
  history.values.push_back(finding.value);
  history.limits.push_back(finding.limit);
}

Judge::State Judge::Now() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Judge::StepsByTensor Judge::FoundSteps() const {
  const std::lock_guard lock(mutex_);
  return found_steps_;
}

size_t Judge::Count() const {
  const std::lock_guard lock(mutex_);
  return state_.findings;
}

int64_t Judge::EvaluatedTo() const {
  const std::lock_guard lock(mutex_);
  return state_.evaluated_to;
}

bool Judge::HasHeardEnd() const {
  const std::lock_guard lock(mutex_);
  return state_.has_heard_end;
}

std::vector<Judge::History> Judge::Histories() const {
  const std::lock_guard lock(mutex_);
  return histories_;
}

std::vector<Finding> Judge::Since(size_t begin) const {
  const std::lock_guard lock(mutex_);
  const size_t count = state_.first.size();
  return {state_.first.begin() + static_cast<ptrdiff_t>(std::min(begin, count)),
          state_.first.end()};
}

}  // namespace smdebug::cli::serve
