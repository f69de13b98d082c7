#include "rules/support/loss_names.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace smdebug::rules {
namespace {

// Reads names such as "validation-rmse".  XGBoost and LightGBM put the name of the data first.
std::optional<LossName> ReadDashedName(std::string_view tensor) {
  const size_t dash = tensor.find('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == tensor.size()) return {};
  if (tensor.find_first_of("/.") != std::string_view::npos) return {};
  const std::string data = ToLower(tensor.substr(0, dash));
  const bool is_of_training = data.starts_with("train") || data.starts_with("dtrain");
  return LossName{tensor.substr(dash + 1), !is_of_training};
}

// Calls `visit` for each word: "loss", "D2" and "0" of "lossD2_0".
template <class Visit>
void VisitWords(std::string_view name, const Visit &visit) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_of_word = [&](char c) {
    return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  size_t begin = 0;
  for (size_t i = 0; i <= name.size(); ++i) {
    const bool ends = i == name.size() || !is_of_word(name[i]) ||
                      (is_upper(name[i]) && i > 0 && !is_upper(name[i - 1]));
    if (!ends) continue;
    if (i > begin) visit(name.substr(begin, i - begin));
    begin = i < name.size() && is_of_word(name[i]) ? i : i + 1;
  }
}

}  // namespace

LossName ReadLossName(std::string_view tensor, Mode mode) {
  constexpr std::string_view kOfValidation[] = {"val_", "valid_", "validation_", "eval_", "test_"};
  constexpr std::string_view kOfTraining[] = {"train_", "training_"};
  if (const auto dashed = ReadDashedName(tensor)) return *dashed;
  const std::string_view name = tensor.substr(tensor.rfind('/') + 1);
  for (const std::string_view prefix : kOfValidation) {
    if (name.starts_with(prefix)) return {name.substr(prefix.size()), true};
  }
  for (const std::string_view prefix : kOfTraining) {
    if (name.starts_with(prefix)) return {name.substr(prefix.size()), mode == Mode::kEval};
  }
  return {name, mode == Mode::kEval};
}

bool NeedNotFall(std::string_view tensor) {
  constexpr std::string_view kWords[] = {
      "actor", "adv", "adversarial", "cd",   "critic",    "d",    "disc",  "discriminator",
      "dis",   "g",   "gan",         "gen",  "generator", "grpo", "pg",    "policy",
      "ppo",   "q",   "reinforce",   "rloo", "surrogate", "td",   "value", "vf"};
  bool found = false;
  VisitWords(tensor, [&](std::string_view word) {
    found = found || std::ranges::find(kWords, ToLower(word)) != std::end(kWords);
  });
  return found;
}

Result<Selector> SelectLosses(const Parameters &parameters) {
  if (parameters.IsGiven("tensor_regex") && !parameters.Text("tensor_regex").empty()) {
    return Selector::Make({}, parameters.List("tensor_regex"));
  }
  return Selector::Make({"losses"}, {std::string(kLossNames)});
}

void LossesOfStep::Note(const Sample &sample) {
  const std::optional<double> value = LossOf(sample);
  if (!value) return;
  const LossName name = ReadLossName(sample.Tensor(), sample.Place().mode);
  items_.push_back({std::string(sample.Worker()), std::string(sample.Tensor()),
                    std::string(name.loss), name.is_of_validation, *value});
}

std::vector<LossesOfStep::Item> LossesOfStep::Take() {
  std::stable_partition(items_.begin(), items_.end(),
                        [](const Item &item) { return !item.is_of_validation; });
  return std::exchange(items_, {});
}

std::optional<double> LossOf(const Sample &sample) {
  if (sample.Form() != nullptr) return sample.Scalar();
  return sample.Reduce({tensor::ReductionKind::kMean, false});
}

}  // namespace smdebug::rules
