// Gradients too small to train with.
#include <algorithm>

#include "base/strings.h"
#include "rules/builtin.h"
#include "rules/selector.h"
#include "rules/words.h"

namespace smdebug::rules {
namespace {

constexpr tensor::Reduction kMeanOfAbsolute{tensor::ReductionKind::kMean, true};

class VanishingGradient final : public Detector {
 public:
  VanishingGradient(Selector selector, double threshold)
      : Detector("VanishingGradient"), selector_(std::move(selector)), threshold_(threshold) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> mean = sample.Reduce(kMeanOfAbsolute);
    if (!mean) return;
    NoteJudged();
    if (!(*mean < threshold_) || (culprit_ && *mean >= culprit_->value)) return;
    culprit_.emplace();
    culprit_->worker = sample.Worker();
    culprit_->tensor = sample.Tensor();
    culprit_->value = *mean;
    culprit_->limit = threshold_;
  }

  void EndStep(Findings &findings) override {
    if (!culprit_) return;
    culprit_->message =
        StrCat("the gradient '", culprit_->tensor, "' has a mean absolute value of ",
               Shortest(culprit_->value), ", below the limit of ", Shortest(threshold_));
    findings.Add(*std::exchange(culprit_, std::nullopt));
  }

 private:
  const Selector selector_;
  const double threshold_;
  std::optional<Verdict> culprit_;  // of the step: the smallest gradient
};

constexpr ParameterSpec kParameters[] = {
    {"threshold", "1e-7", "1e-7", "the least mean of a gradient's absolute values"},
};

Result<std::unique_ptr<Detector>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Positive("threshold"));
  SMD_ASSIGN_OR_RETURN(Selector selector, Selector::Make({"gradients"}, {}));
  return std::unique_ptr<Detector>(
      std::make_unique<VanishingGradient>(std::move(selector), threshold));
}

}  // namespace

const RuleSpec kVanishingGradient = {"VanishingGradient",
                                     "a gradient's mean absolute value is below the threshold",
                                     kParameters, Make};

}  // namespace smdebug::rules
