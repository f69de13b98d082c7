#include "statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "limits.h"
#include "progress.h"
#include "sampling.h"
#include "saved.h"
#include "trial_arguments.h"

namespace smdebug::cli::report {
namespace {

constexpr size_t kMostStatistics = 3;
// Statistics, the most informative first.
constexpr std::array<const char *, 13> kPreferred = {
    "l2",  "abs_mean", "abs_max", "std", "l1",     "abs_l1",    "variance",
    "max", "min",      "mean",    "sum", "median", "abs_median"};

// A selected layer.
struct Wanted {
  const RecordedTensor *recorded;
  std::set<std::string> names;  // statistics at its first step
  bool has_abs_max;             // "abs_max" was saved; else it is computed from "min" and "max"
  LayerStatistics *layer;
};

Wanted Want(const RecordedTensor &recorded) {
  const std::vector<std::string> saved = recorded.tensor.Reductions(recorded.steps.front());
  Wanted wanted{&recorded, {saved.begin(), saved.end()}, false, nullptr};
  auto &names = wanted.names;
  wanted.has_abs_max = names.count("abs_max") > 0;
  if (names.count("min") > 0 && names.count("max") > 0) names.insert("abs_max");
  if (recorded.has_values) names.insert(kPreferred.begin(), kPreferred.begin() + kMostStatistics);
  return wanted;
}

std::vector<std::string> ChooseNames(const std::vector<Wanted> &wanted) {
  std::vector<std::string> names;
  for (const std::string name : kPreferred) {
    const bool is_there = std::any_of(wanted.begin(), wanted.end(),
                                      [&](const auto &each) { return each.names.count(name) > 0; });
    if (is_there && names.size() < kMostStatistics) names.push_back(name);
  }
  return names;
}

// Returns the culprits and an even selection of the others.
std::vector<const RecordedTensor *> ChooseLayers(const Inventory &inventory,
                                                 const std::vector<std::string> &culprits,
                                                 size_t *all) {
  std::vector<const RecordedTensor *> layers;
  for (const RecordedTensor &recorded : inventory.tensors) {
    if (recorded.kind == Kind::kLayer) layers.push_back(&recorded);
  }
  *all = layers.size();
  if (layers.size() <= kMostLayers) return layers;
  std::set<size_t> chosen;
  for (size_t i = 0; i < layers.size() && chosen.size() < kMostLayers / 2; ++i) {
    const auto culprit = std::find(culprits.begin(), culprits.end(), layers[i]->name);
    if (culprit != culprits.end()) chosen.insert(i);
  }
  for (const size_t i : EvenPlaces(layers.size(), kMostLayers - chosen.size())) chosen.insert(i);
  std::vector<const RecordedTensor *> some;
  some.reserve(chosen.size());
  for (const size_t i : chosen) some.push_back(layers[i]);
  return some;
}

// Returns the steps at which layers were saved; only those of the main mode, if there are any.
std::vector<int64_t> StepsOfLayers(const Inventory &inventory,
                                   const std::vector<const RecordedTensor *> &layers) {
  const Mode mode = inventory.MainMode();
  std::set<int64_t> all;
  std::set<int64_t> of_mode;
  for (const RecordedTensor *layer : layers) {
    for (const int64_t step : layer->steps) {
      if (!all.insert(step).second) continue;
      const auto place = inventory.places.find(step);
      if (place != inventory.places.end() && place->second.mode == mode) of_mode.insert(step);
    }
  }
  const std::set<int64_t> &chosen = of_mode.empty() ? all : of_mode;
  return {chosen.begin(), chosen.end()};
}

// Returns the greatest absolute value, from the least and the greatest value.
MaybeNumber Magnitude(const MaybeNumber &least, const MaybeNumber &greatest) {
  if (!least || !greatest) return std::nullopt;
  if (std::isnan(*least) || std::isnan(*greatest)) return NAN;
  return std::max(std::abs(*least), std::abs(*greatest));
}

MaybeNumber Computed(const Value &value, const std::string &statistic) {
  const auto [name, is_absolute] = ReductionOf(statistic);
  try {
    return value.Reduce(name, is_absolute).ToDouble();
  } catch (const Error &error) {
    // The value has no elements, or they are not numbers.
    if (error.Code() != SMD_INVALID_ARGUMENT && error.Code() != SMD_UNSUPPORTED) throw;
    return std::nullopt;
  }
}

// Reads the numbers of one step after another.
class StatisticsReader {
 public:
  StatisticsReader(const Trial &trial, const std::vector<std::string> &names, Problems *problems)
      : trial_(trial), names_(names), problems_(problems) {}

