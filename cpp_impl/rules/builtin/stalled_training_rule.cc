// Finds a training that no longer records steps.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

class StalledTrainingRule final : public Rule {
 public:
  StalledTrainingRule(double threshold, Action action)
      : Rule("StalledTrainingRule"), threshold_(threshold), action_(action) {}

  // The rule uses only the times of steps, so it needs no tensor.
  bool Wants(std::string_view, const Membership &) const override { return false; }
  void Observe(const Sample &, Findings &) override {}
  bool NeedsTimes() const override { return true; }

  void EndStep(Findings &findings) override {
    const double seconds = findings.Place().wall_seconds;
    if (std::isnan(seconds)) return;
    // A silence that NoteTime() already reported is not reported again.
    if (last_seconds_ && !is_reported_) Evaluate(seconds, findings);
    if (last_seconds_) NoteEvaluated();
    last_seconds_ = std::max(seconds, last_seconds_.value_or(seconds));
    last_step_ = findings.Place().step;
    is_reported_ = false;
  }

  void NoteTime(double wall_seconds, Findings &findings) override {
    if (!last_seconds_) return;
    NoteEvaluated();
    if (!is_reported_) is_reported_ = Evaluate(wall_seconds, findings);
  }

  std::string Missing() const override {
    return "two steps of which it is known when they were recorded";
  }

 private:
  bool Evaluate(double seconds, Findings &findings) const {
    const double silence = seconds - *last_seconds_;
    if (!(silence > threshold_)) return false;
    Finding finding;
    finding.value = silence;
    finding.limit = threshold_;
    finding.action = action_;
    finding.message = StrCat("nothing came for ", Shortest(silence), " s after step ", last_step_,
                             ", longer than the limit of ", Shortest(threshold_), " s");
    findings.Add(std::move(finding));
    return true;
  }

  const double threshold_;
  const Action action_;
  std::optional<double> last_seconds_;
  int64_t last_step_ = -1;
  bool is_reported_ = false;  // the current silence was reported
};

constexpr ParameterSpec kParameters[] = {
    {"threshold", "1800", "1800", "maximum number of seconds without a new step"},
    {"stop_training_on_fire", "False", "False", "true makes a finding request the training's end"},
    {"training_job_name_prefix", "None", "None",
     "prefix of the job's name, for programs that stop jobs by name; does not affect findings"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Positive("threshold"));
  SMD_ASSIGN_OR_RETURN(const bool stops, parameters.Switch("stop_training_on_fire"));
  return std::unique_ptr<Rule>(
      std::make_unique<StalledTrainingRule>(threshold, stops ? Action::kStop : Action::kContinue));
}

}  // namespace

const RuleSpec kStalledTrainingRule = {"StalledTrainingRule",
                                       "no step has been recorded for longer than the threshold",
                                       kParameters, Make};

}  // namespace smdebug::rules
