// Finds models whose layers follow each other without an activation between them.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/roles.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

enum Role : size_t { kInput, kOutput, kWeight, kRoles };

constexpr std::string_view kInputs = R"(^(?!.*Loss).*_input_0$)";
constexpr std::string_view kOutputs = R"(^(?!.*Loss).*_output_0$)";

constexpr size_t kMostLayers = 64;
constexpr int64_t kCompared = 256;  // elements
// A training whose weights are not recorded is followed no longer.
constexpr int64_t kMostSteps = 1000;

// Numbers of a tensor that tell it from others, and the length of its rows.
struct Rows {
  std::vector<double> some;
  int64_t length = 0;

  bool operator==(const Rows &) const = default;
};

struct Layer {
  std::string name;  // as in the names of its tensors
  Rows input;
  Rows output;
  bool is_linear = false;
};

// What one worker's model does in a step.
struct Model {
  std::map<std::string, Layer> layers;                         // by plain path
  std::map<std::string, std::pair<int64_t, int64_t>> weights;  // outputs and inputs of a layer
  bool has_others = false;  // layers that are no matrices, or too many
  int64_t steps = 0;        // consecutive ones that show it
};

// Returns a path or a name without the difference between "Net_fc.1" and "Net.fc.1".
std::string Plain(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '.', '_');
  return plain;
}

bool IsOfPath(const std::string &weight, const std::string &path) {
  return weight == path || weight.ends_with("_" + path);
}

