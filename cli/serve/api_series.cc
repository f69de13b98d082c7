#include <array>
#include <limits>

#include "serve/api.h"
#include "serve/series.h"

namespace smdebug::cli::serve {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
constexpr std::array kModes = {Mode::kTrain, Mode::kEval, Mode::kPredict, Mode::kGlobal};

// Splits points by the modes of their steps, in the order of kModes.
std::array<Points, kModes.size()> ByMode(Points points) {
  std::array<Points, kModes.size()> lines;
  const auto place = [](Mode mode) { return static_cast<size_t>(mode) - 1; };
  for (size_t i = 0; i < points.steps.size(); ++i) {
    Points &line = lines[place(points.modes[i])];
    line.steps.push_back(points.steps[i]);
    line.values.push_back(points.values[i]);
  }
  return lines;
}

// Writes the values of a smooth line at some of its steps.
void SmoothToJson(const Points &smooth, const std::vector<int64_t> &steps, JsonWriter *json) {
  json->BeginArray();
  size_t i = 0;
  for (const int64_t step : steps) {
    while (smooth.steps[i] != step) ++i;
    NumberToJson(smooth.values[i], json);
  }
  json->EndArray();
}

}  // namespace

void SeriesToJson(OpenRun &run, const SeriesQuery &query, JsonWriter *json) {
  json->BeginObject().Key("tensor").Text(query.key.tensor).Key("worker").Text(query.key.worker);
  json->Key("last").Whole(run.Steps()->Last()).Key("lines").BeginArray();
  // A smooth line depends on the points before it.
  std::array lines = ByMode(run.Read(query.key, query.weight > 0 ? 0 : query.first, query.end));
  for (const Mode mode : kModes) {
    Points &points = lines[static_cast<size_t>(mode) - 1];
    if (points.steps.empty()) continue;
    json->BeginObject().Key("mode").Text(ModeName(mode));
    json->Key("count").Whole(static_cast<int64_t>(points.steps.size()));
    const Points thin = query.weight > 0
                            ? Thin(Cut({points.steps, points.values, 0}, query.first, query.end),
                                   query.first, query.end, query.pixels)
                            : Thin(points, query.first, query.end, query.pixels);
    ToJson(thin, &json->Key("points"));
    if (query.weight > 0) {
      Smooth(query.weight, &points);
      SmoothToJson(points, thin.steps, &json->Key("smooth"));
    }
    json->EndObject();
  }
  json->EndArray().EndObject();
}

Response AnswerSeries(const ApiContext &context, const Request &request) {
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  SeriesQuery query;
  query.key = {request.Text("tensor"), request.Text("worker"),
               request.query.count("measure") > 0 ? request.Text("measure") : "mean"};
  query.first = request.Whole("first", 0, 0, kAll - 1);
  query.end = request.Whole("end", run->Steps()->Last() + 1, 0, kAll);
  query.pixels = request.Whole("pixels", 800, 1, kMostPixels);
  query.weight = request.Number("smooth", 0, 0, 0.9999);
  JsonWriter json;
  SeriesToJson(*run, query, &json);
  return JsonResponse(json.Take());
}

}  // namespace smdebug::cli::serve
