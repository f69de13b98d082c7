// Finds tensors that are mostly or entirely zero.
#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/streaks.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// A reduction in this list is 0 if and only if all elements are 0.
constexpr tensor::Reduction kZeroWithElements[] = {
    {tensor::ReductionKind::kMax, true}, {tensor::ReductionKind::kL1},
    {tensor::ReductionKind::kL2},        {tensor::ReductionKind::kMean, true},
    {tensor::ReductionKind::kSum, true},
};

class AllZero final : public Rule {
 public:
  AllZero(StreakRoles roles, double threshold, int64_t patience, int64_t least)
      : Rule("AllZero"),
        roles_(std::move(roles)),
        threshold_(threshold),
        least_(least),
        streaks_(patience) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    // Weights that nothing trains keep their first values.
    const bool is_kept = membership.IsIn("frozen", tensor) || membership.IsIn("not_used", tensor);
    return is_kept ? std::nullopt : roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (sample.Role() == kSummed) return streaks_.AddBatches(sample);
    const tensor::View *form = sample.Form();
    if (form != nullptr && form->ElementCount() < least_) return;
    const std::optional<double> zeros = ShareOfZeros(sample);
    if (!zeros) return;
    NoteEvaluated();
    if (!streaks_.Add(sample, *zeros >= threshold_)) return;
    culprits_.Offer(sample, {*zeros, *zeros, threshold_}, [&] {
      return StrCat(Shortest(*zeros), " % of '", sample.Tensor(), "' are zero; the limit is ",
                    Shortest(threshold_), " %");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override { return "tensors with elements"; }

 private:
  // Returns the percentage of zeros, or nothing if it is unknown.
  std::optional<double> ShareOfZeros(const Sample &sample) const {
    if (const tensor::Statistics *statistics = sample.GetStatistics()) {
      if (statistics->count == 0) return std::nullopt;
      return 100 * static_cast<double>(statistics->zero_count) /
             static_cast<double>(statistics->count);
    }
    for (const tensor::Reduction reduction : kZeroWithElements) {
      const std::optional<double> saved = sample.Reduce(reduction);
      if (!saved) continue;
      if (*saved == 0) return 100;
      // The reduction shows that some elements are not 0, but not how many.
      return threshold_ == 100 ? std::optional<double>(0) : std::nullopt;
    }
    return std::nullopt;
  }

  const StreakRoles roles_;
  const double threshold_;
  const int64_t least_;  // of elements
  Streaks streaks_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "", "weights", kCollectionNamesMeaning},
    {"tensor_regex", "", kModelInputs, kTensorRegexMeaning},
    {"threshold", "100", "100", "minimum percentage of zeros for a finding"},
    {"patience", "1", "3", "number of consecutive steps before a finding"},
    {"least", "1", "2",
     "minimum number of elements of a tensor to check: counters and gates have one"},
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Number("threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(const int64_t least, parameters.Whole("least", 1, int64_t{1} << 40));
  SMD_ASSIGN_OR_RETURN(StreakRoles roles, StreakRoles::Make(parameters, patience));
  return std::unique_ptr<Rule>(
      std::make_unique<AllZero>(std::move(roles), threshold, patience, least));
}

}  // namespace

const RuleSpec kAllZero = {"AllZero", "the percentage of zeros in a tensor reaches the threshold",
                           kParameters, Make};

}  // namespace smdebug::rules