class MissingActivation final : public Rule {
 public:
  MissingActivation(Roles roles, int64_t patience)
      : Rule("MissingActivation"), roles_(std::move(roles)), patience_(patience) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *const elements = sample.RealElements();
    if (!IsTraining(sample.Place().mode) || elements == nullptr) return;
    Model &model = models_[std::string(sample.Worker())];
    if (sample.Role() == kWeight) return NoteWeight(sample, *elements, &model);
    if (elements->shape.size() != 2 || !tensor::IsFloat(elements->dtype)) return;
    const bool is_input = sample.Role() == kInput;
    const std::string_view name = sample.Tensor();
    const std::string_view path = name.substr(0, name.rfind(is_input ? "_input" : "_output"));
    Layer &layer = model.layers[Plain(path)];
    layer.name = path;
    (is_input ? layer.input : layer.output) = {sample.SomeNumbers(kCompared), elements->shape[1]};
    model.has_others |= model.layers.size() > kMostLayers;
  }

  void EndStep(Findings &findings) override {
    for (auto &[worker, model] : models_) {
      if (!model.weights.empty()) Evaluate(worker, &model, findings);
      model.layers.clear();
      model.weights.clear();
      model.has_others = false;
    }
    if (++all_steps_ >= kMostSteps) NoteFinished();
  }

  std::string Missing() const override {
    return "inputs and outputs of layers with their elements, and weights";
  }

 private:
  void Evaluate(const std::string &worker, Model *model, Findings &findings) {
    NoteEvaluated();
    const std::vector<std::string> chain = ChainOf(model);
    model->steps = chain.empty() ? 0 : model->steps + 1;
    if (!chain.empty() && model->steps < patience_) return;
    if (!chain.empty()) Report(worker, chain, findings);
    NoteFinished();
  }

  static void NoteWeight(const Sample &sample, const tensor::View &elements, Model *model) {
    if (elements.shape.size() < 2) return;  // biases and normalisations keep a line a line
    std::string_view name = sample.Tensor();
    constexpr std::string_view kEnd = ".weight";
    model->has_others |=
        elements.shape.size() > 2 || !name.ends_with(kEnd) || model->weights.size() >= kMostLayers;
    if (model->has_others) return;
    name.remove_suffix(kEnd.size());
    model->weights[Plain(name)] = {elements.shape[0], elements.shape[1]};
  }

  // Returns the names of all layers in their order if each takes what the one before returns, and
  // none is so narrow that this is the purpose.
  static std::vector<std::string> ChainOf(Model *marked) {
    if (marked->has_others || !MarkLinear(marked)) return {};
    Model &model = *marked;
    const auto next_of = [&](const Rows &output) {
      return std::find_if(model.layers.begin(), model.layers.end(), [&](const auto &each) {
        return each.second.is_linear && each.second.input == output;
      });
    };
    std::string first;
    int64_t firsts = 0;
    for (const auto &[path, layer] : model.layers) {
      const bool follows =
          std::any_of(model.layers.begin(), model.layers.end(), [&](const auto &each) {
            return each.second.is_linear && each.second.output == layer.input;
          });
      if (!layer.is_linear || follows) continue;
      first = path;
      ++firsts;
    }
    if (firsts != 1) return {};
    std::vector<std::string> chain = {model.layers[first].name};
    int64_t narrowest = -1;
    int64_t last = 0;
    for (auto next = next_of(model.layers[first].output); next != model.layers.end();
         next = next_of(next->second.output)) {
      if (chain.size() >= model.weights.size()) return {};
      const int64_t width = next->second.input.length;
      narrowest = narrowest < 0 ? width : std::min(narrowest, width);
      chain.push_back(next->second.name);
      last = next->second.output.length;
    }
    const int64_t ends = std::min(model.layers[first].input.length, last);
    const bool is_whole = chain.size() > 1 && chain.size() == model.weights.size();
    return is_whole && narrowest >= ends ? chain : std::vector<std::string>();
  }

  // Finds the layer of each weight.  Returns false if one has none, or a layer of another kind.
  static bool MarkLinear(Model *model) {
    for (const auto &[weight, form] : model->weights) {
      Layer *longest = nullptr;
      size_t length = 0;
      for (auto &[path, layer] : model->layers) {
        if (!IsOfPath(weight, path) || path.size() < length) continue;
        longest = &layer;
        length = path.size();
      }
      const bool is_linear = longest != nullptr && !longest->is_linear &&
                             longest->output.length == form.first &&
                             longest->input.length == form.second;
      if (!is_linear) return false;
      longest->is_linear = true;
    }
    return true;
  }

  static void Report(const std::string &worker, const std::vector<std::string> &chain,
                     Findings &findings) {
    const auto layers = static_cast<double>(chain.size());
    findings.Add(FindingOf(
        {worker, chain.front() + "_output_0"}, "", layers, 1,
        StrCat("all ", chain.size(), " layers, from '", chain.front(), "' to '", chain.back(),
               "', take what the layer before returns as it is: without an activation between them "
               "they can do no more than one layer")));
  }

  const Roles roles_;
  const int64_t patience_;
  std::map<std::string, Model> models_;  // by worker
  int64_t all_steps_ = 0;
};

constexpr ParameterSpec kParameters[] = {
    {"inputs_regex", kInputs, kInputs, "expressions found in the names of inputs of layers"},
    {"outputs_regex", kOutputs, kOutputs, "expressions found in the names of outputs of layers"},
    {"patience", "3", "3", "number of consecutive training steps before the finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, 1'000'000));
  std::vector<Selector> selectors(kRoles);
  SMD_ASSIGN_OR_RETURN(selectors[kInput], Selector::Make({}, parameters.List("inputs_regex")));
  SMD_ASSIGN_OR_RETURN(selectors[kOutput], Selector::Make({}, parameters.List("outputs_regex")));
  SMD_ASSIGN_OR_RETURN(selectors[kWeight], Selector::Make({"weights"}, {}));
  return std::unique_ptr<Rule>(
      std::make_unique<MissingActivation>(Roles(std::move(selectors)), patience));
}

}  // namespace

const RuleSpec kMissingActivation = {"MissingActivation",
                                     "layers follow each other without an activation between them",
                                     kParameters, Make};

}  // namespace smdebug::rules
