// Finds gradients that the second moments of Adam have not caught up with.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/optimizer_state.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

enum Role : size_t { kGradient, kSquares, kStep };

constexpr int64_t kElements = 4096;
constexpr size_t kMostParameters = 100'000;

struct Limits {
  double rms;
  int64_t warm_up;
  int64_t patience;
};

struct Parameter {
  std::string worker;
  std::string gradient_name;
  std::vector<double> gradient;      // of this step, empty if there is none
  std::vector<double> squares;       // of this step
  std::vector<double> last_squares;  // of the previous step
  double steps = 0;                  // of the optimiser; 0: not recorded
  int64_t count = 0;                 // steps that were observed
  int64_t large_steps = 0;           // in a row
  bool is_of_layer = false;
};

// Returns 1 - beta2, which the update of the squares shows exactly, or nothing if the gradient did
// not enter them as it is.
std::optional<double> RateOf(const Parameter &parameter) {
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < parameter.gradient.size(); ++i) {
    const double g = parameter.gradient[i];
    const double before = parameter.last_squares[i];
    products += (parameter.squares[i] - before) * (g * g - before);
    squares += (g * g - before) * (g * g - before);
  }
  const double rate = products / squares;
  if (!(rate > 1e-6) || !(rate < 1)) return std::nullopt;
  return rate;
}

class UpdateRms final : public Rule {
 public:
  UpdateRms(Roles roles, Selector rare, const Limits &limits)
      : Rule("UpdateRMS"), roles_(std::move(roles)), rare_(std::move(rare)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (rare_.Matches(tensor, membership)) return {};
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode)) return;
    const size_t role = sample.Role();
    const std::string_view name = sample.Tensor();
    if (role == kGradient) {
      Parameter &parameter = ParameterOf(sample, WeightOfGradient(name));
      parameter.worker = sample.Worker();
      parameter.gradient_name = name;
      parameter.is_of_layer = IsOfLayer(sample);
      parameter.gradient = sample.SomeNumbers(kElements);
    } else {
      Parameter &parameter = ParameterOf(sample, WeightOfState(name));
      if (role == kSquares) {
        parameter.squares = sample.SomeNumbers(kElements);
      } else {
        parameter.steps = sample.Scalar().value_or(0);
      }
    }
  }

  void EndStep(Findings &findings) override {
    const Parameter *culprit = nullptr;
    double most = limits_.rms;
    for (auto &[name, parameter] : parameters_) {
      const double rms = RmsOf(parameter);
      parameter.large_steps = rms >= limits_.rms ? parameter.large_steps + 1 : 0;
      if (rms < most || parameter.large_steps < limits_.patience) continue;
      most = rms;
      culprit = &parameter;
    }
    if (culprit != nullptr) {
      findings.Add(FindingOf({culprit->worker, culprit->gradient_name}, "", most, limits_.rms,
                             StrCat("'", culprit->gradient_name, "' is ", Shortest(most),
                                    " times what Adam's second moments expect, by the root of the "
                                    "mean square: its update is so much too large")));
    }
    for (auto &[name, parameter] : parameters_) {
      parameter.last_squares.swap(parameter.squares);
      parameter.squares.clear();
      parameter.gradient.clear();
    }
  }

  std::string Missing() const override {
    return StrCat("gradients and exp_avg_sq of the collection optimizer_state after ",
                  limits_.warm_up, " steps");
  }

 private:
  Parameter &ParameterOf(const Sample &sample, std::string_view weight) {
    Parameter *&known = known_.Of(sample);
    if (known != nullptr) return *known;
    if (parameters_.size() >= kMostParameters) {
      parameters_.clear();
      known_.Clear();
    }
    return *(known_.Of(sample) = &parameters_[StrCat(sample.Worker(), "\n", weight)]);
  }

  // Returns 0 if it cannot be told.
  double RmsOf(Parameter &parameter) {
    const size_t size = parameter.gradient.size();
    if (size == 0 || parameter.squares.size() != size || parameter.last_squares.size() != size) {
      return 0;
    }
    const auto steps = std::max(static_cast<double>(++parameter.count), parameter.steps);
    if (!parameter.is_of_layer || steps <= static_cast<double>(limits_.warm_up)) return 0;
    const std::optional<double> rate = RateOf(parameter);
    if (!rate) return 0;
    NoteEvaluated();
    const double correction = 1 - std::pow(1 - *rate, steps);
    double sum = 0;
    for (size_t i = 0; i < size; ++i) {
      const double g = parameter.gradient[i];
      const double squares = std::max(parameter.squares[i] / correction, kEpsilon * kEpsilon);
      sum += g * g / squares;
    }
    return std::sqrt(sum / static_cast<double>(size));
  }

  static constexpr double kEpsilon = 1e-8;

  const Roles roles_;
  const Selector rare_;
  const Limits limits_;
  std::map<std::string, Parameter> parameters_;  // by worker and weight
  SampleStates<Parameter *> known_;              // of parameters_, by tensor
};

constexpr ParameterSpec kParameters[] = {
    {"rms", "2.3", "2.3", "root mean square of the gradient over the root of its second moment"},
    {"warm_up", "50", "50", "number of first steps of the optimiser without a finding"},
    {"patience", "2", "2", "number of consecutive steps before a finding"},
    kRareRegex,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.rms, parameters.Positive("rms"));
  SMD_ASSIGN_OR_RETURN(limits.warm_up, parameters.Whole("warm_up", 0, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  std::vector<Selector> selectors(3);
  SMD_ASSIGN_OR_RETURN(selectors[kGradient], Selector::Make({"gradients"}, {}));
  SMD_ASSIGN_OR_RETURN(selectors[kSquares], Selector::Make({}, {std::string(kSquaresOfAdam)}));
  SMD_ASSIGN_OR_RETURN(selectors[kStep], Selector::Make({}, {std::string(kStepOfAdam)}));
  SMD_ASSIGN_OR_RETURN(Selector rare, Selector::Make({}, parameters.List("rare_regex")));
  return std::unique_ptr<Rule>(
      std::make_unique<UpdateRms>(Roles(std::move(selectors)), std::move(rare), limits));
}

}  // namespace

const RuleSpec kUpdateRms = {"UpdateRMS",
                             "gradients are far larger than Adam's second moments expect",
                             kParameters, Make, "llm"};

}  // namespace smdebug::rules
