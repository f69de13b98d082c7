// Finds the first tensor that holds NaN or infinity.
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/masks.h"
#include "rules/support/named_tensors.h"
#include "rules/support/overflows.h"
#include "rules/support/sample_states.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// A norm that grew by a smaller factor over the remembered steps counts as constant.
constexpr double kLeastGrowth = 2;

// By step; all are finite.  Few, and of very many tensors: an empty deque takes 576 bytes.
using Norms = std::vector<std::pair<int64_t, double>>;

struct NonFinite {
  int64_t nan = 0;
  int64_t inf = 0;
  int64_t count = 0;

  int64_t Total() const { return nan + inf; }
};

std::string StepsText(const Norms &norms) {
  std::string values;
  std::string steps;
  for (const auto &[step, norm] : norms) {
    values += StrCat(values.empty() ? "" : ", ", Shortest(norm));
    steps += StrCat(steps.empty() ? "" : ", ", step);
  }
  return StrCat(values, norms.size() == 1 ? " at step " : " at steps ", steps);
}

// Returns the index from which each norm is larger than the previous one.  Returns nothing if the
// norm grew by less than kLeastGrowth.
std::optional<size_t> GrowthOf(const Norms &norms) {
  if (norms.size() < 2) return {};
  size_t begin = norms.size() - 1;
  while (begin > 0 && norms[begin].second > norms[begin - 1].second) --begin;
  if (norms.back().second < kLeastGrowth * norms[begin].second) return {};
  return begin;
}

std::string HistoryText(const Norms &norms) {
  if (norms.empty()) return "; it has no value at an earlier step";
  const auto growth = GrowthOf(norms);
  return StrCat("; its norm was ", StepsText(norms),
                growth ? StrCat(" and began to grow at step ", norms[*growth].first)
                       : std::string(" and did not grow"));
}

