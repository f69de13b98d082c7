#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "elements.h"
#include "report/histograms.h"
#include "report/sampling.h"
#include "saved.h"
#include "serve/api.h"

namespace smdebug::cli::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostColumns = 2000;
constexpr int64_t kMostRows = 200;
constexpr int64_t kReadsPerColumn = 4;  // up to so many steps a column, each is read
constexpr std::chrono::milliseconds kMostTime{1500};
constexpr size_t kBins = 60;
constexpr size_t kMostSampled = 200'000;
constexpr size_t kMostValues = 400;
constexpr int64_t kMostHistograms = 16;          // of one tensor
constexpr int64_t kMostRead = int64_t{1} << 24;  // elements, for them
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// The part of the steps that a heat map shows, and its columns of equal width.
struct Window {
  int64_t first;
  int64_t end;
  int64_t columns;

  int64_t ColumnOf(int64_t step) const {
    const double width = static_cast<double>(end) - static_cast<double>(first);
    const double at = static_cast<double>(step) - static_cast<double>(first);
    return std::clamp<int64_t>(static_cast<int64_t>(at / width * static_cast<double>(columns)), 0,
                               columns - 1);
  }
};

struct HeatRow {
  std::vector<int64_t> steps;  // ascending; if merged, one a column
  std::vector<double> values;
  bool is_merged = false;
  bool is_sampled = false;  // there are steps in between that were not read
};

// Reads one step of each column: the last, or the first with a finding.
HeatRow ReadSome(const Tensor &tensor, const std::vector<int64_t> &steps,
                 const std::set<int64_t> &found, const CurveKey &key, const Window &window) {
  std::map<int64_t, int64_t> chosen;
  for (const int64_t step : steps) {
    int64_t &place = chosen.try_emplace(window.ColumnOf(step), step).first->second;
    if (found.count(place) == 0) place = step;
  }
  HeatRow row;
  row.is_merged = true;
  row.is_sampled = chosen.size() < steps.size();
  for (const auto &[column, step] : chosen) {
    const auto number = NumberAt(tensor, step, key.measure, Mode::kGlobal, key.worker);
    if (!number) continue;
    row.steps.push_back(step);
    row.values.push_back(*number);
  }
  return row;
}

// Reads all steps.  If there are more than columns, keeps of each column the number of the largest
// size; one that is not finite precedes all others.
HeatRow ReadEach(const Trial &trial, const CurveKey &key, const Window &window, int64_t last) {
  Curve curve;
  curve.end = window.first;
  Extend(trial, key, std::min(window.end, last + 1), &curve);
  HeatRow row;
  row.is_merged = static_cast<int64_t>(curve.steps.size()) > window.columns;
  if (!row.is_merged) {
    row.steps = std::move(curve.steps);
    row.values = std::move(curve.values);
    return row;
  }
  int64_t column = -1;
  for (size_t i = 0; i < curve.steps.size(); ++i) {
    const int64_t here = window.ColumnOf(curve.steps[i]);
    const double value = curve.values[i];
    if (here == column) {
      const double kept = row.values.back();
      const bool is_larger =
          std::isfinite(kept) && (!std::isfinite(value) || std::abs(value) > std::abs(kept));
      if (!is_larger) continue;
      row.steps.back() = curve.steps[i];
      row.values.back() = value;
      continue;
    }
    column = here;
    row.steps.push_back(curve.steps[i]);
    row.values.push_back(value);
  }
  return row;
}

HeatRow ReadRow(const Trial &trial, const CurveKey &key, const std::set<int64_t> &found,
                const Window &window, int64_t last) {
  const Tensor tensor = trial.Tensor(key.tensor);
  std::vector<int64_t> steps = tensor.Steps();
  std::erase_if(steps, [&](int64_t step) {
    return step < window.first || step >= window.end || step > last;
  });
  const bool are_few = static_cast<int64_t>(steps.size()) <= window.columns * kReadsPerColumn;
  if (!are_few || steps.empty()) return ReadSome(tensor, steps, found, key, window);
  // Saved statistics cost little; of large values, only those are read that can be seen.
  const bool is_saved = [&] {
    const std::vector<std::string> saved =
        tensor.Reductions(steps.front(), Mode::kGlobal, key.worker);
    return std::find(saved.begin(), saved.end(), key.measure) != saved.end();
  }();
  const bool each_is_seen = static_cast<int64_t>(steps.size()) <= window.columns;
  if (is_saved || each_is_seen) return ReadEach(trial, key, window, last);
  return ReadSome(tensor, steps, found, key, window);
}

