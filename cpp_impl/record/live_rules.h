// Rules that look at a job while it records, in its own process.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/collection_set.h"
#include "rules/shared_panel.h"
#include "tensor/view.h"

namespace smdebug::record {

// For one thread at a time.
class LiveRules final : private rules::Membership {
 public:
  // `collections` must outlive it.
  LiveRules(std::shared_ptr<rules::SharedPanel> panel, const config::CollectionSet &collections,
            std::string worker);

  // Whether rules look at the step; if not, it only ends.
  bool BeginStep(const rules::StepPlace &place);
  bool Wants(std::string_view tensor);
  // A tensor of the step, saved or not.
  void Observe(std::string_view tensor, const tensor::View &view);
  void EndStep();
  // Ends a step that rules do not look at.
  void PassStep() { advice_ = rules::Action::kContinue; }

  // What is to be done about the findings of the last step.
  rules::Action Advice() const { return advice_; }
  // What was found since the last call; of very many the newest.
  std::vector<rules::Verdict> TakeVerdicts();
  // What was found by those it takes the place of, and not taken.
  void Inherit(std::vector<rules::Verdict> verdicts);

 private:
  bool IsIn(std::string_view collection, std::string_view tensor) const override;

  const std::shared_ptr<rules::SharedPanel> panel_;
  const config::CollectionSet &collections_;
  const std::string worker_;
  uint64_t version_ = 0;  // of the collections that names were matched with
  rules::StepPlace place_;
  rules::Action advice_ = rules::Action::kContinue;
  std::deque<rules::Verdict> verdicts_;
};

}  // namespace smdebug::record
