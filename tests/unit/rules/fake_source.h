// A job as a test tells it, for the tests of rules/.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/regex.h"
#include "rules/source.h"
#include "tensor/tensors.h"

namespace smdebug::rules {

// Steps 0 to last were saved or passed over; then the job ends.
class FakeSource : public Source, private Membership {
 public:
  FakeSource() {
    Include("weights", "^(?!gradient).*weight");
    Include("biases", "^(?!gradient).*bias");
    Include("gradients", "^gradient");
    Include("losses", "[Ll]oss");
  }

  // Adds tensors to a collection by an expression.
  void Include(const std::string &collection, std::string_view regex) {
    collections_[collection].push_back(*Regex::Compile(regex));
  }

  // A step of GLOBAL, or of another mode.
  FakeSource &Step(int64_t step) { return Step(step, Mode::kGlobal, step); }
  FakeSource &Step(int64_t step, Mode mode, int64_t mode_step) {
    steps_[step].place = {step, mode, mode_step};
    last_ = step;
    return *this;
  }
  // A tensor of the step told last.
  FakeSource &Save(const std::string &tensor, const tensor::Value &value) {
    steps_[last_].tensors.push_back({worker_, tensor, value, {}, {}});
    return *this;
  }
  FakeSource &Save(const std::string &tensor, const std::vector<double> &numbers) {
    return Save(tensor, tensor::TensorOf(tensor::DType::kFloat64, numbers));
  }
  FakeSource &Save(const std::string &tensor, const std::vector<double> &numbers,
                   std::vector<int64_t> shape) {
    return Save(tensor, tensor::TensorOf(tensor::DType::kFloat64, numbers, std::move(shape)));
  }
  // Only reductions of it.
  FakeSource &SaveReductions(const std::string &tensor,
                             std::vector<std::pair<tensor::Reduction, double>> reductions) {
    steps_[last_].tensors.push_back({worker_, tensor, {}, std::move(reductions), {}});
    return *this;
  }
  FakeSource &SaveTexts(const std::string &tensor, std::vector<std::string> texts) {
    steps_[last_].tensors.push_back({worker_, tensor, {}, {}, std::move(texts)});
    return *this;
  }
  // When the step told last was recorded.
  FakeSource &At(double wall_seconds) {
    steps_[last_].wall_seconds = wall_seconds;
    return *this;
  }
  // Who saves what follows ("worker_0" at first).
  FakeSource &By(std::string worker) {
    worker_ = std::move(worker);
    return *this;
  }

  // Which part of each tensor the worker of By() holds in what follows.
  FakeSource &Holding(config::Placement part) {
    parts_.insert_or_assign(worker_, std::move(part));
    return *this;
  }

  // What reading a step, or waiting for it, fails with.
  void FailVisitAt(int64_t step, Status status) {
    visit_failures_.insert_or_assign(step, std::move(status));
  }
  void FailWaitAt(int64_t step, Status status) {
    wait_failures_.insert_or_assign(step, std::move(status));
  }

  // The step that some worker still writes to; of none at first.
  void LeaveOpen(std::optional<int64_t> step) { open_ = step; }

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
  Result<bool> IsComplete(int64_t step) override { return step != open_; }
  Result<bool> HasEnded() override { return has_ended; }
  Result<StepPlace> PlaceOf(int64_t step) override { return steps_.at(step).place; }
  double WallSecondsOf(int64_t step) override { return steps_.at(step).wall_seconds; }
  Status VisitStep(int64_t step, const Wants &wants, const Visit &visit) override {
    visited.push_back(step);
    if (const auto found = visit_failures_.find(step); found != visit_failures_.end()) {
      return found->second;
    }
    std::vector<Saved> tensors = steps_.at(step).tensors;
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const Saved &a, const Saved &b) { return a.worker < b.worker; });
    for (const Saved &saved : tensors) {
      if (!wants(saved.tensor)) continue;
      Sample sample(steps_.at(step).place, saved.worker, saved.tensor);
      if (saved.value.dtype != tensor::DType::kInvalid) sample.SetElements(saved.value.AsView());
      for (const auto &[reduction, value] : saved.reductions) {
        sample.AddReduction(reduction, value);
      }
      if (const auto part = parts_.find(saved.worker); part != parts_.end()) {
        sample.SetPlacement(&part->second);
      }
      sample.SetTexts({saved.texts.begin(), saved.texts.end()});
      visit(sample);
    }
    return Status::Ok();
  }
  const Membership &Collections() const override { return *this; }
  void Hold() override { ++holds; }
  void Release() override { --holds; }

  bool has_ended = true;
  std::vector<int64_t> waited_for;
  std::vector<int64_t> visited;
  int holds = 0;

 private:
  struct Saved {
    std::string worker;
    std::string tensor;
    tensor::Value value;
    std::vector<std::pair<tensor::Reduction, double>> reductions;
    std::vector<std::string> texts;
  };
  struct SavedStep {
    StepPlace place;
    double wall_seconds = kNoNumber;
    std::vector<Saved> tensors;
  };

  bool IsIn(std::string_view collection, std::string_view tensor) const override {
    const auto found = collections_.find(std::string(collection));
    return found != collections_.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const Regex &regex) { return *regex.IsFoundIn(tensor); });
  }

  std::map<std::string, std::vector<Regex>> collections_;
  std::map<std::string, config::Placement> parts_;  // by worker
  std::map<int64_t, SavedStep> steps_;
  std::map<int64_t, Status> visit_failures_;
  std::map<int64_t, Status> wait_failures_;
  int64_t last_ = 0;
  std::optional<int64_t> open_;
  std::string worker_ = "worker_0";
};

}  // namespace smdebug::rules
