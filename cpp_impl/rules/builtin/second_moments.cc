// Finds second moments of Adam that are too small for its epsilon, or that no longer follow the
// gradients.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/optimizer_state.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr int64_t kElements = 1024;
constexpr size_t kMostParameters = 100'000;

struct EpsilonLimits {
  double epsilon;
  double beta2;
  double share;
  int64_t patience;
};

class AdamEpsDominates final : public Rule {
 public:
  AdamEpsDominates(Selector squares, Selector rare, const EpsilonLimits &limits)
      : Rule("AdamEpsDominates"),
        squares_(std::move(squares)),
        rare_(std::move(rare)),
        limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return squares_.Matches(tensor, membership) && !rare_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode) || !IsOfLayer(sample)) return;
    State &state = states_.Of(sample);
    // With a smaller beta2, or more steps than were seen, the moments are smaller than this.
    const double correction = 1 - std::pow(limits_.beta2, static_cast<double>(++state.count));
    double small = 0;
    double used = 0;
    for (const double each : sample.SomeNumbers(kElements)) {
      if (!(each > 0)) continue;
      ++used;
      if (std::sqrt(each / correction) < limits_.epsilon) ++small;
    }
    if (used == 0) return;
    NoteEvaluated();
    const double share = small / used;
    state.steps = share >= limits_.share ? state.steps + 1 : 0;
    if (state.steps < limits_.patience) return;
    culprits_.Offer(sample, {share, share, limits_.share}, [&] {
      return StrCat(Shortest(100 * share), " % of the second moments of '",
                    WeightOfState(sample.Tensor()), "' have a root below epsilon, ",
                    Shortest(limits_.epsilon),
                    ": Adam moves these elements less than half as far as it would without it");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return "exp_avg_sq of the collection optimizer_state, of a layer";
  }

 private:
  struct State {
    int64_t count = 0;
    int64_t steps = 0;  // in a row
  };

  const Selector squares_;
  const Selector rare_;
  const EpsilonLimits limits_;
  SampleStates<State> states_;
  Culprits culprits_;
};

struct StaleLimits {
  double ratio;
  double rise;
  int64_t patience;
};

enum Role : size_t { kGradient, kSquares };

double MeanOf(const std::vector<double> &numbers, bool is_squared) {
  double sum = 0;
  for (const double each : numbers) sum += is_squared ? each * each : each;
  return numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
}

// Follows the mean square of a gradient while the second moments fall.
class Decline {
 public:
  // Returns how far the gradient has risen from its least if the moments were stale and still
  // fall, else 0.
  double Add(double gradient, double squares, const StaleLimits &limits) {
    const bool falls = squares < last_squares_;
    last_squares_ = squares;
    if (!falls) {
      *this = {};
      last_squares_ = squares;
      return 0;
    }
    last_.push_back(gradient);
    if (last_.size() > kSmoothed) last_.pop_front();
    if (last_.size() < kSmoothed) return 0;
    double mean = 0;
    for (const double each : last_) mean += each / kSmoothed;
    stale_steps_ += mean < limits.ratio * squares ? 1 : 0;
    least_ = least_ > 0 ? std::min(least_, mean) : mean;
    const bool was_stale = stale_steps_ >= limits.patience;
    return was_stale && least_ > 0 ? mean / least_ : 0;
  }

 private:
  static constexpr size_t kSmoothed = 3;

  double last_squares_ = 0;
  std::deque<double> last_;
  int64_t stale_steps_ = 0;
  double least_ = 0;
};

