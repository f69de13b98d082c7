#include "rules/support/chance_level.h"

#include <algorithm>
#include <cmath>

#include "rules/support/tensor_names.h"
#include "tensor/dtype.h"

namespace smdebug::rules {
namespace {

// Of one step.
constexpr int64_t kMostTargets = 1024;
// Larger labels are no classes, and do not fit int64_t.
constexpr double kLargestClass = 1e15;
constexpr double kLeastTargets = 30;
constexpr size_t kMostClasses = 100'000;
// How many targets of each class, and what part of the targets of a step.
constexpr double kSeenWell = 20;
constexpr double kJoining = 0.2;

std::string_view Without(std::string_view tensor, std::string_view end) {
  if (!tensor.ends_with(end)) return {};
  tensor.remove_suffix(end.size());
  return tensor;
}

}  // namespace

std::string_view LossOfTarget(std::string_view tensor) {
  const std::string_view loss = Without(tensor, "_input_1");
  for (const std::string_view known : {"CrossEntropyLoss", "NLLLoss", "MSELoss"}) {
    const size_t place = loss.find(known);
    if (place == std::string_view::npos) continue;
    // PoissonNLLLoss and the like have no classes.
    const char before = place > 0 ? loss[place - 1] : '_';
    if (known == "NLLLoss" && before >= 'a' && before <= 'z') continue;
    const size_t slash = loss.rfind('/');
    const bool is_of_function = slash != std::string_view::npos && loss.substr(slash + 1) == known;
    return is_of_function ? loss.substr(0, slash) : loss;
  }
  return {};
}

std::string_view LossOfOutput(std::string_view tensor) {
  return tensor == "loss" ? tensor : Without(tensor, "_output_0");
}

bool IsTargetOfMean(std::string_view tensor, const Membership &membership) {
  return !LossOfTarget(tensor).empty() && !membership.IsIn("summed_losses", tensor);
}

void ChanceLevel::Add(const Sample &targets) {
  const tensor::View *form = targets.Form();
  if (form == nullptr) return;
  const bool is_squared = targets.Tensor().find("MSELoss") != std::string_view::npos;
  // Probabilities as the targets of a cross entropy have a level of their own.
  if (is_squared != tensor::IsFloat(form->dtype)) return;
  const std::vector<double> some = targets.SomeNumbers(kMostTargets);
  if (!is_squared && IsTraining(targets.Place().mode)) NoteClasses(some);
  for (const double target : some) {
    if (!std::isfinite(target)) continue;
    if (!is_squared && (target < 0 || target > kLargestClass)) continue;
    ++count_;
    if (is_squared) {
      sum_ += target;
      squares_ += target * target;
    } else if (classes_.size() < kMostClasses) {
      ++classes_[static_cast<int64_t>(target)];
    }
  }
}

void ChanceLevel::NoteClasses(const std::vector<double> &targets) {
  const auto known = static_cast<double>(trained_.size());
  const bool are_seen = trained_count_ >= kSeenWell * std::max(known, 1.0);
  int64_t news = 0;
  for (const double target : targets) {
    if (!(target >= 0) || target > kLargestClass) continue;
    ++trained_count_;
    if (!trained_.contains(static_cast<int64_t>(target))) ++news;
  }
  if (news > 0 && trained_.size() < kMostClasses) {
    for (const double target : targets) {
      if (target >= 0 && target <= kLargestClass) trained_.insert(static_cast<int64_t>(target));
    }
  }
  const double least = kJoining * static_cast<double>(targets.size());
  if (are_seen && static_cast<double>(news) > least) ++joins_;
}

std::optional<double> ChanceLevel::Get() const {
  if (count_ < kLeastTargets) return std::nullopt;
  if (classes_.empty()) return squares_ / count_ - (sum_ / count_) * (sum_ / count_);
  double entropy = 0;
  for (const auto &[name, number] : classes_) {
    const double part = static_cast<double>(number) / count_;
    entropy -= part * std::log(part);
  }
  return entropy;
}

std::optional<double> ChanceLevel::OfUniform() const {
  if (count_ < kLeastTargets || classes_.empty()) return Get();
  return std::log(static_cast<double>(classes_.size()));
}

std::optional<double> ChanceLevel::OfNothing() const {
  if (count_ < kLeastTargets) return std::nullopt;
  return classes_.empty() ? 1 + squares_ / count_ : OfUniform();
}

}  // namespace smdebug::rules