  // Reads the numbers into column `column` of worker `w`.
  void Read(const Wanted &wanted, int64_t step, const std::string &worker, size_t w,
            size_t column) {
    auto &numbers = wanted.layer->numbers[w];
    problems_->Try([&] {
      try {
        const std::vector<MaybeNumber> read = ReadNumbers(wanted, step, worker);
        for (size_t i = 0; i < names_.size(); ++i) numbers[i][column] = read[i];
      } catch (const Error &error) {
        const smd_code code = error.Code();
        if (code != SMD_WORKER_UNKNOWN && code != SMD_VALUE_UNAVAILABLE) throw;
      }
    });
  }

  // Prefetches the values of a step concurrently if each needs a request.
  void Prefetch(const std::vector<Wanted> &layers, int64_t step) {
    if (IsLocal(trial_.Path())) return;
    std::vector<std::string> names;
    for (const Wanted &wanted : layers) {
      const auto &steps = wanted.recorded->steps;
      const bool is_there = std::binary_search(steps.begin(), steps.end(), step);
      if (is_there && wanted.recorded->has_values) names.push_back(wanted.recorded->name);
    }
    try {
      trial_.Prefetch(names, {step});
    } catch (const Error &) {  // NOLINT(bugprone-empty-catch): reading it reports the error again
    }
  }

 private:
  std::vector<MaybeNumber> ReadNumbers(const Wanted &wanted, int64_t step,
                                       const std::string &worker) {
    const Tensor &tensor = wanted.recorded->tensor;
    std::vector<MaybeNumber> numbers(names_.size());
    if (wanted.recorded->has_values) {
      const Value value = tensor.Value(step, Mode::kGlobal, worker);
      for (size_t i = 0; i < names_.size(); ++i) numbers[i] = Computed(value, names_[i]);
      return numbers;
    }
    for (size_t i = 0; i < names_.size(); ++i) {
      const auto &name = names_[i];
      if (wanted.names.count(name) == 0) continue;
      if (name != "abs_max" || wanted.has_abs_max) {
        numbers[i] = NumberAt(tensor, step, name, Mode::kGlobal, worker);
      } else {
        numbers[i] = Magnitude(NumberAt(tensor, step, "min", Mode::kGlobal, worker),
                               NumberAt(tensor, step, "max", Mode::kGlobal, worker));
      }
    }
    return numbers;
  }

