// Finds experts that get no tokens, and routers that prefer some experts.
#include <algorithm>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kLoads = R"((?i)(router|expert)[^/]*(load|count)|tokens_per_expert)";
constexpr std::string_view kExperts = R"(^gradient.*[Ee]xperts?[._]\d+[._])";
constexpr int64_t kMostElements = 1 << 20;

// Returns the number of tokens of each expert: the last axis counts the experts.
std::vector<double> LoadsOf(const Sample &sample) {
  const tensor::View *form = sample.Form();
  if (form == nullptr || form->shape.empty() || form->ElementCount() > kMostElements) return {};
  const auto experts = static_cast<size_t>(form->shape.back());
  const std::vector<double> numbers = sample.Numbers();
  if (experts < 2 || numbers.empty()) return {};
  std::vector<double> loads(experts);
  for (size_t i = 0; i < numbers.size(); ++i) loads[i % experts] += numbers[i];
  return loads;
}

class RouterImbalance final : public Rule {
 public:
  RouterImbalance(Selector selector, double limit, int64_t patience)
      : Rule("RouterImbalance"),
        selector_(std::move(selector)),
        limit_(limit),
        patience_(patience) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode)) return;
    const std::vector<double> loads = LoadsOf(sample);
    double sum = 0;
    for (const double each : loads) sum += each;
    if (!(sum > 0)) return;
    NoteEvaluated();
    const auto experts = static_cast<double>(loads.size());
    const double violation = *std::max_element(loads.begin(), loads.end()) * experts / sum - 1;
    // One expert of E can have at most E times the mean.
    const double limit = std::min(limit_, kMostOfRange * (experts - 1));
    int64_t &steps = steps_.Of(sample);
    steps = violation > limit ? steps + 1 : 0;
    if (steps < patience_) return;
    culprits_.Offer(sample, {violation, violation, limit}, [&] {
      return StrCat("by '", sample.Tensor(), "' an expert has had ", Shortest(violation + 1),
                    " times the mean load, and one too many for ", steps, " steps");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override { return "the numbers of tokens of two experts or more"; }

 private:
  static constexpr double kMostOfRange = 0.8;

  const Selector selector_;
  const double limit_;
  const int64_t patience_;
  SampleStates<int64_t> steps_;  // in a row
  Culprits culprits_;
};

enum Role : size_t { kLoad, kGradient };

class DeadExpert final : public Rule {
 public:
  DeadExpert(Roles roles, int64_t patience)
      : Rule("DeadExpert"), roles_(std::move(roles)), patience_(patience) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (!IsTraining(sample.Place().mode)) return;
    if (sample.Role() == kLoad) return ObserveLoad(sample);
    const std::optional<double> norm = sample.Reduce({tensor::ReductionKind::kL2, false});
    if (!norm) return;
    const std::string_view name = sample.Tensor();
    const std::string_view number = NumberIn(name);
    if (number.empty()) return;
    const auto begin = static_cast<size_t>(number.data() - name.data());
    const std::string_view rest = name.substr(begin + number.size());
    Layer &layer = layers_[StrCat(sample.Worker(), "\n", name.substr(0, begin), "\n", rest)];
    Expert &expert = layer[std::string(number)];
    expert.subject = {std::string(sample.Worker()), std::string(name)};
    expert.has_gradient = *norm != 0;
  }

  void EndStep(Findings &findings) override {
    culprits_.Report(findings);
    const Expert *culprit = nullptr;
    for (auto &[name, layer] : layers_) {
      const bool is_training = std::any_of(
          layer.begin(), layer.end(), [](const auto &each) { return each.second.has_gradient; });
      for (auto &[number, expert] : layer) {
        if (is_training && layer.size() > 1) {
          NoteEvaluated();
          expert.steps = expert.has_gradient ? 0 : expert.steps + 1;
          const bool is_dead = expert.steps >= patience_;
          if (is_dead && (culprit == nullptr || expert.steps > culprit->steps)) culprit = &expert;
        }
        expert.has_gradient = false;
      }
    }
    if (culprit == nullptr) return;
    findings.Add(FindingOf(culprit->subject, "gradient", static_cast<double>(culprit->steps),
                           static_cast<double>(patience_),
                           StrCat("'", culprit->subject.tensor, "' has been exactly zero for ",
                                  culprit->steps, " steps, that of other experts has not")));
  }

  std::string Missing() const override {
    return "the numbers of tokens of experts, or the gradients of two experts";
  }

 private:
  struct Expert {
    Subject subject;
    bool has_gradient = false;
    int64_t steps = 0;  // in a row without a gradient
  };
  using Layer = std::map<std::string, Expert>;  // by number

  // Returns the number that kExperts matches, as a part of the name: "3" in "experts.3.w1".
  static std::string_view NumberIn(std::string_view name) {
    constexpr std::string_view kExpert = "xpert";
    for (size_t at = name.find(kExpert); at != name.npos; at = name.find(kExpert, at + 1)) {
      std::string_view rest = name.substr(at + kExpert.size());
      if (rest.starts_with('s')) rest.remove_prefix(1);
      if (!rest.starts_with('.') && !rest.starts_with('_')) continue;
      rest.remove_prefix(1);
      const size_t end = rest.find_first_not_of("0123456789");
      const bool ends = end != rest.npos && end > 0 && (rest[end] == '.' || rest[end] == '_');
      if (ends) return rest.substr(0, end);
    }
    return {};
  }

  void ObserveLoad(const Sample &sample) {
    const std::vector<double> loads = LoadsOf(sample);
    const bool is_used = std::any_of(loads.begin(), loads.end(), [](double n) { return n > 0; });
    if (!is_used) return;
    NoteEvaluated();
    std::vector<int64_t> &steps = unused_.Of(sample);
    steps.resize(loads.size());
    for (size_t i = 0; i < loads.size(); ++i) {
      steps[i] = loads[i] == 0 ? steps[i] + 1 : 0;
      const auto count = static_cast<double>(steps[i]);
      if (steps[i] < patience_) continue;
      culprits_.Offer(sample, {count, count, static_cast<double>(patience_), "load"}, [&] {
        return StrCat("by '", sample.Tensor(), "' expert ", i, " has had no token for ", steps[i],
                      " steps");
      });
    }
  }

  const Roles roles_;
  const int64_t patience_;
  SampleStates<std::vector<int64_t>> unused_;
  std::map<std::string, Layer> layers_;
  Culprits culprits_;
};

