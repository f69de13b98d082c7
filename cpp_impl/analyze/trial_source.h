// A stored trial, as rules see it.
#pragma once

#include <memory>

#include "analyze/trial.h"
#include "rules/source.h"

namespace smdebug::analyze {

class TrialSource final : public rules::Source {
 public:
  explicit TrialSource(std::shared_ptr<Trial> trial) : trial_(std::move(trial)) {}

  Status WaitForStep(int64_t step) override;
  Result<std::optional<int64_t>> NextStep(int64_t step) override;
  Result<std::vector<std::string>> TensorNames(std::string_view collection, int64_t step) override;
  Result<double> Reduce(const std::string &tensor, int64_t step,
                        tensor::Reduction reduction) override;
  void Hold() override { trial_->Hold(); }
  void Release() override { trial_->Release(); }

 private:
  std::shared_ptr<Trial> trial_;
};

}  // namespace smdebug::analyze
