// Finds tensors that differ between two jobs.
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/source.h"
#include "rules/support/compare.h"
#include "rules/support/named_tensors.h"
#include "rules/support/selector.h"

namespace smdebug::rules {
namespace {

class SimilarAcrossRuns final : public Rule {
 public:
  SimilarAcrossRuns(Selector selector, std::vector<std::string> others, Tolerance tolerance)
      : Rule("SimilarAcrossRuns"),
        checks_all_(selector.IsEmpty()),
        selector_(std::move(selector)),
        others_(std::move(others)),
        tolerance_(tolerance) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    if (checks_all_) return true;
    const bool is_wanted = selector_.Matches(tensor, membership);
    if (is_wanted) wanted_.emplace(tensor);
    return is_wanted;
  }

  std::vector<std::string> OtherJobs() const override { return others_; }
  void CompareWith(const std::shared_ptr<Source> &job) override { other_ = job; }

  void Observe(const Sample &sample, Findings &) override {
    if (other_ == nullptr || has_differed_) return;
    if (copied_step_ != sample.Place().step) CopyStep(sample.Place().step);
    const Sample *other = copy_ ? copy_->Find(sample.Worker(), sample.Tensor()) : nullptr;
    if (other == nullptr || !AreComparable(sample, *other)) return;
    NoteEvaluated();
    const std::optional<Difference> difference = Compare(sample, *other, tolerance_);
    if (difference) Tell(sample, *difference);
  }

  void EndStep(Findings &findings) override {
    if (has_differed_) findings.Add(std::move(finding_));
    has_differed_ = false;
    copy_.reset();
    copied_step_ = -1;
  }

  std::string Missing() const override {
    if (!failure_.empty()) return StrCat("another trial that can be read: ", failure_);
    return "a tensor that both trials have at the same step";
  }

 private:
  void CopyStep(int64_t step) {
    copied_step_ = step;
    copy_.reset();
    const auto next = other_->NextStep(step);  // refreshes the source before it is held
    const StandingStill standing_still(*other_);
    if (!next.IsOk()) failure_ = next.GetStatus().Message();
    if (!next.IsOk() || *next != step) return;
    auto copy = StepCopy::Of(*other_, step, [this](std::string_view tensor) {
      return checks_all_ || wanted_.count(tensor) > 0;
    });
    if (copy.IsOk()) {
      copy_ = *std::move(copy);
    } else {
      failure_ = copy.GetStatus().Message();
    }
  }

  // Reports only the first tensor of a step in record order: later differences may follow from it.
  void Tell(const Sample &sample, const Difference &difference) {
    has_differed_ = true;
    finding_ = {};
    finding_.worker = sample.Worker();
    finding_.tensor = sample.Tensor();
    finding_.check = difference.check;
    finding_.value = difference.value;
    finding_.limit = difference.limit;
    finding_.message =
        StrCat("'", sample.Tensor(), "' differs from the other trial: ", difference.message);
  }

  const bool checks_all_;
  const Selector selector_;
  mutable std::set<std::string, std::less<>> wanted_;  // tensors of this job
  const std::vector<std::string> others_;
  const Tolerance tolerance_;
  std::shared_ptr<Source> other_;
  std::optional<StepCopy> copy_;
  int64_t copied_step_ = -1;
  bool has_differed_ = false;  // at this step
  Finding finding_;
  std::string failure_;
};

constexpr ParameterSpec kParameters[] = {
    {"other_trials", "None", "None", "path of the trial to compare with"},
    {"collection_names", "None", "None", kCollectionNamesMeaning},
    {"tensor_regex", "None", "None", kTensorRegexMeaning},
    {"rtol", "1e-5", "1e-5", "maximum difference, relative to the other trial's number"},
    {"atol", "1e-8", "1e-8", "maximum absolute difference, in addition to rtol"},
    {"bitwise", "False", "False", "true compares bytes"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Tolerance tolerance;
  SMD_ASSIGN_OR_RETURN(tolerance.rtol, parameters.Number("rtol", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(tolerance.atol, parameters.Number("atol", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(tolerance.bitwise, parameters.Switch("bitwise"));
  SMD_ASSIGN_OR_RETURN(Selector selector, NamedTensors(parameters));
  std::vector<std::string> others = parameters.List("other_trials");
  if (others.size() != 1) {
    return parameters
        .Refuse(others.empty() ? "other_trials is missing: the path of the trial to compare with"
                               : "other_trials names several trials; it compares with one")
        .With("key", "other_trials");
  }
  return std::unique_ptr<Rule>(
      std::make_unique<SimilarAcrossRuns>(std::move(selector), std::move(others), tolerance));
}

}  // namespace

const RuleSpec kSimilarAcrossRuns = {
    "SimilarAcrossRuns", "a tensor differs from the same tensor of another trial at the same step",
    kParameters, Make};

}  // namespace smdebug::rules
