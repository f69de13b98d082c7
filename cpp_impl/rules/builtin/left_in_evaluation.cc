// Finds models that are trained in evaluation mode after an evaluation.
#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// The hook for PyTorch saves 1 at updates of a model in evaluation mode, else 0; and 2 if the model
// normalises by statistics that were never updated.
constexpr std::string_view kModes = "evaluation_mode/";

class LeftInEvaluation final : public Rule {
 public:
  explicit LeftInEvaluation(int64_t patience) : Rule("LeftInEvaluation"), patience_(patience) {}

  bool Wants(std::string_view tensor, const Membership &) const override {
    return tensor.starts_with(kModes);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> is_left = sample.Reduce({tensor::ReductionKind::kMax, false});
    if (!is_left || !IsTraining(sample.Place().mode)) return;
    NoteEvaluated();
    State &state = states_.Of(sample);
    // A model may be trained in evaluation mode on purpose, from the beginning.
    state.is_by_mistake |= *is_left != 1;
    state.steps = *is_left != 0 && state.is_by_mistake ? state.steps + 1 : 0;
    if (state.steps == 1) state.first_step = sample.Place().step;
    if (state.steps == 0 || state.steps < patience_) return;
    const auto steps = static_cast<double>(state.steps);
    culprits_.Offer(sample, {steps, steps, static_cast<double>(patience_)}, [&] {
      return StrCat("the model '", sample.Tensor().substr(kModes.size()),
                    "' is trained in evaluation mode since step ", state.first_step,
                    ": its dropout and normalisation do not work as in training");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return "the mode of a model with dropout or batch normalisation, which PyTorch's hook saves";
  }

 private:
  struct State {
    bool is_by_mistake = false;
    int64_t steps = 0;  // in a row, in evaluation mode
    int64_t first_step = 0;
  };

  const int64_t patience_;
  SampleStates<State> states_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"patience", "5", "5", "number of consecutive updates in evaluation mode before a finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  return std::unique_ptr<Rule>(std::make_unique<LeftInEvaluation>(patience));
}

}  // namespace

const RuleSpec kLeftInEvaluation = {"LeftInEvaluation",
                                    "a model is trained in evaluation mode after an evaluation",
                                    kParameters, Make};

}  // namespace smdebug::rules
