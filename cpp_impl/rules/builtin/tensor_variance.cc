// Finds tensors whose variance is too large or too small.
#include <map>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/streaks.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

struct Limits {
  std::optional<double> most;
  std::optional<double> least;
  int64_t ddof;
  int64_t least_rank;
  int64_t patience;
  std::optional<double> equal_share;
};

// The units of a layer whose weights all are one number compute the same.
constexpr int64_t kLeastEqual = 2;

// Counts the tensors of one worker's first step.
struct FirstTensors {
  int64_t step = -1;
  int64_t count = 0;
  int64_t equal = 0;             // those that hold one number, not 0, in several rows
  std::optional<Finding> first;  // of these; until the step ends
};

class TensorVariance final : public Rule {
 public:
  TensorVariance(StreakRoles roles, const Limits &limits)
      : Rule("TensorVariance"),
        roles_(std::move(roles)),
        limits_(limits),
        streaks_(limits.patience) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    // A weight that nothing trains keeps its first values.
    return membership.IsIn("not_used", tensor) ? std::nullopt : roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (sample.Role() == kSummed) return streaks_.AddBatches(sample);
    const std::optional<double> variance = VarianceOf(sample);
    if (!variance) return;
    NoteEvaluated();
    if (limits_.equal_share && IsTraining(sample.Place().mode)) NoteFirst(sample);
    const bool is_above = limits_.most && *variance > *limits_.most;
    const bool is_below = limits_.least && *variance < *limits_.least;
    if (!streaks_.Add(sample, is_above || is_below)) return;
    if (is_above) Offer(sample, {*variance, *variance, *limits_.most, "above"});
    if (is_below) Offer(sample, {-*variance, *variance, *limits_.least, "below"});
  }

  void EndStep(Findings &findings) override {
    for (auto &[worker, tensors] : first_tensors_) {
      const std::optional<Finding> first = std::exchange(tensors.first, std::nullopt);
      const double limit = limits_.equal_share.value_or(1) * static_cast<double>(tensors.count);
      const bool are_many =
          tensors.equal >= kLeastEqual && static_cast<double>(tensors.equal) > limit;
      if (first && are_many) findings.Add(*first);
    }
    culprits_.Report(findings);
  }

  std::string Missing() const override { return "tensors with two elements or more"; }

 private:
  std::optional<double> VarianceOf(const Sample &sample) const {
    if (const tensor::View *form = sample.Form()) {
      if (static_cast<int64_t>(form->shape.size()) < limits_.least_rank) return std::nullopt;
      const tensor::Statistics *statistics = sample.GetStatistics();
      if (statistics == nullptr || statistics->count < 2) return std::nullopt;
      const auto count = static_cast<double>(statistics->count);
      return statistics->plain.variance * count / (count - static_cast<double>(limits_.ddof));
    }
    if (const auto variance = sample.Reduce({tensor::ReductionKind::kVariance})) return variance;
    const std::optional<double> std = sample.Reduce({tensor::ReductionKind::kStd});
    return std ? std::optional<double>(*std * *std) : std::nullopt;
  }

  void NoteFirst(const Sample &sample) {
    FirstTensors &tensors = first_tensors_[std::string(sample.Worker())];
    if (tensors.step < 0) tensors.step = sample.Place().step;
    const tensor::View *form = sample.Form();
    if (tensors.step != sample.Place().step || form == nullptr) return;
    ++tensors.count;
    const auto [least, most] = std::pair(sample.Reduce({tensor::ReductionKind::kMin}),
                                         sample.Reduce({tensor::ReductionKind::kMax}));
    const bool has_rows = form->shape[0] > 1 && form->ElementCount() > form->shape[0];
    if (!has_rows || !least || !most || *least != *most || *least == 0) return;
    if (++tensors.equal > 1) return;
    tensors.first =
        FindingOf({std::string(sample.Worker()), std::string(sample.Tensor())}, "below", 0,
                  limits_.least.value_or(0),
                  StrCat("all elements of '", sample.Tensor(), "' begin as ", Shortest(*least),
                         ": the units of such layers compute the same"));
  }

  void Offer(const Sample &sample, const Offence &offence) {
    culprits_.Offer(sample, offence, [&] {
      return StrCat("the variance of '", sample.Tensor(), "' is ", Shortest(offence.value), ", ",
                    offence.check, " the limit of ", Shortest(offence.limit));
    });
  }

  const StreakRoles roles_;
  const Limits limits_;
  Streaks streaks_;
  std::map<std::string, FirstTensors> first_tensors_;  // by worker
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "", "weights", kCollectionNamesMeaning},
    {"tensor_regex", "", "", kTensorRegexMeaning},
    {"max_threshold", "", "100", "maximum variance"},
    {"min_threshold", "", "1e-12", "minimum variance"},
    {"ddof", "0", "0", "subtracted from the count that the variance divides by: 0 or 1"},
    {"least_rank", "0", "2", "minimum number of axes of a checked tensor"},
    {"patience", "1", "5", "number of consecutive steps before a finding"},
    {"equal_share", "None", "0.5",
     "maximum fraction of the tensors that may begin with all elements equal, and not 0"},
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.most, parameters.OptionalNumber("max_threshold"));
  SMD_ASSIGN_OR_RETURN(limits.least, parameters.OptionalNumber("min_threshold"));
  SMD_ASSIGN_OR_RETURN(limits.ddof, parameters.Whole("ddof", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.least_rank, parameters.Whole("least_rank", 0, tensor::kMaxRank));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.equal_share, parameters.OptionalNumber("equal_share"));
  if (!limits.most && !limits.least) {
    return parameters.Refuse("give max_threshold or min_threshold, or both");
  }
  SMD_ASSIGN_OR_RETURN(StreakRoles roles, StreakRoles::Make(parameters, limits.patience));
  return std::unique_ptr<Rule>(std::make_unique<TensorVariance>(std::move(roles), limits));
}

}  // namespace

const RuleSpec kTensorVariance = {
    "TensorVariance", "a tensor's variance is above or below a threshold", kParameters, Make};

}  // namespace smdebug::rules