class FirstNonFinite final : public Rule {
 public:
  FirstNonFinite(Selector selector, Selector inputs, int64_t window, bool loss_scaling)
      : Rule("FirstNonFinite"),
        selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        window_(static_cast<size_t>(window)),
        overflows_(loss_scaling) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (!IsAmong(selector_, tensor, membership)) return {};
    return inputs_.Matches(tensor, membership) ? kInput : kOther;
  }

  void Observe(const Sample &estimate, Findings &) override {
    // Of many inputs, the few that are NaN are perhaps not among the elements of an estimate.
    const bool may_be_cause = estimate.Role() == kInput && is_broken_;
    const Sample &sample = may_be_cause ? estimate.Whole() : estimate;
    const std::optional<NonFinite> found = Count(sample);
    if (!found) return;
    NoteEvaluated();
    if (found->Total() == 0) {
      Remember(sample);
    } else {
      is_broken_ = true;
      NoteNonFinite(sample, estimate.Role() == kInput, *found);
    }
  }

  void EndStep(Findings &findings) override {
    masks_.EndStep();
    for (Finding &each : overflows_.EndStep(findings.Place())) Report(std::move(each));
    for (Finding &each : pending_) {
      const auto input = of_inputs_.find(each.worker);
      const bool is_of_input =
          input != of_inputs_.end() && input->second.place.step == each.place.step;
      findings.Add(is_of_input ? std::move(input->second) : std::move(each));
    }
    is_broken_ = false;
    pending_.clear();
    of_inputs_.clear();
  }

 private:
  enum Role : size_t { kOther, kInput };

  // The inputs of a model may be recorded after those of its layers, and targets after a loss. They
  // come before them.
  void NoteNonFinite(const Sample &sample, bool is_input, const NonFinite &found) {
    const bool is_reported = reported_.find(sample.Worker()) != reported_.end();
    if (is_reported && (!is_input || pending_.empty())) return;
    const bool is_first = norms_.Of(sample).empty();
    std::optional<Finding> known = masks_.Note(sample, is_first, FindingOn(sample, found));
    if (!known) return;
    if (is_input) of_inputs_.try_emplace(std::string(sample.Worker()), *known);
    if (!is_reported) Report(overflows_.Note(sample, *std::move(known)));
  }

  // If the elements were not saved, the non-finite reductions count as one element.
  static std::optional<NonFinite> Count(const Sample &sample) {
    if (const tensor::Statistics *statistics = sample.GetStatistics()) {
      return NonFinite{statistics->nan_count, statistics->inf_count, statistics->count};
    }
    std::optional<NonFinite> found;
    for (const auto kind : {tensor::ReductionKind::kMin, tensor::ReductionKind::kMax,
                            tensor::ReductionKind::kMean, tensor::ReductionKind::kL2}) {
      for (const bool absolute : {false, true}) {
        const std::optional<double> value = sample.Reduce({kind, absolute});
        if (!value) continue;
        if (sample.HasOnlyFiniteReductions()) return NonFinite();
        if (!found) found.emplace();
        if (std::isnan(*value)) found->nan = 1;
        if (std::isinf(*value)) found->inf = 1;
      }
    }
    return found;
  }

  void Remember(const Sample &sample) {
    const auto norm = sample.Reduce({tensor::ReductionKind::kL2, false});
    if (!norm || !std::isfinite(*norm)) return;
    Norms &norms = norms_.Of(sample);
    if (norms.size() == window_) norms.erase(norms.begin());
    norms.emplace_back(sample.Place().step, *norm);
  }

  void Report(std::optional<Finding> finding) {
    if (!finding || !reported_.insert(finding->worker).second) return;
    pending_.push_back(*std::move(finding));
  }

  Finding FindingOn(const Sample &sample, const NonFinite &found) {
    Finding finding;
    finding.place = sample.Place();
    finding.worker = sample.Worker();
    finding.tensor = sample.Tensor();
    finding.check = found.nan > 0 ? "nan" : "inf";
    finding.value = static_cast<double>(found.Total());
    finding.limit = 0;
    const std::string what = found.count == 0 ? std::string("a reduction that is no finite number")
                                              : StrCat(found.nan, " NaN and ", found.inf,
                                                       " infinite of ", found.count, " elements");
    finding.message =
        StrCat("'", sample.Tensor(), "' is the first tensor that is not finite, with ", what,
               HistoryText(norms_.Of(sample)));
    return finding;
  }

  const Selector selector_;
  const Selector inputs_;  // of models, and targets of losses
  const size_t window_;
  Masks masks_;
  Overflows overflows_;
  std::set<std::string, std::less<>> reported_;            // workers
  bool is_broken_ = false;                                 // this step has what is not finite
  std::vector<Finding> pending_;                           // of this step
  std::map<std::string, Finding, std::less<>> of_inputs_;  // the first of each worker's this step
  SampleStates<Norms> norms_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "None", "None", kCollectionNamesMeaning},
    {"tensor_regex", "None", "None", kTensorRegexMeaning},
    {"window", "8", "8", "number of steps whose norms are kept for each tensor"},
    kLossScaling,
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const int64_t window, parameters.Whole("window", 1, 1'000));
  SMD_ASSIGN_OR_RETURN(const bool loss_scaling, parameters.Switch("loss_scaling"));
  SMD_ASSIGN_OR_RETURN(Selector selector, NamedTensors(parameters));
  SMD_ASSIGN_OR_RETURN(Selector inputs,
                       Selector::Make({}, {std::string(kModelInputs), std::string(kLossTargets)}));
  return std::unique_ptr<Rule>(std::make_unique<FirstNonFinite>(
      std::move(selector), std::move(inputs), window, loss_scaling));
}

}  // namespace

const RuleSpec kFirstNonFinite = {
    "FirstNonFinite", "a tensor has NaN or infinite elements; reports the first such tensor",
    kParameters, Make};

}  // namespace smdebug::rules