constexpr ParameterSpec kLoadRegex = {
    "load_regex", kLoads, kLoads,
    "expressions found in the names of tensors with the number of tokens of each expert"};

constexpr ParameterSpec kImbalanceParameters[] = {
    kLoadRegex,
    {"limit", "2", "2", "largest load relative to the mean load, less 1 (MaxVio)"},
    {"patience", "30", "30", "number of consecutive steps before a finding"},
};

constexpr ParameterSpec kDeadParameters[] = {
    kLoadRegex,
    {"patience", "25", "25", "number of consecutive steps without a token before a finding"},
};

Result<std::unique_ptr<Rule>> MakeImbalance(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "load_regex", {}));
  SMD_ASSIGN_OR_RETURN(const double limit, parameters.Positive("limit"));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  return std::unique_ptr<Rule>(
      std::make_unique<RouterImbalance>(std::move(selector), limit, patience));
}

Result<std::unique_ptr<Rule>> MakeDead(const Parameters &parameters) {
  std::vector<Selector> selectors(2);
  SMD_ASSIGN_OR_RETURN(selectors[kLoad], TensorsByRole(parameters, "load_regex", {}));
  SMD_ASSIGN_OR_RETURN(selectors[kGradient], Selector::Make({}, {std::string(kExperts)}));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  return std::unique_ptr<Rule>(std::make_unique<DeadExpert>(Roles(std::move(selectors)), patience));
}

}  // namespace

const RuleSpec kRouterImbalance = {"RouterImbalance", "a router prefers one expert",
                                   kImbalanceParameters, MakeImbalance, "llm"};
const RuleSpec kDeadExpert = {"DeadExpert", "an expert gets no tokens or no gradient",
                              kDeadParameters, MakeDead, "llm"};

}  // namespace smdebug::rules
