// Finds rectified units whose output is always zero.
#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/neuron_activity.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr ActiveRange kPositive = {0, kNoNumber};

class DeadRelu final : public Rule {
 public:
  DeadRelu(Selector selector, const ActivityOptions &options, double sure)
      : Rule("DeadRelu"), selector_(std::move(selector)), activity_(options), sure_(sure) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> dead = activity_.InactiveShare(sample, kPositive);
    if (!dead) return;
    NoteEvaluated();
    const ActivityOptions &options = activity_.Options();
    if (!(*dead > options.threshold_layer)) return;
    const Level level = *dead > sure_ ? Level::kFinding : Level::kWorthALook;
    culprits_.Offer(sample, {*dead, *dead, options.threshold_layer, "", level}, [&] {
      return StrCat(Shortest(*dead), " % of the neurons of '", sample.Tensor(),
                    "' are dead: positive in less than ", Shortest(options.threshold_inactivity),
                    " % of the samples");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override { return "outputs of rectified units with their elements"; }

 private:
  const Selector selector_;
  NeuronActivity activity_;
  const double sure_;  // in percent
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", kReluOutputs, kReluOutputs,
     "expressions found in the names of outputs of rectified units, separated by commas; the "
     "default matches names of MXNet, PyTorch and Keras, and adds the collection relu_output"},
    {"threshold_inactivity", "1.0", "1.0", kInactivityMeaning},
    kThresholdLayer,
    {"sure_percent", "0", "90",
     "up to this percentage of a layer it is worth a look: what is left may be enough"},
    kWindow,
    kLeastSamples,
    kUnit,
    kChannelAxis,
    kActivitySample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const ActivityOptions options, ActivityOptions::From(parameters));
  SMD_ASSIGN_OR_RETURN(const double sure, parameters.Number("sure_percent", 0, 100));
  SMD_ASSIGN_OR_RETURN(Selector selector,
                       TensorsByRole(parameters, "tensor_regex", {"relu_output"}));
  return std::unique_ptr<Rule>(std::make_unique<DeadRelu>(std::move(selector), options, sure));
}

}  // namespace

const RuleSpec kDeadRelu = {
    "DeadRelu", "the percentage of dead neurons in a rectified layer exceeds the threshold",
    kParameters, Make};

}  // namespace smdebug::rules
