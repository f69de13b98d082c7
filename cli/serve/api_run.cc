#include <algorithm>
#include <limits>
#include <map>

#include "curve_names.h"
#include "diagnosis_text.h"
#include "elements.h"
#include "finding_json.h"
#include "report/booster.h"
#include "report/predictions.h"
#include "report/profile_report.h"
#include "rule_advice.h"
#include "serve/api.h"
#include "serve/series.h"
#include "text.h"

namespace smdebug::cli::serve {
namespace {

constexpr size_t kMostCurves = 400;
constexpr size_t kMostElements = 24;  // a longer hyper-parameter is cut
constexpr size_t kMostRegexes = 100;
constexpr size_t kCurvesWithLines = 12;
constexpr int64_t kMostWorkers = 8;
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// The lines that a page draws first, so that it need not ask for each.
struct FirstLines {
  std::vector<std::string> workers;
  int64_t pixels = 0;  // 0: none
};

void LinesToJson(OpenRun &run, const std::string &tensor, const FirstLines &lines,
                 JsonWriter *json) {
  json->Key("series").BeginArray();
  for (const std::string &worker : lines.workers) {
    JsonWriter one;
    try {
      SeriesToJson(run, {{tensor, worker, "mean"}, 0, run.Steps()->Last() + 1, lines.pixels}, &one);
    } catch (const Error &) {
      continue;  // the page's own request says why
    }
    json->Raw(one.Take());
  }
  json->EndArray();
}

void CurvesToJson(OpenRun &run, const Inventory &tensors, const FirstLines &lines,
                  JsonWriter *json) {
  size_t count = 0;
  json->BeginArray();
  for (const bool losses : {true, false}) {
    for (const NamedTensor &tensor : tensors) {
      if (tensor.kind != TensorKind::kCurve || IsLoss(tensor.name, tensor.collections) != losses)
        continue;
      if (++count > kMostCurves) continue;
      json->BeginObject().Key("tensor").Text(tensor.name).Key("is_loss").Bool(losses);
      json->Key("measure").Text(CurveMeasure(tensor.name, tensor.collections));
      json->Key("collections").Texts(tensor.collections);
      if (lines.pixels > 0 && count <= kCurvesWithLines) LinesToJson(run, tensor.name, lines, json);
      json->EndObject();
    }
  }
  json->EndArray();
}

// Writes each collection with layers, and their number.
void GroupsToJson(const Inventory &tensors, JsonWriter *json) {
  std::map<std::string, int64_t> groups;
  for (const NamedTensor &tensor : tensors) {
    if (tensor.kind != TensorKind::kLayer) continue;
    for (const std::string &name : tensor.collections) ++groups[name];
    if (tensor.collections.empty()) ++groups[""];
  }
  json->BeginArray();
  for (const auto &[name, count] : groups) {
    json->BeginObject().Key("name").Text(name).Key("tensors").Whole(count).EndObject();
  }
  json->EndArray();
}

void ResultsToJson(const Judge::State &state, JsonWriter *json) {
  json->Key("evaluated").Whole(state.evaluated_to);
  json->Key("count").Whole(static_cast<int64_t>(state.findings)).Key("findings").BeginArray();
  for (const Finding &finding : state.first) ToJson(finding, json);
  cli::ToJson(state.causes, &json->EndArray().Key("causes"));
  json->Key("rules").BeginArray();
  for (const RuleResult &result : state.results) {
    json->BeginObject().Key("rule").Text(result.rule).Key("status").Text(Name(result.status));
    json->Key("findings").Whole(result.finding_count);
    json->Key("advice").Text(std::string(AdviceFor(result.rule)));
    json->Key("message").Text(result.message).EndObject();
  }
  json->EndArray();
}

using Configuration = std::map<std::string, std::string>;

void AddSaveConfig(const std::string &prefix, const SaveConfig &config, Configuration *out) {
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict, Mode::kGlobal}) {
    if (!config.IsSet(mode)) continue;
    const SaveConfig::Settings settings = config.SettingsOf(mode);
    const std::string name = prefix + "." + ModeName(mode);
    (*out)[name + ".interval"] = std::to_string(settings.every);
    if (settings.first != 0) (*out)[name + ".start"] = std::to_string(settings.first);
    if (settings.end >= 0) (*out)[name + ".end"] = std::to_string(settings.end);
  }
}

void AddCollection(const Trial &trial, const std::string &name, Configuration *out) {
  const Collection collection = trial.Collection(name);
  const std::string prefix = "collection " + name;
  std::vector<std::string> regexes = collection.Regexes();
  if (regexes.size() > kMostRegexes) regexes.resize(kMostRegexes);
  if (!regexes.empty()) (*out)[prefix + ".regex"] = Join(regexes, ", ");
  if (const auto save = collection.OwnSaveConfig()) AddSaveConfig(prefix, *save, out);
  if (const auto reduction = collection.OwnReductionConfig()) {
    (*out)[prefix + ".reductions"] = Join(reduction->Reductions(), ", ");
  }
}

void AddHyperparameter(const Trial &trial, const std::string &name, Configuration *out) {
  const Tensor tensor = trial.Tensor(name);
  const std::vector<int64_t> steps = tensor.Steps();
  if (steps.empty()) return;
  const Value value = tensor.Value(steps.front());
  const ElementReader reader(value);
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(reader.Size(), kMostElements); ++i)
    texts.push_back(reader.Text(i));
  (*out)["hyperparameter " + name.substr(name.rfind('/') + 1)] = Join(texts, ", ");
}

