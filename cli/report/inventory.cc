#include "inventory.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "limits.h"
#include "progress.h"
#include "saved.h"

namespace smdebug::cli::report {
namespace {

constexpr std::array<std::string_view, 4> kCurves = {"losses", "metrics", "sm_metrics", "scalars"};
constexpr std::array<std::string_view, 4> kLayers = {"weights", "biases", "gradients",
                                                     "optimizer_variables"};
constexpr std::array<std::string_view, 7> kOthers = {
    "hyperparameters", "predictions", "labels", "feature_importance",
    "average_shap",    "full_shap",   "trees"};

template <size_t n>
bool IsInAny(const RecordedTensor &recorded, const std::array<std::string_view, n> &collections) {
  return std::any_of(collections.begin(), collections.end(),
                     [&](std::string_view each) { return recorded.IsIn(std::string(each)); });
}

bool IsDigit(char character) { return character >= '0' && character <= '9'; }

// Removes the digits at the start of `text` and returns them without leading zeros.
std::string_view TakeNumber(std::string_view *text) {
  size_t end = 0;
  while (end < text->size() && IsDigit((*text)[end])) ++end;
  std::string_view number = text->substr(0, end);
  text->remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

Kind KindOf(const RecordedTensor &recorded, const Saved &saved) {
  if (saved.dtype == DTypeName(DType::kString)) return Kind::kOther;
  if (IsInAny(recorded, kCurves)) return saved.value ? Kind::kCurve : Kind::kLayer;
  if (IsInAny(recorded, kOthers)) return Kind::kOther;
  if (IsInAny(recorded, kLayers)) return Kind::kLayer;
  if (!saved.value) return saved.reductions.empty() ? Kind::kOther : Kind::kLayer;
  return saved.value->Bytes() == DTypeSize(saved.value->GetDType()) ? Kind::kCurve : Kind::kLayer;
}

void Examine(RecordedTensor *recorded) {
  const std::set<int64_t> ends = {recorded->steps.front(), recorded->steps.back()};
  std::set<std::string> workers;
  for (const int64_t step : ends) {
    for (std::string &worker : recorded->tensor.Workers(step)) workers.insert(std::move(worker));
  }
  recorded->workers.assign(workers.begin(), workers.end());
  if (recorded->workers.size() > kMostWorkers) recorded->workers.resize(kMostWorkers);
  const Saved saved = SavedAt(recorded->tensor, recorded->steps.front());
  recorded->kind = KindOf(*recorded, saved);
  recorded->has_values = saved.value.has_value();
  recorded->saved = saved.Kinds();
  if (saved.value) recorded->bytes = saved.value->Bytes();
}

std::map<std::string, std::vector<std::string>> CollectionsByTensor(const Trial &trial) {
  std::map<std::string, std::vector<std::string>> by_tensor;
  for (const std::string &name : trial.Collections()) {
    if (name == "all" || name == "default") continue;
    const Collection collection = trial.Collection(name);
    Trial::Names names;
    names.collection = &collection;
    for (const std::string &tensor : trial.TensorNames(names)) by_tensor[tensor].push_back(name);
  }
  return by_tensor;
}

void ReadSteps(const Trial &trial, Inventory *inventory) {
  inventory->steps = trial.Steps();
  for (const int64_t step : inventory->steps) {
    const auto [mode_step, mode] = trial.ModeStep(step);
    inventory->places[step] = {mode, mode_step};
    ++inventory->modes[mode];
  }
}

}  // namespace

bool ComesBefore(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view left = TakeNumber(&a);
      const std::string_view right = TakeNumber(&b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() && !b.empty();
}

bool RecordedTensor::IsIn(const std::string &collection) const {
  return std::find(collections.begin(), collections.end(), collection) != collections.end();
}

Mode Inventory::MainMode() const {
  if (modes.count(Mode::kTrain) > 0) return Mode::kTrain;
  const auto most = std::max_element(
      modes.begin(), modes.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == modes.end() ? Mode::kGlobal : most->first;
}

const RecordedTensor *Inventory::Find(const std::string &name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const auto &each) { return each.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Inventory TakeInventory(const Trial &trial, Problems *problems) {
  Inventory inventory;
  ReadSteps(trial, &inventory);
  inventory.workers = trial.Workers();
  std::map<std::string, std::vector<std::string>> collections;
  problems->Try([&] { collections = CollectionsByTensor(trial); });
  const std::vector<std::string> names = trial.TensorNames();
  Progress progress("Looking through tensors", names.size());
  for (const std::string &name : names) {
    problems->Try([&] {
      Tensor tensor = trial.Tensor(name);
      std::vector<int64_t> steps = tensor.Steps();
      if (steps.empty()) return;
      RecordedTensor recorded{.name = name,
                              .tensor = std::move(tensor),
                              .collections = collections[name],
                              .steps = std::move(steps),
                              .workers = {}};
      Examine(&recorded);
      inventory.tensors.push_back(std::move(recorded));
    });
    progress.Advance();
  }
  std::stable_sort(inventory.tensors.begin(), inventory.tensors.end(),
                   [](const auto &a, const auto &b) { return ComesBefore(a.name, b.name); });
  return inventory;
}

}  // namespace smdebug::cli::report
