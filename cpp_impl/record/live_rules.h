// Rules that evaluate a job while it records, in its own process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/collection_set.h"
#include "rules/evaluation.h"
#include "tensor/given_statistics.h"
#include "tensor/view.h"

namespace smdebug::record {

// For one thread at a time.
class LiveRules final : private rules::Membership {
 public:
  // `collections` must outlive it.
  LiveRules(rules::Evaluation evaluation, const config::CollectionSet &collections,
            std::string worker);

  bool IsOf(const rules::RuleSet &set) const { return evaluation_.Set() == &set; }

  // Returns true if the rules evaluate the step, which begins when an earlier one has ended.
  // From here on, Wants() matches names with the collections as they are now.
  bool WillEvaluate(const rules::StepPlace &place);
  // Returns false if the rules do not evaluate the step; then end it with SkipStep().
  bool BeginStep(const rules::StepPlace &place);
  bool Wants(std::string_view tensor);
  // Grows when Wants() may answer otherwise than before.
  uint64_t Changes() const { return evaluation_.Changes(); }
  // Observes a tensor of the step, saved or not.
  void Observe(std::string_view tensor, const tensor::View &view);
  void Observe(std::string_view tensor, const tensor::GivenStatistics &given);
  void EndStep();
  // Ends a step whose findings do not count.
  void DiscardStep();
  // Ends the job, whose findings are those of its last step.
  void EndJob();
  void SkipStep() { action_ = rules::Action::kContinue; }

  // Returns the most severe action that the findings of the last step recommend.
  rules::Action LastAction() const { return action_; }
  // Returns the findings of the last step.
  std::vector<rules::Finding> TakeFindings() { return std::exchange(findings_, {}); }

 private:
  void NoteCollections();
  void TakeAction();
  bool IsIn(std::string_view collection, std::string_view tensor) const override;

  rules::Evaluation evaluation_;
  const config::CollectionSet &collections_;
  const std::string worker_;
  uint64_t version_ = 0;  // of the collections that names were matched with
  rules::StepPlace place_;
  rules::Action action_ = rules::Action::kContinue;
  std::vector<rules::Finding> findings_;
};

}  // namespace smdebug::record
