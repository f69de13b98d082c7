#include "analyze/trial_source.h"

#include <algorithm>

#include "analyze/tensor.h"

namespace smdebug::analyze {

Status TrialSource::WaitForStep(int64_t step) {
  return trial_->WaitForStep(step, Mode::kGlobal, Deadline::Never());
}

Result<std::optional<int64_t>> TrialSource::NextStep(int64_t step) {
  SMD_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, trial_->Steps(Mode::kGlobal, true));
  const auto next = std::lower_bound(steps.begin(), steps.end(), step);
  return next == steps.end() ? std::optional<int64_t>() : std::optional<int64_t>(*next);
}

Result<std::vector<std::string>> TrialSource::TensorNames(std::string_view collection,
                                                          int64_t step) {
  NameQuery query;
  query.step = step;
  SMD_ASSIGN_OR_RETURN(query.collection, trial_->Collection(collection));
  return trial_->TensorNames(query);
}

Result<double> TrialSource::Reduce(const std::string &tensor, int64_t step,
                                   tensor::Reduction reduction) {
  SMD_ASSIGN_OR_RETURN(const Tensor found, Tensor::Find(trial_, tensor));
  SMD_ASSIGN_OR_RETURN(const tensor::Value value,
                       found.Reduction(step, Mode::kGlobal, "", reduction));
  return tensor::ToDouble(value);
}

}  // namespace smdebug::analyze
