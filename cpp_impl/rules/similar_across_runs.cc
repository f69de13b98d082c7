// Tensors that differ between two jobs.
#include "base/strings.h"
#include "rules/builtin.h"
#include "rules/compare.h"
#include "rules/named_tensors.h"
#include "rules/roles.h"
#include "rules/source.h"

namespace smdebug::rules {
namespace {

class SimilarAcrossRuns final : public Detector {
 public:
  SimilarAcrossRuns(Selector selector, std::vector<std::string> others, Tolerance tolerance)
      : Detector("SimilarAcrossRuns"),
        looks_at_all_(selector.IsEmpty()),
        roles_({std::move(selector)}),
        others_(std::move(others)),
        tolerance_(tolerance) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return looks_at_all_ || roles_.Ask(tensor, membership);
  }

  std::vector<std::string> OtherJobs() const override { return others_; }
  void CompareWith(const std::shared_ptr<Source> &job) override { other_ = job; }

  void Observe(const Sample &sample, Findings &) override {
    if (other_ == nullptr || has_differed_) return;
    if (copied_step_ != sample.Place().step) CopyStep(sample.Place().step);
    const Sample *other = copy_ ? copy_->Find(sample.Worker(), sample.Tensor()) : nullptr;
    if (other == nullptr || !AreComparable(sample, *other)) return;
    NoteJudged();
    const std::optional<Difference> difference = Compare(sample, *other, tolerance_);
    if (difference) Tell(sample, *difference);
  }

  void EndStep(Findings &findings) override {
    if (has_differed_) findings.Add(std::move(verdict_));
    has_differed_ = false;
    copy_.reset();
    copied_step_ = -1;
  }

  std::string Missing() const override {
    if (other_ == nullptr) return "another trial (other_trials)";
    if (!failure_.empty()) return StrCat("another trial that can be read: ", failure_);
    return "a tensor that both trials have at the same step";
  }

 private:
  void CopyStep(int64_t step) {
    copied_step_ = step;
    copy_.reset();
    const auto next = other_->NextStep(step);  // what is new is looked for before it stands still
    const StandingStill standing_still(*other_);
    if (!next.IsOk()) failure_ = next.GetStatus().Message();
    if (!next.IsOk() || *next != step) return;
    auto copy = StepCopy::Of(*other_, step, [this](std::string_view tensor) {
      return looks_at_all_ || roles_.Of(tensor).has_value();
    });
    if (copy.IsOk()) {
      copy_ = *std::move(copy);
    } else {
      failure_ = copy.GetStatus().Message();
    }
  }

  // Of a step, the tensor that was recorded first is told: what follows may come of it.
  void Tell(const Sample &sample, const Difference &difference) {
    has_differed_ = true;
    verdict_ = {};
    verdict_.worker = sample.Worker();
    verdict_.tensor = sample.Tensor();
    verdict_.label = difference.label;
    verdict_.value = difference.value;
    verdict_.limit = difference.limit;
    verdict_.message =
        StrCat("'", sample.Tensor(), "' is not as in the other trial: ", difference.message);
  }

  const bool looks_at_all_;
  mutable Roles roles_;
  const std::vector<std::string> others_;
  const Tolerance tolerance_;
  std::shared_ptr<Source> other_;
  std::optional<StepCopy> copy_;
  int64_t copied_step_ = -1;
  bool has_differed_ = false;  // at this step
  Verdict verdict_;
  std::string failure_;
};

constexpr ParameterSpec kParameters[] = {
    {"other_trials", "None", "None", "the path of the trial to compare with"},
    {"collection_names", "None", "None", kCollectionNamesMeaning},
    {"tensor_regex", "None", "None", kTensorRegexMeaning},
    {"rtol", "1e-5", "1e-5", "which part of the other's number two may differ by"},
    {"atol", "1e-8", "1e-8", "what two numbers may differ by beyond that"},
    {"bitwise", "False", "False", "whether the bytes must be the same"},
};

Result<std::unique_ptr<Detector>> Make(const Parameters &parameters) {
  Tolerance tolerance;
  SMD_ASSIGN_OR_RETURN(tolerance.rtol, parameters.Number("rtol", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(tolerance.atol, parameters.Number("atol", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(tolerance.bitwise, parameters.Switch("bitwise"));
  SMD_ASSIGN_OR_RETURN(Selector selector, NamedTensors(parameters));
  std::vector<std::string> others = parameters.List("other_trials");
  if (others.size() > 1) {
    return parameters.Refuse("other_trials names several trials; it compares with one")
        .With("key", "other_trials");
  }
  return std::unique_ptr<Detector>(
      std::make_unique<SimilarAcrossRuns>(std::move(selector), std::move(others), tolerance));
}

}  // namespace

const RuleSpec kSimilarAcrossRuns = {"SimilarAcrossRuns",
                                     "a tensor differs from that of another trial at the same step",
                                     kParameters, Make};

}  // namespace smdebug::rules
