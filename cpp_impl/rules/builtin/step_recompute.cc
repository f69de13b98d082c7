// Compares what a step computed with the same computed again.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/named_tensors.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kPrefix = "recomputed_";
constexpr int64_t kElements = 4096;

class StepRecompute final : public Rule {
 public:
  explicit StepRecompute(double tolerance) : Rule("StepRecompute"), tolerance_(tolerance) {}

  // The first computations have any name; only elements of those that may be repeated are kept.
  bool Wants(std::string_view tensor, const Membership &) const override {
    return tensor.starts_with(kPrefix) || tensor.ends_with("_output_0");
  }

  void Observe(const Sample &sample, Findings &) override {
    std::string key = StrCat(sample.Worker(), "\n", sample.Tensor());
    const bool is_again = sample.Tensor().starts_with(kPrefix);
    if (is_again) {
      key = StrCat(sample.Worker(), "\n", sample.Tensor().substr(kPrefix.size()));
      repeated_.insert(key);
    }
    // Until something is recorded twice, the first step that does is missed.
    if (repeated_.empty()) return;
    if (!is_again && repeated_.count(key) == 0) return;
    Computed &computed = computed_[key];
    (is_again ? computed.again : computed.first) = sample.SomeNumbers(kElements);
    if (is_again) computed.subject = {std::string(sample.Worker()), std::string(sample.Tensor())};
  }

  void EndStep(Findings &findings) override {
    for (const auto &[key, computed] : computed_) {
      if (computed.first.empty() || computed.first.size() != computed.again.size()) continue;
      NoteEvaluated();
      Evaluate(computed, findings);
    }
    computed_.clear();
  }

  std::string Missing() const override {
    return "a tensor NAME and the same computed again, recorded as recomputed_NAME, at two steps";
  }

 private:
  struct Computed {
    Subject subject;
    std::vector<double> first;
    std::vector<double> again;
  };

  void Evaluate(const Computed &computed, Findings &findings) const {
    double difference = 0;
    double size = 0;
    for (size_t i = 0; i < computed.first.size(); ++i) {
      const double a = computed.first[i];
      const double b = computed.again[i];
      size = std::max(size, std::abs(a));
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const double each = std::abs(a - b);
      difference = std::isnan(each) ? INFINITY : std::max(difference, each);
    }
    const double relative = size > 0 ? difference / size : difference;
    if (!(relative > tolerance_)) return;
    findings.Add(FindingOf(computed.subject, "", relative, tolerance_,
                           StrCat("'", computed.subject.tensor, "' differs by ", Shortest(relative),
                                  " from what the step computed first")));
  }

  const double tolerance_;
  std::set<std::string> repeated_;            // workers and names
  std::map<std::string, Computed> computed_;  // by these, of this step
};

constexpr ParameterSpec kParameters[] = {
    {"tolerance", "0", "0", "maximum difference, relative to the largest element"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double tolerance, parameters.Number("tolerance", 0, 1));
  return std::unique_ptr<Rule>(std::make_unique<StepRecompute>(tolerance));
}

}  // namespace

const RuleSpec kStepRecompute = {"StepRecompute",
                                 "a computation gives another result when it is repeated",
                                 kParameters, Make, "llm"};

}  // namespace smdebug::rules
