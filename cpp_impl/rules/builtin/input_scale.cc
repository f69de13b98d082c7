// Finds inputs of a model that are far from a mean of 0 and a standard deviation of 1.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

enum Role : size_t { kInput, kTarget, kRoles };

constexpr std::string_view kTargets = R"((MSE|L1|Huber)Loss\w*_input_1$)";
// Models reach targets of about ten soon.
constexpr double kMoreForTargets = 10;
constexpr int64_t kMostElements = 65'536;
// With more axes, inputs are images, which CheckInputImages evaluates.
constexpr size_t kMostAxes = 3;
// How many times as large as any before an element is, to be a clue, after so many steps.
constexpr double kJump = 100;
constexpr int64_t kFewSteps = 5;

struct Limits {
  double most;
  double share;
  int64_t patience;
};

class InputScale final : public Rule {
 public:
  InputScale(Roles roles, const Limits &limits)
      : Rule("InputScale"), roles_(std::move(roles)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (membership.IsIn("normalised_inputs", tensor)) return {};
    const std::optional<size_t> role = roles_.Of(tensor, membership);
    const bool is_of_model = role && *role != kTarget;
    return is_of_model && IsInputOfLoss(tensor, membership) ? std::nullopt : role;
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *form = sample.RealElements();
    if (form == nullptr || !tensor::IsFloat(form->dtype) || !IsTraining(sample.Place().mode)) {
      return;
    }
    const bool is_target = sample.Role() == kTarget;
    const size_t axes = form->shape.size();
    if (axes > kMostAxes || (axes < 2 && !is_target)) return;
    const std::vector<double> elements = sample.SomeNumbers(kMostElements);
    if (elements.empty()) return;
    NoteEvaluated();
    const double most = is_target ? kMoreForTargets * limits_.most : limits_.most;
    // A few large elements, as of a corrupt sample, say nothing about the scale.
    const auto large = std::count_if(elements.begin(), elements.end(),
                                     [most](double each) { return std::fabs(each) > most; });
    const double share = 100 * static_cast<double>(large) / static_cast<double>(elements.size());
    int64_t &steps = steps_.Of(sample);
    steps = share >= limits_.share ? steps + 1 : 0;
    if (is_target) {
      if (steps == limits_.patience) NoteTargets(sample, share, most);
      return;
    }
    ObserveJump(sample, elements);
    if (steps < limits_.patience) return;
    culprits_.Offer(sample, {share, share, limits_.share, "", Level::kWorthALook}, [&] {
      return StrCat(Shortest(share), " % of the input '", sample.Tensor(), "' are beyond ",
                    Shortest(limits_.most), " or below -", Shortest(limits_.most),
                    "; normalised inputs seldom are beyond 3");
    });
  }

  void EndStep(Findings &findings) override {
    culprits_.Report(findings);
    for (Finding &clue : clues_) findings.AddClue(std::move(clue));
    clues_.clear();
  }

  std::string Missing() const override { return "inputs of the model with their elements"; }

 private:
  // The largest element of an input so far, and the number of steps.
  struct Largest {
    double value = 0;
    int64_t steps = 0;
  };

  // Models reach large targets with a suitable rate, so they are a clue, not a finding.
  void NoteTargets(const Sample &sample, double share, double most) {
    Finding clue;
    clue.worker = sample.Worker();
    clue.tensor = sample.Tensor();
    clue.check = "large_targets";
    clue.value = share;
    clue.limit = limits_.share;
    clue.message =
        StrCat(Shortest(share), " % of the targets '", sample.Tensor(), "' are beyond ",
               Shortest(most), " or below -", Shortest(most), "; outputs begin at about 1");
    clues_.push_back(std::move(clue));
  }

  // Inputs that suddenly hold an element far beyond all before are a clue, not a finding: outliers
  // are not always corrupt.
  void ObserveJump(const Sample &sample, const std::vector<double> &elements) {
    double now = 0;
    for (const double each : elements) now = std::max(now, std::fabs(each));
    Largest &largest = largest_.Of(sample);
    if (++largest.steps > kFewSteps && now > kJump * largest.value && largest.value > 0) {
      Finding clue;
      clue.worker = sample.Worker();
      clue.tensor = sample.Tensor();
      clue.check = "jump";
      clue.value = now;
      clue.limit = kJump * largest.value;
      clue.message = StrCat("an element of the input '", sample.Tensor(), "' is ", Shortest(now),
                            "; none before was beyond ", Shortest(largest.value));
      clues_.push_back(std::move(clue));
      return;
    }
    largest.value = std::max(largest.value, now);
  }

  const Roles roles_;
  const Limits limits_;
  SampleStates<int64_t> steps_;  // consecutive, at which inputs were large
  SampleStates<Largest> largest_;
  std::vector<Finding> clues_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", kModelInputs, kModelInputs,
     "expressions found in the names of the model's inputs, separated by commas"},
    {"targets_regex", kTargets, kTargets,
     "expressions found in the names of numbers that a loss compares outputs with"},
    {"most", "10", "10",
     "absolute value above which an element is large; of targets, 10 times that"},
    {"share", "5", "5", "minimum percentage of elements that are large"},
    {"patience", "5", "5", "number of consecutive steps before a finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.most, parameters.Number("most", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(limits.share, parameters.Number("share", 0, 100));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  std::vector<Selector> selectors(kRoles);
  SMD_ASSIGN_OR_RETURN(selectors[kInput], Selector::Make({}, parameters.List("tensor_regex")));
  SMD_ASSIGN_OR_RETURN(selectors[kTarget], Selector::Make({}, parameters.List("targets_regex")));
  return std::unique_ptr<Rule>(std::make_unique<InputScale>(Roles(std::move(selectors)), limits));
}

}  // namespace

const RuleSpec kInputScale = {"InputScale", "many elements of the model's inputs are far from 0",
                              kParameters, Make};

}  // namespace smdebug::rules
