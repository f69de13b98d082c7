// Finds weights in 16 bits whose updates are too small to change them.
#include <algorithm>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/roles.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

enum Role : size_t { kGradient, kWeight };

constexpr int64_t kElements = 1024;
constexpr size_t kLeastElements = 128;

struct Limits {
  double share;
  double ratio;
  int64_t half;
};

// Follows which elements change in two halves of a window.  Elements whose updates round to
// nothing are the same in both halves.  With stochastic rounding, or a copy of the weights in 32
// bits, an element that stayed in the first half changes in the second about as often as others.
class Halves {
 public:
  struct Lost {
    double share;  // of elements that changed in neither half
    double ratio;  // how much seldomer those that stayed in the first half changed in the second
  };

  // Returns what a window shows at its end.
  std::optional<Lost> Add(std::vector<double> weight, int64_t half) {
    if (weight.size() != last_.size()) {
      *this = {};
      first_.assign(weight.size(), false);
      second_.assign(weight.size(), false);
      last_ = std::move(weight);
      return std::nullopt;
    }
    std::vector<bool> &changed = steps_ < half ? first_ : second_;
    for (size_t i = 0; i < weight.size(); ++i) {
      if (weight[i] != last_[i]) changed[i] = true;
    }
    last_ = std::move(weight);
    if (++steps_ < 2 * half) return std::nullopt;
    const Lost lost = Sum();
    // The second half is the first of the next window.
    first_ = std::exchange(second_, std::vector<bool>(last_.size()));
    steps_ = half;
    return lost;
  }

 private:
  Lost Sum() const {
    double neither = 0;
    double of_stayed = 0;
    double stayed = 0;
    double of_changed = 0;
    double changed = 0;
    for (size_t i = 0; i < last_.size(); ++i) {
      (first_[i] ? changed : stayed) += 1;
      if (second_[i]) (first_[i] ? of_changed : of_stayed) += 1;
      if (!first_[i] && !second_[i]) neither += 1;
    }
    const double usual = changed > 0 ? of_changed / changed : 0;
    const double ratio = stayed > 0 && usual > 0 ? of_stayed / stayed / usual : 1;
    return {neither / static_cast<double>(last_.size()), ratio};
  }

  std::vector<double> last_;
  std::vector<bool> first_;
  std::vector<bool> second_;
  int64_t steps_ = 0;
};

class LowPrecisionUpdateLost final : public Rule {
 public:
  LowPrecisionUpdateLost(Roles roles, const Limits &limits)
      : Rule("LowPrecisionUpdateLost"), roles_(std::move(roles)), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return roles_.Ask(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode)) return;
    if (roles_.Of(sample.Tensor()) == kGradient) {
      // Elements without a gradient, as of an embedding, stay as they are.
      const std::vector<double> numbers = sample.SomeNumbers(kElements);
      const auto zeros = std::count(numbers.begin(), numbers.end(), 0.0);
      gradients_.Of(sample.Worker(), WeightOfGradient(sample.Tensor())) =
          4 * static_cast<size_t>(zeros) < numbers.size();
      return;
    }
    const tensor::View *form = sample.Form();
    if (form == nullptr || !IsHalf(form->dtype)) return;
    // The gradient is that of the previous step if the weight is recorded before it.
    const bool has_gradient = gradients_.Of(sample.Worker(), sample.Tensor());
    std::vector<double> numbers = sample.SomeNumbers(kElements);
    Halves &halves = halves_.Of(sample);
    if (!has_gradient || numbers.size() < kLeastElements) {
      halves = {};
      return;
    }
    const std::optional<Halves::Lost> lost = halves.Add(std::move(numbers), limits_.half);
    if (!lost) return;
    NoteEvaluated();
    if (lost->share < limits_.share || lost->ratio > limits_.ratio) return;
    if (lost->share > culprit_.value) Keep(sample, *lost);
  }

  void EndStep(Findings &findings) override {
    if (culprit_.value > 0) findings.Add(std::exchange(culprit_, None()));
  }

  std::string Missing() const override {
    return StrCat("gradients and bfloat16 or float16 weights of ", kLeastElements,
                  " elements or more, at ", 2 * limits_.half, " steps");
  }

 private:
  static bool IsHalf(tensor::DType dtype) {
    return dtype == tensor::DType::kBFloat16 || dtype == tensor::DType::kFloat16;
  }
  static Finding None() {
    Finding none;
    none.value = 0;
    return none;
  }

  void Keep(const Sample &sample, const Halves::Lost &lost) {
    culprit_ = FindingOf({std::string(sample.Worker()), std::string(sample.Tensor())}, "",
                         lost.share, limits_.share,
                         StrCat(Shortest(100 * lost.share), " % of the elements of '",
                                sample.Tensor(), "' have not changed for ", 2 * limits_.half,
                                " steps, though they have gradients: their updates are too small "
                                "for its type"));
  }

  mutable Roles roles_;
  const Limits limits_;
  TensorStates<bool> gradients_;
  TensorStates<Halves> halves_;
  Finding culprit_ = None();
};

constexpr ParameterSpec kParameters[] = {
    {"share", "0.5", "0.5", "share of elements that do not change"},
    {"ratio", "0.1", "0.1",
     "how often elements that stayed in half of the steps change in the other half, relative to "
     "the others; above it, rounding is stochastic or the weights are copies of finer ones"},
    {"half", "16", "16", "half of the number of steps before a finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.ratio, parameters.Number("ratio", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.half, parameters.Whole("half", 1, 1'000'000));
  std::vector<Selector> selectors(2);
  SMD_ASSIGN_OR_RETURN(selectors[kGradient], Selector::Make({"gradients"}, {}));
  SMD_ASSIGN_OR_RETURN(selectors[kWeight], Selector::Make({"weights"}, {}));
  return std::unique_ptr<Rule>(
      std::make_unique<LowPrecisionUpdateLost>(Roles(std::move(selectors)), limits));
}

}  // namespace

const RuleSpec kLowPrecisionUpdateLost = {"LowPrecisionUpdateLost",
                                          "updates are too small to change a weight of 16 bits",
                                          kParameters, Make, "llm"};

}  // namespace smdebug::rules
