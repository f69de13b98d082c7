#include "inventory.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "limits.h"
#include "natural_order.h"
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

bool IsAnyIn(std::span<const std::string_view> names, const std::vector<std::string> &collections) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view each) {
    return std::find(collections.begin(), collections.end(), each) != collections.end();
  });
}

Kind KindOf(const RecordedTensor &recorded, const Saved &saved) {
  if (saved.dtype == DTypeName(DType::kString)) return Kind::kOther;
  const std::optional<Kind> told = KindByCollections(recorded.collections);
  if (told == Kind::kCurve && !saved.value) return Kind::kLayer;
  if (told) return *told;
  if (!saved.value) return saved.reductions.empty() ? Kind::kOther : Kind::kLayer;
  return saved.value->Bytes() == DTypeSize(saved.value->DType()) ? Kind::kCurve : Kind::kLayer;
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

std::optional<Kind> KindByCollections(const std::vector<std::string> &collections) {
  if (IsAnyIn(kCurves, collections)) return Kind::kCurve;
  if (IsAnyIn(kOthers, collections)) return Kind::kOther;
  if (IsAnyIn(kLayers, collections)) return Kind::kLayer;
  return std::nullopt;
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

Inventory TakeInventory(const Trial &trial, const std::vector<std::string> &names,
                        Problems *problems) {
  Inventory inventory;
  ReadSteps(trial, &inventory);
  inventory.workers = trial.Workers();
  std::map<std::string, std::vector<std::string>> collections;
  problems->Try([&] { collections = CollectionsByTensor(trial); });
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
                   [](const auto &a, const auto &b) { return NaturalLess(a.name, b.name); });
  return inventory;
}

}  // namespace smdebug::cli::report
