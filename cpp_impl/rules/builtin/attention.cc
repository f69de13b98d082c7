// Finds attention whose logits grow without bound or that looks at one position only.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/channels.h"
#include "rules/support/culprits.h"
#include "rules/support/falling.h"
#include "rules/support/loss_names.h"
#include "rules/support/named_tensors.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kLogits = R"((?i)att(n|ention)[^/]*(logit|score)[^/]*_output_\d+$)";
constexpr std::string_view kProbabilities = R"((?i)att(n|ention)[^/]*prob[^/]*_output_\d+$)";
constexpr int64_t kMostRows = 256;
constexpr int64_t kLeastPositions = 4;

class AttentionLogitGrowth final : public Rule {
 public:
  AttentionLogitGrowth(Selector selector, double limit)
      : Rule("AttentionLogitGrowth"), selector_(std::move(selector)), limit_(limit) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    // A mask makes the least logits as small as can be, so only the largest tells.
    const std::optional<double> largest = sample.Reduce({tensor::ReductionKind::kMax, false});
    if (!largest) return;
    NoteEvaluated();
    if (!(*largest > limit_)) return;
    culprits_.Offer(sample, {*largest, *largest, limit_}, [&] {
      return StrCat("the largest logit of '", sample.Tensor(), "' is ", Shortest(*largest));
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override { return "the logits of an attention"; }

 private:
  const Selector selector_;
  const double limit_;
  Culprits culprits_;
};

// Returns the mean entropy of rows of probabilities, relative to that of equal probabilities, or
// nothing without elements.
std::optional<double> EntropyOf(const tensor::View &view) {
  const int64_t positions = view.shape.empty() ? 0 : view.shape.back();
  if (positions < kLeastPositions || view.ElementCount() == 0) return std::nullopt;
  const int64_t rows = view.ElementCount() / positions;
  // Takes rows of all positions: the first one, for instance, can attend only to itself.
  const int64_t queries = view.shape.size() < 2 ? 1 : view.shape[view.shape.size() - 2];
  int64_t step = std::max<int64_t>(1, rows / kMostRows);
  while (std::gcd(step, queries) != 1) ++step;
  const CompactElements elements(view);
  const auto size = static_cast<int64_t>(tensor::DTypeSize(view.dtype));
  double sum = 0;
  int64_t count = 0;
  for (int64_t row = 0; row < rows; row += step, ++count) {
    ForEachNumbers(elements.Data() + row * positions * size, positions, view.dtype,
                   [&](const auto *numbers, size_t n) {
                     for (size_t i = 0; i < n; ++i) {
                       const double p = numbers[i];
                       if (p > 0) sum -= p * std::log(p);
                     }
                   });
  }
  return sum / static_cast<double>(count) / std::log(static_cast<double>(positions));
}

// An attention whose entropy becomes small after the loss has fallen, and while it does not rise,
// has learned to look at one position, as one that copies a token does.
class AttentionEntropyCollapse final : public Rule {
 public:
  AttentionEntropyCollapse(Selector probabilities, Selector losses, double least, int64_t patience)
      : Rule("AttentionEntropyCollapse"),
        roles_({std::move(probabilities), std::move(losses)}),
        least_(least),
        patience_(patience) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode)) return;
    if (sample.Role() == kLoss) {
      if (const auto loss = LossOf(sample)) losses_.Of(sample.Worker(), "").Add(*loss);
      return;
    }
    const tensor::View *elements = sample.RealElements();
    if (elements == nullptr) return;
    const std::optional<double> entropy = EntropyOf(*elements);
    if (!entropy) return;
    NoteEvaluated();
    auto &[steps, is_learned] = states_.Of(sample);
    steps = *entropy < least_ ? steps + 1 : 0;
    if (steps == 0) is_learned = false;
    if (steps == patience_) is_learned = losses_.Of(sample.Worker(), "").HaveLearned();
    if (steps < patience_ || is_learned) return;
    culprits_.Offer(sample, {-*entropy, *entropy, least_}, [&] {
      return StrCat("the mean entropy of '", sample.Tensor(), "' is ", Shortest(*entropy),
                    " of that of equal probabilities, and has been too small for ", steps,
                    " steps: each position attends to one other");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return "the probabilities of an attention over four positions or more, with elements";
  }

 private:
  enum Role : size_t { kProbability, kLoss };
  struct State {
    int64_t steps = 0;  // in a row
    bool is_learned = false;
  };
  // The losses of a worker.
  class Losses {
   public:
    void Add(double loss) {
      last_.Add(loss);
      have_fallen_ = have_fallen_ || last_.Falls();
    }
    bool HaveLearned() const { return have_fallen_ && !last_.Rises(); }

   private:
    Falling last_;
    bool have_fallen_ = false;
  };

  const Roles roles_;
  const double least_;
  const int64_t patience_;
  SampleStates<State> states_;
  TensorStates<Losses> losses_;  // by worker
  Culprits culprits_;
};

constexpr ParameterSpec kLogitParameters[] = {
    {"tensor_regex", kLogits, kLogits, "expressions found in the names of logits of attention"},
    {"limit", "100", "100", "largest logit"},
};

constexpr ParameterSpec kEntropyParameters[] = {
    {"tensor_regex", kProbabilities, kProbabilities,
     "expressions found in the names of probabilities of attention"},
    {"least", "0.05", "0.05", "least mean entropy, relative to that of equal probabilities"},
    {"patience", "10", "10",
     "number of consecutive steps before a finding, unless the loss has fallen before and does not "
     "rise then"},
};

Result<std::unique_ptr<Rule>> MakeLogits(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "tensor_regex", {}));
  SMD_ASSIGN_OR_RETURN(const double limit, parameters.Positive("limit"));
  return std::unique_ptr<Rule>(std::make_unique<AttentionLogitGrowth>(std::move(selector), limit));
}

Result<std::unique_ptr<Rule>> MakeEntropy(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "tensor_regex", {}));
  SMD_ASSIGN_OR_RETURN(const double least, parameters.Number("least", 0, 1));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(Selector losses, Selector::Make({"losses"}, {std::string(kLossNames)}));
  return std::unique_ptr<Rule>(std::make_unique<AttentionEntropyCollapse>(
      std::move(selector), std::move(losses), least, patience));
}

}  // namespace

const RuleSpec kAttentionLogitGrowth = {"AttentionLogitGrowth",
                                        "a logit of an attention is above 100", kLogitParameters,
                                        MakeLogits, "llm"};
const RuleSpec kAttentionEntropyCollapse = {"AttentionEntropyCollapse",
                                            "an attention looks at one position only",
                                            kEntropyParameters, MakeEntropy, "llm"};

}  // namespace smdebug::rules
