#include "curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "limits.h"
#include "progress.h"
#include "sampling.h"
#include "saved.h"

namespace smdebug::cli::report {
namespace {

// Returns the measure without the data set: "auc" for "train-auc" and "val_auc".
std::string MeasureOf(const RecordedTensor &recorded) {
  constexpr std::string_view kScalar = "scalar/";
  constexpr std::string_view kValidation = "val_";
  std::string name = recorded.name;
  if (name.starts_with(kScalar)) name.erase(0, kScalar.size());
  if (name.starts_with(kValidation)) return name.substr(kValidation.size());
  const size_t dash = name.find('-');
  const bool is_of_data = recorded.IsIn("metrics") && dash != std::string::npos && dash > 0;
  return is_of_data ? name.substr(dash + 1) : name;
}

bool IsLoss(const RecordedTensor &recorded) {
  return recorded.IsIn("losses") || recorded.name.find("loss") != std::string::npos;
}

// A group of tensors that share a chart.
struct Group {
  std::string title;
  bool is_loss = false;
  std::vector<const RecordedTensor *> tensors;
};

std::vector<Group> GroupTensors(const Inventory &inventory) {
  std::vector<Group> groups;
  std::map<std::string, size_t> places;
  for (const RecordedTensor &recorded : inventory.tensors) {
    if (recorded.kind != Kind::kCurve) continue;
    const std::string measure = MeasureOf(recorded);
    const auto [place, is_new] = places.try_emplace(measure, groups.size());
    if (is_new) groups.push_back({measure, false, {}});
    Group &group = groups[place->second];
    group.is_loss = group.is_loss || IsLoss(recorded);
    group.tensors.push_back(&recorded);
  }
  for (Group &group : groups) {
    if (group.tensors.size() == 1) group.title = group.tensors.front()->name;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group &a, const Group &b) { return a.is_loss && !b.is_loss; });
  if (groups.size() > kMostCharts) groups.resize(kMostCharts);
  return groups;
}

// Returns the number for the tensor at a step; the mean if there are several elements.
MaybeNumber ValueAt(const RecordedTensor &recorded, int64_t step, const std::string &worker) {
  return NumberAt(recorded.tensor, step, "mean", Mode::kGlobal, worker);
}

// Thins a long line: of each stretch, keeps the least, the greatest and all non-finite numbers.
void Thin(Line *line) {
  const size_t count = line->steps.size();
  if (count <= kMostPoints) return;
  const size_t stretch = (2 * count + kMostPoints - 1) / kMostPoints;
  std::vector<size_t> kept = {0, count - 1};
  for (size_t begin = 0; begin < count; begin += stretch) {
    const size_t end = std::min(begin + stretch, count);
    size_t least = begin;
    size_t most = begin;
    size_t odd = end;
    for (size_t i = begin; i < end; ++i) {
      const double value = *line->values[i];
      if (!std::isfinite(value)) {
        odd = std::min(odd, i);
        continue;
      }
      if (!(value >= *line->values[least])) least = i;
      if (!(value <= *line->values[most])) most = i;
    }
    kept.insert(kept.end(), {least, most});
    if (odd < end) kept.push_back(odd);
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  for (size_t i = 0; i < kept.size(); ++i) {
    line->steps[i] = line->steps[kept[i]];
    line->values[i] = line->values[kept[i]];
  }
  line->steps.resize(kept.size());
  line->values.resize(kept.size());
}

// Reads the charts of a trial.
class ChartReader {
 public:
  ChartReader(const Trial &trial, const Inventory &inventory, size_t points, Problems *problems)
      : trial_(trial),
        inventory_(inventory),
        every_(std::max<size_t>(1, (points + kMostCurveReads - 1) / kMostCurveReads)),
        problems_(problems) {}

  Chart Read(const Group &group) {
    Chart chart{group.title, group.is_loss, {}};
    for (const RecordedTensor *recorded : group.tensors) {
      for (const std::string &worker : recorded->workers) {
        problems_->Try([&] { AddLines(*recorded, worker, &chart); });
      }
    }
    return chart;
  }

 private:
  // Adds a line for each mode.
  void AddLines(const RecordedTensor &recorded, const std::string &worker, Chart *chart) {
    const std::vector<int64_t> steps =
        SampleSteps(recorded.steps, (recorded.steps.size() + every_ - 1) / every_, {});
    Fetch(trial_, recorded.name, steps);
    std::map<Mode, Line> lines;
    for (const int64_t step : steps) {
      const MaybeNumber value = IfRecorded(recorded, step, worker);
      const auto place = inventory_.places.find(step);
      if (!value || place == inventory_.places.end()) continue;
      Line &line = lines[place->second.mode];
      line.steps.push_back(step);
      line.values.push_back(value);
    }
    for (auto &[mode, line] : lines) {
      if (chart->lines.size() >= kMostLines) return;
      line.tensor = recorded.name;
      line.mode = mode;
      line.worker = worker;
      Thin(&line);
      chart->lines.push_back(std::move(line));
    }
  }

  static MaybeNumber IfRecorded(const RecordedTensor &recorded, int64_t step,
                                const std::string &worker) {
    try {
      return ValueAt(recorded, step, worker);
    } catch (const Error &error) {
      if (error.Code() != SMD_WORKER_UNKNOWN) throw;
      return std::nullopt;
    }
  }

  const Trial &trial_;
  const Inventory &inventory_;
  const size_t every_;
  Problems *const problems_;
};

}  // namespace

std::vector<Chart> ReadCharts(const Trial &trial, const Inventory &inventory, Problems *problems) {
  const std::vector<Group> groups = GroupTensors(inventory);
  size_t points = 0;
  for (const Group &group : groups) {
    for (const RecordedTensor *tensor : group.tensors) {
      points += tensor->steps.size() * tensor->workers.size();
    }
  }
  std::vector<Chart> charts;
  ChartReader reader(trial, inventory, points, problems);
  Progress progress("Reading curves", groups.size());
  for (const Group &group : groups) {
    Chart chart = reader.Read(group);
    progress.Advance();
    if (!chart.lines.empty()) charts.push_back(std::move(chart));
  }
  return charts;
}

void ToJson(const std::vector<Chart> &charts, JsonWriter *json) {
  json->BeginArray();
  for (const Chart &chart : charts) {
    json->BeginObject().Key("title").Text(Brief(chart.title));
    json->Key("is_loss").Bool(chart.is_loss).Key("lines").BeginArray();
    for (const Line &line : chart.lines) {
      json->BeginObject().Key("tensor").Text(Brief(line.tensor));
      json->Key("mode").Text(ModeName(line.mode)).Key("worker").Text(Brief(line.worker));
      AddWholes(line.steps, &json->Key("steps"));
      AddNumbers(line.values, &json->Key("values"));
      json->EndObject();
    }
    json->EndArray().EndObject();
  }
  json->EndArray();
}

}  // namespace smdebug::cli::report