  const Trial &trial_;
  const std::vector<std::string> &names_;
  Problems *const problems_;
};

// Returns the number of columns that keeps both numbers and bytes within their limits.
size_t CountColumns(const std::vector<Wanted> &layers, size_t statistics) {
  size_t rows = 0;
  uint64_t bytes = 0;
  for (const Wanted &wanted : layers) {
    rows += wanted.recorded->workers.size() * statistics;
    bytes += wanted.recorded->workers.size() * wanted.recorded->bytes;
  }
  const uint64_t columns = std::min<uint64_t>(kMostNumbers / std::max<size_t>(rows, 1),
                                              kMostBytes / std::max<uint64_t>(bytes, 1));
  return std::clamp<size_t>(columns, kFewestColumns, kMostColumns);
}

// Returns the steps of culprits and the steps next to them.
std::vector<int64_t> StepsOfInterest(const std::vector<int64_t> &steps,
                                     const std::vector<int64_t> &culprits) {
  std::vector<int64_t> wanted;
  for (const int64_t step : culprits) {
    const auto place = std::lower_bound(steps.begin(), steps.end(), step);
    if (place == steps.end()) continue;
    wanted.push_back(*place);
    if (place != steps.begin()) wanted.push_back(*(place - 1));
    if (place + 1 != steps.end()) wanted.push_back(*(place + 1));
  }
  return wanted;
}

void MakeRoom(size_t workers, Statistics *statistics, std::vector<Wanted> *wanted) {
  for (size_t i = 0; i < wanted->size(); ++i) {
    (*wanted)[i].layer = &statistics->layers[i];
    statistics->layers[i].numbers.resize(workers);
    for (size_t w = 0; w < workers; ++w) {
      const auto &saved_by = (*wanted)[i].recorded->workers;
      const bool has_saved =
          std::find(saved_by.begin(), saved_by.end(), statistics->workers[w]) != saved_by.end();
      if (!has_saved) continue;
      statistics->layers[i].numbers[w].assign(statistics->names.size(),
                                              std::vector<MaybeNumber>(statistics->steps.size()));
    }
  }
}

void ReadAll(const Trial &trial, const std::vector<Wanted> &wanted, Statistics *statistics,
             Problems *problems) {
  StatisticsReader reader(trial, statistics->names, problems);
  Progress progress("Reading statistics", statistics->steps.size());
  for (size_t column = 0; column < statistics->steps.size(); ++column) {
    const int64_t step = statistics->steps[column];
    reader.Prefetch(wanted, step);
    for (const Wanted &each : wanted) {
      const auto &steps = each.recorded->steps;
      if (!std::binary_search(steps.begin(), steps.end(), step)) continue;
      for (size_t w = 0; w < statistics->workers.size(); ++w) {
        if (each.layer->numbers[w].empty()) continue;
        reader.Read(each, step, statistics->workers[w], w, column);
      }
    }
    progress.Advance();
  }
}

// Returns the names of layers that are not in the report, so that a search finds them.
std::vector<std::string> NamesOfHidden(const Inventory &inventory,
                                       const std::vector<LayerStatistics> &layers) {
  std::set<std::string> shown;
  for (const LayerStatistics &layer : layers) shown.insert(layer.tensor);
  std::vector<std::string> hidden;
  size_t characters = 0;
  for (const RecordedTensor &recorded : inventory.tensors) {
    if (recorded.kind != Kind::kLayer || shown.count(recorded.name) > 0) continue;
    characters += std::min(recorded.name.size(), kMostCharacters);
    if (characters > kMostHiddenNames) break;
    hidden.push_back(recorded.name);
  }
  return hidden;
}

}  // namespace

Statistics ReadStatistics(const Trial &trial, const Inventory &inventory, const RuleReport &report,
                          Problems *problems) {
  Statistics statistics;
  const auto layers = ChooseLayers(inventory, report.CulpritTensors(), &statistics.all_layers);
  std::vector<Wanted> wanted;
  std::set<std::string> workers;
  for (const RecordedTensor *layer : layers) {
    problems->Try([&] {
      wanted.push_back(Want(*layer));
      statistics.layers.push_back({layer->name, layer->collections, {}, {}});
      workers.insert(layer->workers.begin(), layer->workers.end());
    });
  }
  statistics.names = ChooseNames(wanted);
  statistics.workers.assign(workers.begin(), workers.end());
  if (statistics.workers.size() > kMostWorkers) statistics.workers.resize(kMostWorkers);

  const std::vector<int64_t> steps = StepsOfLayers(inventory, layers);
  statistics.all_steps = steps.size();
  statistics.steps = SampleSteps(steps, CountColumns(wanted, statistics.names.size()),
                                 StepsOfInterest(steps, report.CulpritSteps()));
  for (const int64_t step : statistics.steps) {
    const auto place = inventory.places.find(step);
    statistics.places.push_back(place == inventory.places.end() ? StepPlace{Mode::kGlobal, step}
                                                                : place->second);
  }
  for (LayerStatistics &layer : statistics.layers) {
    for (size_t column = 0; column < statistics.steps.size(); ++column) {
      const bool is_found = report.HasFinding(layer.tensor, statistics.steps[column]);
      if (is_found) layer.found.push_back(column);
    }
  }
  MakeRoom(statistics.workers.size(), &statistics, &wanted);
  ReadAll(trial, wanted, &statistics, problems);
  statistics.hidden = NamesOfHidden(inventory, statistics.layers);
  return statistics;
}

void ToJson(const Statistics &statistics, JsonWriter *json) {
  AddWholes(statistics.steps, &json->BeginObject().Key("steps"));
  std::vector<int64_t> mode_steps;
  std::vector<std::string> modes;
  for (const StepPlace &place : statistics.places) {
    mode_steps.push_back(place.mode_step);
    modes.emplace_back(ModeName(place.mode));
  }
  AddWholes(mode_steps, &json->Key("mode_steps"));
  AddTexts(modes, &json->Key("modes"));
  AddTexts(statistics.names, &json->Key("statistics"));
  AddTexts(statistics.workers, &json->Key("workers"));
  AddTexts(statistics.hidden, &json->Key("hidden"));
  json->Key("hidden_count")
      .Whole(static_cast<int64_t>(statistics.all_layers - statistics.layers.size()));
  json->Key("layers").BeginArray();
  for (const LayerStatistics &layer : statistics.layers) {
    json->BeginObject().Key("tensor").Text(Brief(layer.tensor));
    AddTexts(layer.collections, &json->Key("collections"));
    AddCounts(layer.found, &json->Key("found"));
    json->Key("numbers").BeginArray();
    for (const auto &of_worker : layer.numbers) {
      json->BeginArray();
      for (const auto &of_statistic : of_worker) AddNumbers(of_statistic, json);
      json->EndArray();
    }
    json->EndArray().EndObject();
  }
  json->EndArray().EndObject();
}

}  // namespace smdebug::cli::report
