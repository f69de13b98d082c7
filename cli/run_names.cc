#include "run_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "curve_names.h"

namespace smdebug::cli {
namespace {

constexpr std::array<std::string_view, 4> kWrappers = {
    "module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};
constexpr std::array<std::string_view, 5> kParameterNames = {"weight", "bias", "kernel", "gamma",
                                                             "embedding"};

struct Prefixed {
  std::string_view prefix;
  RunKind kind;
};
constexpr std::array<Prefixed, 6> kPrefixes = {{{"gradient/", RunKind::kGradient},
                                                {"update/", RunKind::kUpdate},
                                                {"optimizer_state/", RunKind::kState},
                                                {"learning_rate/", RunKind::kSetting},
                                                {"weight_decay/", RunKind::kSetting},
                                                {"scalar/", RunKind::kSetting}}};

bool IsOfParameter(RunKind kind) {
  return kind == RunKind::kParameter || kind == RunKind::kGradient || kind == RunKind::kUpdate ||
         kind == RunKind::kState;
}

// A name in its parts: "gradient/" "Net_fc.weight", or "fc" "_output_" "0".
struct Parsed {
  RunKind kind = RunKind::kActivation;
  std::string prefix;
  std::string base;
  std::string direction;  // "_input_", "_output_" or ""
  std::string number;
};

std::string Parent(const std::string &path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

// Splits "fc_output_0" and "fc_input_mask_0".  A module may have such a name: the last direction
// is that of the tensor.
bool SplitDirection(const std::string &name, Parsed *parsed) {
  size_t at = std::string::npos;
  size_t after = 0;
  for (const std::string_view direction : {"_output_", "_input_"}) {
    const size_t found = name.rfind(direction);
    if (found == std::string::npos || (at != std::string::npos && found < at)) continue;
    at = found;
    after = found + direction.size();
  }
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  if (at == std::string::npos || digits == name.size() || digits < after) return false;
  parsed->base = name.substr(0, at);
  parsed->direction = name.substr(at, digits - at);
  parsed->number = name.substr(digits);
  return true;
}

Parsed Parse(const std::string &name, const std::set<std::string> &with_gradient) {
  Parsed parsed;
  parsed.base = name;
  for (const Prefixed &each : kPrefixes) {
    if (!name.starts_with(each.prefix)) continue;
    parsed.kind = each.kind;
    parsed.prefix = each.prefix;
    parsed.base = name.substr(each.prefix.size());
    return parsed;
  }
  if (SplitDirection(name, &parsed)) {
    parsed.kind = IsNameOfLoss(parsed.base) ? RunKind::kLoss : RunKind::kActivation;
    return parsed;
  }
  const std::string last = name.substr(name.find_last_of("._/") + 1);
  const bool is_parameter =
      with_gradient.contains(name) ||
      std::find(kParameterNames.begin(), kParameterNames.end(), last) != kParameterNames.end();
  parsed.kind = is_parameter         ? RunKind::kParameter
                : IsNameOfLoss(name) ? RunKind::kLoss
                                     : RunKind::kActivation;
  return parsed;
}

// Returns "Net_" if all parameters are called so, otherwise "".
std::string ClassPrefix(const std::vector<Parsed> &all) {
  std::optional<std::string> common;
  for (const Parsed &each : all) {
    if (!IsOfParameter(each.kind)) continue;
    const size_t end = each.base.find_first_of("_./");
    const bool has_prefix = end != std::string::npos && each.base[end] == '_' && end > 0;
    const std::string prefix = has_prefix ? each.base.substr(0, end + 1) : "";
    if (common && *common != prefix) return "";
    common = prefix;
  }
  return common.value_or("");
}

// Removes the wrapper at the end of the path of a module that another module wraps, such as
// "module".  Returns false if there is none.
bool RemoveLastWrapper(std::string *path) {
  std::string rest = WithoutWrappers(*path + ".");
  if (rest.size() > path->size()) return false;
  if (!rest.empty()) rest.pop_back();
  *path = std::move(rest);
  return true;
}

// `is_wrapped` is set for inputs and outputs of a module that another one wraps.
RunTensor TensorOf(const Parsed &parsed, const std::string &name, const std::string &class_prefix,
                   bool *is_wrapped) {
  RunTensor tensor;
  tensor.kind = parsed.kind;
  tensor.recorded = {name};
  tensor.is_input = parsed.direction.starts_with("_input_");
  std::string base = parsed.base;
  if (base.starts_with(class_prefix)) base = base.substr(class_prefix.size());
  if (base + "_" == class_prefix) base = "";
  base = WithoutWrappers(base);
  if (tensor.kind == RunKind::kSetting) base = parsed.base;
  *is_wrapped = !parsed.direction.empty() && RemoveLastWrapper(&base);
  tensor.key = parsed.prefix + base + parsed.direction;
  if (!IsOfParameter(parsed.kind)) {
    tensor.module = base;
    return tensor;
  }
  tensor.parameter = parsed.kind == RunKind::kState ? base.substr(0, base.rfind('/')) : base;
  tensor.module = Parent(tensor.parameter);
  if (tensor.module.empty()) tensor.module = tensor.parameter;
  return tensor;
}

// Returns the keys of all tensors but those of wrapped modules.
std::set<std::string> KeysOfWrappers(const std::vector<Parsed> &parsed,
                                     const std::vector<std::string> &recorded,
                                     const std::string &class_prefix) {
  std::set<std::string> keys;
  for (size_t i = 0; i < recorded.size(); ++i) {
    bool is_wrapped = false;
    const RunTensor tensor = TensorOf(parsed[i], recorded[i], class_prefix, &is_wrapped);
    if (!is_wrapped) keys.insert(tensor.key);
  }
  return keys;
}

// Returns the position of each gradient in the forward pass: of its module's outputs if they were
// all recorded, otherwise of its parameter.
std::map<std::string, size_t> ForwardPositions(const std::vector<RunTensor> &tensors) {
  std::map<std::string, size_t> modules;
  std::map<std::string, size_t> parameters;
  std::map<std::string, size_t> gradients;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const RunTensor &each = tensors[i];
    if (each.kind == RunKind::kActivation) modules[each.module] = i;
    if (each.kind == RunKind::kParameter) parameters[each.parameter] = i;
  }
  const auto has_module = [&](const RunTensor &each) {
    return each.kind != RunKind::kGradient || modules.contains(each.module);
  };
  const bool all_have = std::all_of(tensors.begin(), tensors.end(), has_module);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const RunTensor &each = tensors[i];
    if (each.kind != RunKind::kGradient) continue;
    const auto parameter = parameters.find(each.parameter);
    gradients[each.key] = all_have                        ? modules[each.module]
                          : parameter != parameters.end() ? parameter->second
                                                          : i;
  }
  return gradients;
}

}  // namespace

std::string WithoutWrappers(const std::string &name) {
  std::string rest;
  bool begins = true;
  for (size_t at = 0; at < name.size();) {
    const auto is_here = [&](std::string_view wrapper) {
      return name.compare(at, wrapper.size(), wrapper) == 0;
    };
    const auto wrapper = std::find_if(kWrappers.begin(), kWrappers.end(), is_here);
    if (begins && wrapper != kWrappers.end()) {
      at += wrapper->size();
      continue;
    }
    begins = name[at] == '.' || name[at] == '/';
    rest += name[at++];
  }
  return rest;
}

std::vector<RunTensor> RunTensorsOf(const std::vector<std::string> &recorded) {
  constexpr std::string_view kGradient = "gradient/";
  std::set<std::string> with_gradient;
  for (const std::string &name : recorded) {
    if (name.starts_with(kGradient)) with_gradient.insert(name.substr(kGradient.size()));
  }
  std::vector<Parsed> parsed;
  parsed.reserve(recorded.size());
  for (const std::string &name : recorded) parsed.push_back(Parse(name, with_gradient));
  const std::string class_prefix = ClassPrefix(parsed);
  std::vector<RunTensor> tensors;
  std::map<std::string, size_t> known;
  const std::set<std::string> of_wrappers = KeysOfWrappers(parsed, recorded, class_prefix);
  for (size_t i = 0; i < recorded.size(); ++i) {
    bool is_wrapped = false;
    RunTensor tensor = TensorOf(parsed[i], recorded[i], class_prefix, &is_wrapped);
    if (is_wrapped && of_wrappers.contains(tensor.key)) continue;  // the wrapper has the same
    const auto [at, is_new] = known.emplace(tensor.key, tensors.size());
    if (is_new) {
      tensors.push_back(std::move(tensor));
    } else {
      tensors[at->second].recorded.push_back(recorded[i]);
    }
  }
  const std::map<std::string, size_t> positions = ForwardPositions(tensors);
  // The hook for PyTorch, whose names begin with a class, saves the parameters before the step, but
  // may write them after it.
  const bool is_before_step = !class_prefix.empty();
  const auto phase = [is_before_step](RunKind kind) {
    if (kind == RunKind::kParameter && is_before_step) return -1;
    return kind < RunKind::kGradient ? 0 : static_cast<int>(kind);
  };
  std::stable_sort(tensors.begin(), tensors.end(), [&](const RunTensor &a, const RunTensor &b) {
    if (phase(a.kind) != phase(b.kind)) return phase(a.kind) < phase(b.kind);
    return a.kind == RunKind::kGradient && b.kind == RunKind::kGradient &&
           positions.at(a.key) > positions.at(b.key);
  });
  return tensors;
}

std::string CulpritOf(const RunTensor &tensor) {
  if (tensor.kind == RunKind::kLoss) return "the loss";
  const std::string module = tensor.is_input ? Parent(tensor.module) : tensor.module;
  return module.empty() ? "the model" : module;
}

const char *RunKindName(RunKind kind) {
  switch (kind) {
    case RunKind::kParameter: return "parameter";
    case RunKind::kActivation: return "activation";
    case RunKind::kLoss: return "loss";
    case RunKind::kGradient: return "gradient";
    case RunKind::kSetting: return "setting";
    case RunKind::kUpdate: return "update";
    default: return "optimizer state";
  }
}

}  // namespace smdebug::cli
