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

}  // namespace

Judge::Judge(const RuleChoice &choice)
    : names_causes_(choice.requests.empty()), set_(MakeRules(choice)) {}

bool Judge::Evaluate(const Trial &trial, const std::vector<int64_t> &steps,
                     Clock::time_point deadline, std::vector<Finding> *found) {
  const int64_t last = EvaluatedTo();
  auto step = std::upper_bound(steps.begin(), steps.end(), last);
  if (step == steps.end()) return false;
  for (; step != steps.end() && Clock::now() < deadline; ++step) {
    // One step per call, so that a step that cannot be read is skipped.
    try {
      set_.Evaluate(trial, EvaluateOptions{.end = EndAfter(*step)}, found);
    } catch (const Error &error) {
      if (!Damage::IsOfTrial(error)) throw;
    }
    const std::lock_guard lock(mutex_);
    state_.evaluated_to = *step;
  }
  Note(*found);
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
    if (known_.size() >= kMostKept) continue;
    if (++known_[WhatDiffers(finding)] == 1) state_.first.push_back(finding);
  }
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

std::vector<Finding> Judge::Since(size_t begin) const {
  const std::lock_guard lock(mutex_);
  const size_t count = state_.first.size();
  return {state_.first.begin() + static_cast<ptrdiff_t>(std::min(begin, count)),
          state_.first.end()};
}

}  // namespace smdebug::cli::serve