std::vector<std::string> LayersOf(const Inventory &tensors, const std::string &group,
                                  const std::string &text) {
  std::vector<std::string> names;
  for (const NamedTensor &tensor : tensors) {
    const auto &own = tensor.collections;
    const bool is_in = group == "*" || (group.empty() && own.empty()) ||
                       std::find(own.begin(), own.end(), group) != own.end();
    const bool has_text = tensor.name.find(text) != std::string::npos;
    if (tensor.kind == TensorKind::kLayer && is_in && has_text) names.push_back(tensor.name);
  }
  return names;
}

void RowToJson(const std::string &tensor, const HeatRow &row, const std::set<int64_t> &found,
               JsonWriter *json) {
  json->BeginObject().Key("tensor").Text(tensor).Key("sampled").Bool(row.is_sampled);
  json->Key("merged").Bool(row.is_merged);
  json->Key("steps").Wholes(row.steps).Key("values").BeginArray();
  for (const double value : row.values) NumberToJson(value, json);
  json->EndArray().Key("found").Wholes({found.begin(), found.end()}).EndObject();
}

struct Histogram {
  double least = 0;
  double most = 0;
  std::vector<int64_t> counts = std::vector<int64_t>(kBins);
  int64_t odd = 0;
  size_t sampled = 0;
};

Histogram Count(const ElementReader &reader) {
  Histogram histogram;
  std::vector<double> numbers;
  const size_t every = std::max<size_t>(1, (reader.Size() + kMostSampled - 1) / kMostSampled);
  for (size_t i = 0; i < reader.Size(); i += every) {
    const auto number = static_cast<double>(reader.Number(i));
    ++histogram.sampled;
    std::isfinite(number) ? numbers.push_back(number) : void(++histogram.odd);
  }
  if (numbers.empty()) return histogram;
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  histogram.least = *least;
  histogram.most = *most;
  const double width = *most / kBins - *least / kBins;  // the difference could overflow
  for (const double number : numbers) {
    const double at = width > 0 ? number / width - *least / width : 0;
    const auto bin = std::min<size_t>(static_cast<size_t>(std::max(at, 0.0)), kBins - 1);
    ++histogram.counts[bin];
  }
  return histogram;
}

void ValueToJson(const Value &value, JsonWriter *json) {
  const ElementReader reader(value);
  json->Key("dtype").Text(DTypeName(value.DType())).Key("shape").Wholes(value.Shape());
  json->Key("elements").Whole(static_cast<int64_t>(reader.Size())).Key("values").BeginArray();
  for (size_t i = 0; i < std::min(reader.Size(), kMostValues); ++i) reader.ToJson(i, json);
  json->EndArray().Key("histogram");
  if (reader.AreTexts() || reader.AreComplex() || reader.Size() == 0) {
    json->Null();
    return;
  }
  const Histogram histogram = Count(reader);
  json->BeginObject().Key("least").Number(histogram.least).Key("most").Number(histogram.most);
  json->Key("sampled").Whole(static_cast<int64_t>(histogram.sampled));
  json->Key("odd").Whole(histogram.odd).Key("counts").Wholes(histogram.counts).EndObject();
}

Tensor TensorOf(OpenRun &run, const std::string &name) {
  try {
    return run.GetTrial().Tensor(name);
  } catch (const Error &error) {
    throw BadRequest(404, error.what());
  }
}

}  // namespace

