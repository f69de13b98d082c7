// Finds weights in 16 bits whose updates are too small to change them.
#include <algorithm>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/lost_updates.h"
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

class LowPrecisionUpdateLost final : public Rule {
 public:
  LowPrecisionUpdateLost(Roles roles, const Limits &limits)
      : Rule("LowPrecisionUpdateLost"), roles_(std::move(roles)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode)) return;
    if (sample.Role() == kGradient) return ObserveGradient(sample);
    const tensor::View *form = sample.Form();
    Weight &weight = weights_.Of(sample.Worker(), AsInGradient(sample.Tensor()), sample.Number());
    weight.is_other = form == nullptr || !IsHalf(form->dtype);
    if (weight.is_other) return;
    const std::vector<double> &numbers = sample.SomeNumbers(kElements);
    // The gradient is that of the previous step if the weight is recorded before it.
    if (!weight.has_gradient || numbers.size() < kLeastElements) {
      weight.halves = {};
      return;
    }
    const std::optional<LostUpdates::Counts> lost = weight.halves.Add(numbers, limits_.half);
    if (!lost) return;
    NoteEvaluated();
    if (lost->ShareOfNeither() < limits_.share || lost->Ratio() > limits_.ratio) return;
    if (lost->ShareOfNeither() > culprit_.value) Keep(sample, lost->ShareOfNeither());
  }

  void EndStep(Findings &findings) override {
    if (culprit_.value > 0) findings.Add(std::exchange(culprit_, None()));
  }

  std::string Missing() const override {
    return StrCat("gradients and bfloat16 or float16 weights of ", kLeastElements,
                  " elements or more, at ", 2 * limits_.half, " steps");
  }

 private:
  struct Weight {
    bool is_other = false;      // not of 16 bits
    bool has_gradient = false;  // of most elements
    LostUpdates halves;
  };

  void ObserveGradient(const Sample &sample) {
    Weight &weight =
        weights_.Of(sample.Worker(), WeightOfGradient(sample.Tensor()), sample.Number());
    if (weight.is_other) return;
    // Elements without a gradient, as of an embedding, stay as they are.
    const std::vector<double> &numbers = sample.SomeNumbers(kElements);
    const auto zeros = std::count(numbers.begin(), numbers.end(), 0.0);
    weight.has_gradient = 4 * static_cast<size_t>(zeros) < numbers.size();
  }

  static bool IsHalf(tensor::DType dtype) {
    return dtype == tensor::DType::kBFloat16 || dtype == tensor::DType::kFloat16;
  }
  static Finding None() {
    Finding none;
    none.value = 0;
    return none;
  }

  void Keep(const Sample &sample, double share) {
    culprit_ = FindingOf({std::string(sample.Worker()), std::string(sample.Tensor())}, "", share,
                         limits_.share,
                         StrCat(Shortest(100 * share), " % of the elements of '", sample.Tensor(),
                                "' have not changed for ", 2 * limits_.half,
                                " steps, though they have gradients: their updates are too small "
                                "for its type"));
  }

  const Roles roles_;
  const Limits limits_;
  TensorStates<Weight> weights_;
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
