// Finds learning rates far above all that the training had before.
#include <algorithm>
#include <cmath>
#include <deque>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kRates = "^learning_rate/";

// A warm-up has a new largest rate at each step.
constexpr size_t kMostRises = 100'000;

struct Limits {
  double factor;
  int64_t least;
};

// Follows one learning rate.
class Rates {
 public:
  // Returns the largest rate of the first half of the steps so far, then adds one.
  double Add(double rate) {
    ++count_;
    while (!rises_.empty() && 2 * rises_.front().step <= count_) {
      earlier_ = rises_.front().rate;
      rises_.pop_front();
    }
    const bool rises = rises_.empty() ? rate > earlier_ : rate > rises_.back().rate;
    if (rises && rises_.size() < kMostRises) rises_.push_back({count_, rate});
    return earlier_;
  }
  int64_t Count() const { return count_; }

 private:
  struct Rise {
    int64_t step;
    double rate;
  };

  int64_t count_ = 0;
  double earlier_ = 0;
  std::deque<Rise> rises_;  // rates above all before them, in the second half of the steps
};

class LearningRateJump final : public Rule {
 public:
  LearningRateJump(Selector selector, const Limits &limits)
      : Rule("LearningRateJump"), selector_(std::move(selector)), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> rate = sample.Scalar();
    if (!rate || !std::isfinite(*rate) || !IsTraining(sample.Place().mode)) return;
    Rates &rates = rates_.Of(sample);
    const double earlier = rates.Add(*rate);
    if (rates.Count() <= limits_.least || !(earlier > 0)) return;
    NoteEvaluated();
    if (!(*rate > limits_.factor * earlier)) return;
    culprits_.Offer(sample, {*rate / earlier, *rate, limits_.factor * earlier}, [&] {
      return StrCat("'", sample.Tensor(), "' is ", Shortest(*rate), ", ", Shortest(*rate / earlier),
                    " times the largest of the first half of the training so far: no warm-up "
                    "rises as fast");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat("the learning rate at more than ", limits_.least, " training steps");
  }

 private:
  const Selector selector_;
  const Limits limits_;
  SampleStates<Rates> rates_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", kRates, kRates, "expressions found in the names of learning rates"},
    {"factor", "5", "5", "times the largest rate of the first half of the steps"},
    {"least", "32", "32", "number of steps before the first finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "tensor_regex", {}));
  SMD_ASSIGN_OR_RETURN(limits.factor, parameters.Number("factor", 1, 1e30));
  SMD_ASSIGN_OR_RETURN(limits.least, parameters.Whole("least", 1, 1'000'000));
  return std::unique_ptr<Rule>(std::make_unique<LearningRateJump>(std::move(selector), limits));
}

}  // namespace

const RuleSpec kLearningRateJump = {"LearningRateJump",
                                    "the learning rate is far above all that the training had",
                                    kParameters, Make, "llm"};

}  // namespace smdebug::rules