class SecondMomentStale final : public Rule {
 public:
  SecondMomentStale(Roles roles, Selector rare, const StaleLimits &limits)
      : Rule("SecondMomentStale"),
        roles_(std::move(roles)),
        rare_(std::move(rare)),
        limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (rare_.Matches(tensor, membership)) return {};
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode) || !IsOfLayer(sample)) return;
    const bool is_gradient = sample.Role() == kGradient;
    const std::string_view weight =
        is_gradient ? WeightOfGradient(sample.Tensor()) : WeightOfState(sample.Tensor());
    Parameter &parameter = ParameterOf(sample, weight);
    const double mean = MeanOf(sample.SomeNumbers(kElements), is_gradient);
    (is_gradient ? parameter.gradient : parameter.squares) = mean;
    if (is_gradient) {
      parameter.subject.worker = sample.Worker();
      parameter.subject.tensor = sample.Tensor();
    }
  }

  void EndStep(Findings &findings) override {
    const Parameter *lost = nullptr;
    const Parameter *culprit = nullptr;
    double most = limits_.rise;
    for (auto &[name, parameter] : parameters_) {
      const std::optional<double> gradient = std::exchange(parameter.gradient, std::nullopt);
      const std::optional<double> squares = std::exchange(parameter.squares, std::nullopt);
      if (!gradient || !squares || !std::isfinite(*gradient) || !(*squares > 0)) continue;
      NoteEvaluated();
      parameter.kept = parameter.last_squares > 0 ? *squares / parameter.last_squares : 1;
      parameter.last_squares = *squares;
      if (parameter.kept < (lost == nullptr ? kLeastKept : lost->kept)) lost = &parameter;
      const double rise = parameter.decline.Add(*gradient, *squares, limits_);
      if (rise >= most) {
        most = rise;
        culprit = &parameter;
      }
    }
    if (lost != nullptr) ReportLost(*lost, findings);
    if (culprit == nullptr) return;
    findings.Add(
        FindingOf(culprit->subject, "rising", most, limits_.rise,
                  StrCat("the mean square of '", culprit->subject.tensor, "' is ", Shortest(most),
                         " times its least, while Adam's second moments still fall: its "
                         "updates grow with it")));
  }

  std::string Missing() const override {
    return "gradients and exp_avg_sq of the collection optimizer_state, of a layer";
  }

 private:
  struct Parameter {
    Subject subject;
    std::optional<double> gradient;  // the mean square, of this step
    std::optional<double> squares;   // the mean second moment, of this step
    double last_squares = 0;
    double kept = 1;  // by this step, of last_squares
    Decline decline;
  };

  // A step keeps beta2 of the second moments, and no optimiser has a beta2 below this.
  static constexpr double kLeastKept = 0.5;

  Parameter &ParameterOf(const Sample &sample, std::string_view weight) {
    Parameter *&known = known_.Of(sample);
    if (known != nullptr) return *known;
    if (parameters_.size() >= kMostParameters) {
      parameters_.clear();
      known_.Clear();
    }
    return *(known_.Of(sample) = &parameters_[StrCat(sample.Worker(), "\n", weight)]);
  }

  static void ReportLost(const Parameter &parameter, Findings &findings) {
    findings.Add(FindingOf(parameter.subject, "lost", parameter.kept, kLeastKept,
                           StrCat("Adam's second moments of '", parameter.subject.tensor, "' are ",
                                  Shortest(parameter.kept),
                                  " times those of the previous step, less than a step of Adam can "
                                  "leave: they were reset, and updates are too large")));
  }

  const Roles roles_;
  const Selector rare_;
  const StaleLimits limits_;
  std::map<std::string, Parameter> parameters_;  // by worker and weight
  SampleStates<Parameter *> known_;              // of parameters_, by tensor
};

constexpr ParameterSpec kEpsilonParameters[] = {
    {"epsilon", "1e-8", "1e-8", "epsilon of the optimiser"},
    {"beta2", "0.999", "0.999", "largest beta2 that the optimiser may have"},
    {"share", "0.5", "0.5", "share of second moments whose root is below epsilon"},
    {"patience", "5", "5", "number of consecutive steps before a finding"},
    kRareRegex,
};

constexpr ParameterSpec kStaleParameters[] = {
    {"ratio", "0.1", "0.1",
     "second moments are stale if the mean square of the gradient, relative "
     "to them, is smaller"},
    {"rise", "10", "10", "rise of the mean square from its least"},
    {"patience", "20", "20", "number of stale steps"},
    kRareRegex,
};

Result<std::unique_ptr<Rule>> MakeEpsilon(const Parameters &parameters) {
  EpsilonLimits limits{};
  SMD_ASSIGN_OR_RETURN(limits.epsilon, parameters.Positive("epsilon"));
  SMD_ASSIGN_OR_RETURN(limits.beta2, parameters.Number("beta2", 0, 0.9999999));
  SMD_ASSIGN_OR_RETURN(limits.share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(Selector squares, Selector::Make({}, {std::string(kSquaresOfAdam)}));
  SMD_ASSIGN_OR_RETURN(Selector rare, Selector::Make({}, parameters.List("rare_regex")));
  return std::unique_ptr<Rule>(
      std::make_unique<AdamEpsDominates>(std::move(squares), std::move(rare), limits));
}

Result<std::unique_ptr<Rule>> MakeStale(const Parameters &parameters) {
  StaleLimits limits{};
  SMD_ASSIGN_OR_RETURN(limits.ratio, parameters.Positive("ratio"));
  SMD_ASSIGN_OR_RETURN(limits.rise, parameters.Number("rise", 1, 1e30));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  std::vector<Selector> selectors(2);
  SMD_ASSIGN_OR_RETURN(selectors[kGradient], Selector::Make({"gradients"}, {}));
  SMD_ASSIGN_OR_RETURN(selectors[kSquares], Selector::Make({}, {std::string(kSquaresOfAdam)}));
  SMD_ASSIGN_OR_RETURN(Selector rare, Selector::Make({}, parameters.List("rare_regex")));
  return std::unique_ptr<Rule>(
      std::make_unique<SecondMomentStale>(Roles(std::move(selectors)), std::move(rare), limits));
}

}  // namespace

const RuleSpec kAdamEpsDominates = {"AdamEpsDominates",
                                    "Adam's epsilon is larger than the gradients",
                                    kEpsilonParameters, MakeEpsilon, "llm"};
const RuleSpec kSecondMomentStale = {"SecondMomentStale",
                                     "gradients rise while Adam's second moments still fall",
                                     kStaleParameters, MakeStale, "llm"};

}  // namespace smdebug::rules