template <class Read>
void IfReadable(const Read &read) {
  try {
    read();
  } catch (const Error &error) {
    if (!Damage::IsOfTrial(error)) throw;
  }
}

Configuration ReadConfiguration(OpenRun &run) {
  Configuration out;
  const Trial &trial = run.GetTrial();
  out["workers"] = std::to_string(trial.Workers().size());
  IfReadable([&] {
    for (const auto &[name, value] : trial.Metadata()) out[name] = value;
  });
  for (const std::string &name : trial.Collections()) {
    IfReadable([&] { AddCollection(trial, name, &out); });
  }
  for (const NamedTensor &tensor : *run.Tensors()) {
    const auto &own = tensor.collections;
    const bool is_one = std::find(own.begin(), own.end(), "hyperparameters") != own.end();
    if (is_one) IfReadable([&] { AddHyperparameter(trial, tensor.name, &out); });
  }
  return out;
}

}  // namespace

Response AnswerRun(const ApiContext &context, const Request &request) {
  const std::shared_ptr<const Run> known = context.runs.Find(request.Text("id"));
  const std::shared_ptr<OpenRun> run = RunOf(context, request);
  context.runs.Want({run->Id()});
  const std::shared_ptr<const StepTable> steps = run->Steps();
  const Judge::State state = run->GetJudge().Now();
  const std::shared_ptr<const Inventory> tensors = run->Tensors();
  JsonWriter json;
  json.BeginObject().Key("id").Text(run->Id()).Key("name").Text(run->Name());
  json.Key("path").Text(known->row.path);
  const std::string ended = steps->failure.empty() ? "finished" : "failed";
  json.Key("state").Text(steps->has_ended ? ended : known->row.state);
  json.Key("failure").Text(steps->failure);
  json.Key("steps").Whole(static_cast<int64_t>(steps->steps.size()));
  json.Key("first").Whole(steps->steps.empty() ? 0 : steps->steps.front());
  json.Key("last").Whole(steps->Last()).Key("ended").Bool(steps->has_ended);
  steps->ModesToJson(&json.Key("modes"));
  json.Key("workers").Texts(run->GetTrial().Workers());
  json.Key("tensors").Whole(static_cast<int64_t>(tensors->size()));
  json.Key("begun").Whole(known->row.first_time / 1'000'000);  // seconds since 1970
  json.Key("last_time").Whole(known->row.last_time / 1'000'000);
  const bool has_loss = known->summary && known->summary->loss;
  has_loss ? json.Key("loss").Number(*known->summary->loss) : json.Key("loss").Null();
  json.Key("profile").Bool(!report::FindProfile(known->row.path).empty());
  const auto has_any = [&](const auto &is_one) {
    return std::any_of(tensors->begin(), tensors->end(), is_one);
  };
  const auto is_of_booster = [](const auto &each) { return report::IsOfBooster(each.name); };
  const auto is_of_predictions = [](const auto &each) {
    return report::IsOfPredictions(each.name, each.collections);
  };
  json.Key("booster").Bool(has_any(is_of_booster));
  json.Key("predictions").Bool(has_any(is_of_predictions));
  FirstLines lines{{""}, request.Whole("pixels", 0, 0, kMostPixels)};
  const auto workers = static_cast<size_t>(request.Whole("workers", 1, 1, kMostWorkers));
  if (workers > 1 && run->GetTrial().Workers().size() > 1) {
    lines.workers = run->GetTrial().Workers();
    lines.workers.resize(std::min(workers, lines.workers.size()));
  }
  CurvesToJson(*run, *tensors, lines, &json.Key("curves"));
  GroupsToJson(*tensors, &json.Key("groups"));
  ResultsToJson(state, &json);
  const auto sent = static_cast<int64_t>(state.first.size());
  json.Key("cursor").Text(run->Id() + ":" + std::to_string(steps->Last()) + ":" +
                          std::to_string(sent) + ":" + std::to_string(known->row.first_time));
  return JsonResponse(json.EndObject().Take());
}

Response AnswerTimes(const ApiContext &context, const Request &request) {
  const std::shared_ptr<const Run> run = context.runs.Find(request.Text("id"));
  const int64_t pixels = request.Whole("pixels", 800, 1, kMostPixels);
  const StepTimes times =
      ReadTimes(run->row.path, request.Text("tensor"), request.Whole("first", 0, 0, kAll - 1),
                context.runs.GetSettings());
  // Times between these are close to those on the straight lines.
  const size_t every = std::max<size_t>(1, times.size() / static_cast<size_t>(pixels));
  JsonWriter json;
  json.BeginObject().Key("steps").BeginArray();
  std::vector<double> seconds;
  size_t i = 0;
  for (const auto &[step, time] : times) {
    if (i++ % every != 0 && i != times.size()) continue;
    json.Whole(step);
    seconds.push_back(time);
  }
  json.EndArray().Key("seconds").BeginArray();
  for (const double time : seconds) json.Number(time);
  return JsonResponse(json.EndArray().EndObject().Take());
}

Response AnswerProfile(const ApiContext &context, const Request &request) {
  return JsonResponse(context.profiles.JsonOf(*context.runs.Find(request.Text("id"))));
}

Response AnswerConfiguration(const ApiContext &context, const Request &request) {
  JsonWriter json;
  json.BeginObject();
  for (const auto &[name, value] : ReadConfiguration(*RunOf(context, request))) {
    json.Key(name).Text(value);
  }
  return JsonResponse(json.EndObject().Take());
}

}  // namespace smdebug::cli::serve
