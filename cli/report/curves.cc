#include "curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "curve_names.h"
#include "limits.h"
#include "progress.h"
#include "sampling.h"
#include "saved.h"

namespace smdebug::cli::report {
namespace {

// A group of tensors that share a chart.
struct Group {
  std::string title;
  std::string measure;
  bool is_loss = false;
  std::vector<const RecordedTensor *> tensors;
};

// Sets `hidden` to the number of groups beyond kMostCharts.
std::vector<Group> GroupTensors(const Inventory &inventory, size_t *hidden) {
  std::vector<Group> groups;
  std::map<std::string, size_t> places;
  for (const RecordedTensor &recorded : inventory.tensors) {
    if (recorded.kind != Kind::kCurve) continue;
    const std::string measure = CurveMeasure(recorded.name, recorded.collections);
    const auto [place, is_new] = places.try_emplace(measure, groups.size());
    if (is_new) groups.push_back({measure, measure, false, {}});
    Group &group = groups[place->second];
    group.is_loss = group.is_loss || IsLoss(recorded.name, recorded.collections);
    group.tensors.push_back(&recorded);
  }
  for (Group &group : groups) {
    if (group.tensors.size() == 1) group.title = group.tensors.front()->name;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group &a, const Group &b) { return a.is_loss && !b.is_loss; });
  if (groups.size() > kMostCharts) {
    *hidden = groups.size() - kMostCharts;
    groups.resize(kMostCharts);
  }
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
  ChartReader(const Trial &trial, const Inventory &inventory, size_t every, Problems *problems)
      : trial_(trial), inventory_(inventory), every_(every), problems_(problems) {}

  Chart Read(const Group &group) {
    Chart chart{group.title, group.measure, group.is_loss, {}};
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
      if (chart->lines.size() >= kMostLines) {
        ++chart->hidden_lines;
        continue;
      }
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

Curves ReadCurves(const Trial &trial, const Inventory &inventory, size_t most, Problems *problems) {
  Curves curves;
  const std::vector<Group> groups = GroupTensors(inventory, &curves.hidden);
  size_t points = 0;
  for (const Group &group : groups) {
    for (const RecordedTensor *tensor : group.tensors) {
      points += tensor->steps.size() * tensor->workers.size();
    }
  }
  ChartReader reader(trial, inventory, std::max<size_t>(1, (points + most - 1) / most), problems);
  Progress progress("Reading curves", groups.size());
  for (const Group &group : groups) {
    Chart chart = reader.Read(group);
    progress.Advance();
    if (!chart.lines.empty()) curves.charts.push_back(std::move(chart));
  }
  return curves;
}

Curves Overlay(std::vector<Curves> runs, const std::vector<std::string> &names) {
  Curves all;
  std::map<std::string, size_t> places;
  const size_t share = std::max<size_t>(kMostLines / std::max<size_t>(runs.size(), 1), 1);
  for (size_t run = 0; run < runs.size(); ++run) {
    all.hidden = std::max(all.hidden, runs[run].hidden);
    for (Chart &chart : runs[run].charts) {
      const auto [place, is_new] = places.try_emplace(chart.measure, all.charts.size());
      if (is_new) all.charts.push_back({chart.measure, chart.measure, false, {}});
      Chart &shared = all.charts[place->second];
      shared.is_loss = shared.is_loss || chart.is_loss;
      shared.hidden_lines += chart.hidden_lines;
      for (size_t i = 0; i < chart.lines.size(); ++i) {
        if (i >= share) {
          ++shared.hidden_lines;
          continue;
        }
        chart.lines[i].run = names[run];
        chart.lines[i].colour = run;
        shared.lines.push_back(std::move(chart.lines[i]));
      }
    }
  }
  std::stable_sort(all.charts.begin(), all.charts.end(),
                   [](const Chart &a, const Chart &b) { return a.is_loss && !b.is_loss; });
  if (all.charts.size() > kMostCharts) {
    all.hidden += all.charts.size() - kMostCharts;
    all.charts.resize(kMostCharts);
  }
  return all;
}

void ToJson(const std::vector<Chart> &charts, JsonWriter *json) {
  json->BeginArray();
  for (const Chart &chart : charts) {
    json->BeginObject().Key("title").Text(Brief(chart.title));
    json->Key("measure").Text(Brief(chart.measure));
    json->Key("hidden_lines").Whole(static_cast<int64_t>(chart.hidden_lines));
    json->Key("is_loss").Bool(chart.is_loss).Key("lines").BeginArray();
    for (const Line &line : chart.lines) {
      json->BeginObject();
      if (!line.run.empty()) {
        json->Key("run")
            .Text(Brief(line.run))
            .Key("colour")
            .Whole(static_cast<int64_t>(line.colour));
      }
      json->Key("tensor").Text(Brief(line.tensor));
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