Response AnswerHeat(const ApiContext &context, const Request &request) {
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  const int64_t last = run->Steps()->Last();
  Window window{request.Whole("first", 0, 0, kAll - 1), request.Whole("end", last + 1, 0, kAll),
                request.Whole("columns", 400, 1, kMostColumns)};
  window.end = std::max(window.end, window.first + 1);
  const std::vector<std::string> names =
      LayersOf(*run->Tensors(), request.Text("group"), request.Text("text"));
  const auto from = static_cast<size_t>(request.Whole("from", 0, 0, INT32_MAX));
  const auto count = static_cast<size_t>(request.Whole("count", 40, 0, kMostRows));
  Judge::StepsByTensor found = run->GetJudge().FoundSteps();
  JsonWriter json;
  json.BeginObject().Key("all").Whole(static_cast<int64_t>(names.size()));
  json.Key("last").Whole(last).Key("first").Whole(window.first).Key("end").Whole(window.end);
  json.Key("columns").Whole(window.columns).Key("rows").BeginArray();
  const Clock::time_point until = Clock::now() + kMostTime;
  // If time is over, the page asks for the rows that are missing.
  for (size_t i = from; i < std::min(names.size(), from + count) && Clock::now() < until; ++i) {
    const CurveKey key{names[i], request.Text("worker"), request.Text("measure")};
    HeatRow row;
    try {
      row = ReadRow(run->GetTrial(), key, found[names[i]], window, last);
    } catch (const Error &error) {
      if (error.Code() == SMD_INVALID_ARGUMENT) throw BadRequest(400, error.what());
      if (!Damage::IsOfTrial(error)) throw;
    }
    RowToJson(names[i], row, found[names[i]], &json);
  }
  return JsonResponse(json.EndArray().EndObject().Take());
}

Response AnswerHistograms(const ApiContext &context, const Request &request) {
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  const Tensor tensor = TensorOf(*run, request.Text("tensor"));
  const std::string worker = request.Text("worker");
  const int64_t step = request.Whole("step", 0, 0, kAll);
  JsonWriter json;
  try {
    const Saved saved = SavedAt(tensor, step, Mode::kGlobal, worker);
    if (!saved.value || ElementReader(*saved.value).AreTexts()) {
      throw BadRequest(404, "The tensor has no numbers at that step.");
    }
    // Few steps of a large tensor: all of its values are read.
    const auto elements = static_cast<int64_t>(ElementReader(*saved.value).Size());
    const auto most = static_cast<size_t>(
        std::clamp<int64_t>(kMostRead / std::max<int64_t>(elements, 1), 1, kMostHistograms));
    std::vector<int64_t> steps = tensor.Steps();
    const int64_t last = run->Steps()->Last();
    std::erase_if(steps, [last](int64_t each) { return each > last; });
    steps = report::SampleSteps(steps, most, {step});
    Fetch(run->GetTrial(), tensor.Name(), steps);
    auto histograms = report::ReadHistogramsOf(tensor, worker, steps);
    if (!histograms) throw BadRequest(404, "The values were not saved.");
    const Judge::StepsByTensor found = run->GetJudge().FoundSteps();
    const auto of_tensor = found.find(tensor.Name());
    for (report::Histograms::Row &row : histograms->rows) {
      row.is_found = of_tensor != found.end() && of_tensor->second.count(row.step) > 0;
    }
    report::ToJson(*histograms, &json);
  } catch (const Error &error) {
    if (!Damage::IsOfTrial(error)) throw;
    throw BadRequest(404, error.what());
  }
  return JsonResponse(json.Take());
}

Response AnswerCell(const ApiContext &context, const Request &request) {
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  const std::string name = request.Text("tensor");
  const std::string worker = request.Text("worker");
  const int64_t step = request.Whole("step", 0, 0, kAll);
  const Tensor tensor = TensorOf(*run, name);
  JsonWriter json;
  json.BeginObject().Key("tensor").Text(name).Key("step").Whole(step);
  const auto [mode_step, mode] = run->GetTrial().ModeStep(step);
  json.Key("mode").Text(ModeName(mode)).Key("mode_step").Whole(mode_step);
  try {
    const Saved saved = SavedAt(tensor, step, Mode::kGlobal, worker);
    json.Key("workers").Texts(tensor.Workers(step)).Key("statistics").BeginObject();
    for (const char *measure : {"min", "max", "mean", "std", "l1", "l2", "abs_mean", "abs_max"}) {
      const auto number = NumberAt(tensor, step, measure, Mode::kGlobal, worker);
      if (number) NumberToJson(*number, &json.Key(measure));
    }
    json.EndObject().Key("value");
    if (saved.value) {
      ValueToJson(*saved.value, &json.BeginObject());
      json.EndObject();
    } else {
      json.Null();
    }
  } catch (const Error &error) {
    if (!Damage::IsOfTrial(error)) throw;
    throw BadRequest(404, error.what());
  }
  return JsonResponse(json.EndObject().Take());
}

}  // namespace smdebug::cli::serve
