#include "booster.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "elements.h"
#include "limits.h"
#include "sampling.h"

namespace smdebug::cli::report {
namespace {

constexpr const char *kNodes = "trees/Node";
constexpr long double kMostNodes = 0x1p63L;  // a tree has fewer

struct Feature {
  std::string name;
  double value;
};

// The parts of "feature_importance/gain/age" and "average_shap/age".
struct FeatureName {
  std::string kind;
  std::string feature;
};
FeatureName TakeApart(const std::string &tensor) {
  constexpr std::string_view kImportance = "feature_importance/";
  constexpr std::string_view kShap = "average_shap/";
  if (tensor.starts_with(kShap)) return {"SHAP", tensor.substr(kShap.size())};
  if (!tensor.starts_with(kImportance)) return {};
  const std::string rest = tensor.substr(kImportance.size());
  const size_t slash = rest.find('/');
  if (slash == std::string::npos) return {};
  return {rest.substr(0, slash), rest.substr(slash + 1)};
}

Importance Rank(const std::string &kind, int64_t step, std::vector<Feature> features) {
  std::stable_sort(features.begin(), features.end(), [](const Feature &a, const Feature &b) {
    return std::abs(a.value) > std::abs(b.value);
  });
  Importance importance{kind, step, features.size(), {}, {}};
  if (features.size() > kMostFeatures) features.resize(kMostFeatures);
  for (Feature &feature : features) {
    importance.features.push_back(std::move(feature.name));
    importance.values.emplace_back(feature.value);
  }
  return importance;
}

std::vector<Importance> ReadImportances(const Inventory &inventory, Problems *problems) {
  std::map<std::string, std::vector<const RecordedTensor *>> by_kind;
  for (const RecordedTensor &recorded : inventory.tensors) {
    const auto [kind, feature] = TakeApart(recorded.name);
    if (!kind.empty() && recorded.has_values) by_kind[kind].push_back(&recorded);
  }
  std::vector<Importance> importances;
  for (const auto &[kind, tensors] : by_kind) {
    int64_t last = 0;
    for (const RecordedTensor *recorded : tensors) last = std::max(last, recorded->steps.back());
    std::vector<Feature> features;
    for (const RecordedTensor *recorded : tensors) {
      // A feature that no tree uses has no importance at that step.
      if (recorded->steps.back() != last) continue;
      problems->Try([&] {
        const double value = recorded->tensor.Value(last).ToDouble();
        if (std::isfinite(value)) features.push_back({TakeApart(recorded->name).feature, value});
      });
    }
    importances.push_back(Rank(kind, last, std::move(features)));
  }
  return importances;
}

// Nodes of a tree are numbered row by row from the root, which is 0.
Trees ReadTrees(const Inventory &inventory, Problems *problems) {
  Trees trees;
  const RecordedTensor *const nodes = inventory.Find(kNodes);
  if (nodes == nullptr || !nodes->has_values) return trees;
  for (const int64_t step : SampleSteps(nodes->steps, kMostPoints, {})) {
    problems->Try([&] {
      const Value value = nodes->tensor.Value(step);
      const ElementReader reader(value);
      uint64_t last = 0;
      for (size_t i = 0; i < reader.Size(); ++i) {
        const long double number = reader.Number(i);
        // Others are no numbers of nodes.
        if (number >= 0 && number < kMostNodes)
          last = std::max(last, static_cast<uint64_t>(number));
      }
      trees.steps.push_back(step);
      trees.depths.emplace_back(std::bit_width(last + 1) - 1);
      trees.nodes.emplace_back(reader.Size());
    });
  }
  return trees;
}

}  // namespace

bool IsOfBooster(const std::string &tensor) {
  return tensor == kNodes || !TakeApart(tensor).kind.empty();
}

Booster ReadBooster(const Inventory &inventory, Problems *problems) {
  return {ReadImportances(inventory, problems), ReadTrees(inventory, problems)};
}

void ToJson(const Booster &booster, JsonWriter *json) {
  json->BeginObject().Key("importances").BeginArray();
  for (const Importance &importance : booster.importances) {
    json->BeginObject().Key("kind").Text(Brief(importance.kind));
    json->Key("step").Whole(importance.step);
    json->Key("all").Whole(static_cast<int64_t>(importance.all));
    AddTexts(importance.features, &json->Key("features"));
    AddNumbers(importance.values, &json->Key("values"));
    json->EndObject();
  }
  json->EndArray().Key("trees").BeginObject();
  AddWholes(booster.trees.steps, &json->Key("steps"));
  AddNumbers(booster.trees.depths, &json->Key("depths"));
  AddNumbers(booster.trees.nodes, &json->Key("nodes"));
  json->EndObject().EndObject();
}

}  // namespace smdebug::cli::report
