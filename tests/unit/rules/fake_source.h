// A job as a test tells it, for the tests of rules/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "rules/rule.h"
#include "rules/source.h"

namespace smdebug::rules {

// Steps 0 to last were saved or passed over; then the job ends.
class FakeSource final : public Source {
 public:
  void Save(int64_t step) { steps_.emplace(step, std::map<std::string, double>()); }
  void Save(int64_t step, const std::string &gradient, double mean_of_absolute) {
    steps_[step][gradient] = mean_of_absolute;
  }
  // What a question about the tensor at any step fails with.
  void Fail(const std::string &gradient, Status status) {
    failures_.insert_or_assign(gradient, std::move(status));
  }
  void FailWaitAt(int64_t step, Status status) {
    wait_failures_.insert_or_assign(step, std::move(status));
  }

  Status WaitForStep(int64_t step) override {
    waited_for.push_back(step);
    if (const auto found = wait_failures_.find(step); found != wait_failures_.end()) {
      return found->second;
    }
    if (steps_.count(step) != 0) return Status::Ok();
    if (steps_.empty() || steps_.rbegin()->first < step) return {Code::kNoMoreData, "ended"};
    return {Code::kStepUnavailable, "not saved"};
  }
  Result<std::optional<int64_t>> NextStep(int64_t step) override {
    const auto next = steps_.lower_bound(step);
    return next == steps_.end() ? std::optional<int64_t>() : std::optional(next->first);
  }
  Result<std::vector<std::string>> TensorNames(std::string_view collection, int64_t step) override {
    std::vector<std::string> names;
    if (collection != "gradients") return names;
    for (const auto &[name, value] : steps_[step]) names.push_back(name);
    return names;
  }
  Result<double> Reduce(const std::string &tensor, int64_t step,
                        tensor::Reduction reduction) override {
    if (const auto found = failures_.find(tensor); found != failures_.end()) return found->second;
    if (reduction != tensor::Reduction{tensor::ReductionKind::kMean, true}) {
      return Status(Code::kUnsupported, "another reduction than the test expects");
    }
    return steps_[step].at(tensor);
  }
  void Hold() override { ++holds; }
  void Release() override { --holds; }

  std::vector<int64_t> waited_for;
  int holds = 0;

 private:
  std::map<int64_t, std::map<std::string, double>> steps_;
  std::map<std::string, Status> failures_;
  std::map<int64_t, Status> wait_failures_;
};

}  // namespace smdebug::rules
