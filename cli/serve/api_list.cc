#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "diagnosis_text.h"
#include "finding_json.h"
#include "natural_order.h"
#include "numbers.h"
#include "serve/api.h"

namespace smdebug::cli::serve {
namespace {

using RunPtr = std::shared_ptr<const Run>;

constexpr double kMicroseconds = 1e6;
constexpr int64_t kMostRows = 500;

void CheckColumn(const std::string &column) {
  constexpr std::array kColumns = {"",        "name", "state",    "steps", "last_step",
                                   "workers", "age",  "findings", "loss"};
  if (std::find(kColumns.begin(), kColumns.end(), column) != kColumns.end()) return;
  throw BadRequest(400,
                   "sort must be name, state, steps, last_step, workers, age, findings or loss.");
}

bool NeedsSummaries(const std::string &column) { return column == "loss" || column == "findings"; }

// The value of a column that the list is sorted by; nothing if it is missing or not finite.
std::optional<double> SortNumber(const Run &run, const std::string &column) {
  if (column == "steps") return static_cast<double>(run.row.steps);
  if (column == "last_step") return static_cast<double>(run.row.last_step);
  if (column == "workers") return static_cast<double>(run.row.workers);
  if (column == "age") return static_cast<double>(run.row.last_time);
  if (!run.summary) return std::nullopt;
  if (column == "findings") return static_cast<double>(run.summary->findings);
  const std::optional<double> loss = column == "loss" ? run.summary->loss : std::nullopt;
  return loss && std::isfinite(*loss) ? loss : std::nullopt;
}

// Those without a number are last, in both orders.
bool NumberIsBefore(std::optional<double> a, std::optional<double> b, bool descends) {
  if (!a || !b) return a && !b;
  return descends ? *a > *b : *a < *b;
}

void Sort(const std::string &column, bool descends, std::vector<RunPtr> *runs) {
  std::stable_sort(runs->begin(), runs->end(), [](const RunPtr &a, const RunPtr &b) {
    return NaturalLess(a->row.name, b->row.name);
  });
  if (column == "name" || column.empty()) {
    if (descends) std::reverse(runs->begin(), runs->end());
    return;
  }
  std::stable_sort(runs->begin(), runs->end(), [&](const RunPtr &a, const RunPtr &b) {
    if (column == "state")
      return descends ? a->row.state > b->row.state : a->row.state < b->row.state;
    return NumberIsBefore(SortNumber(*a, column), SortNumber(*b, column), descends);
  });
}

// Asks for what the list is sorted by, so that a run is not sorted as if it had none because nobody
// has looked at it.  Returns the number of runs that have it already.
int64_t RankBySummaries(const std::string &column, const std::vector<RunPtr> &runs, Runs *all) {
  std::vector<std::string> missing;
  for (const RunPtr &run : runs) {
    const bool is_partial = column == "findings" && run->summary && run->row.state != "running" &&
                            run->summary->evaluated_to < run->row.last_step;
    if (run->row.steps > 0 && (!run->summary || is_partial)) missing.push_back(run->id);
  }
  all->Rank(missing);
  return static_cast<int64_t>(runs.size() - missing.size());
}

// Keeps the runs whose names match.  The library's expressions stop when they take too long.
void Filter(const std::string &regex, std::vector<RunPtr> *runs) {
  if (regex.empty()) return;
  Collection names("names");
  try {
    names.Include(regex);
  } catch (const Error &error) {
    throw BadRequest(400, error.what());
  }
  std::erase_if(*runs, [&](const RunPtr &run) { return !names.Has(run->row.name); });
}

void SummaryToJson(const RunSummary &summary, JsonWriter *json) {
  json->BeginObject().Key("evaluated").Whole(summary.evaluated_to);
  json->Key("findings").Whole(static_cast<int64_t>(summary.findings));
  json->Key("rule").Text(summary.rule).Key("cause").Text(summary.cause);
  json->Key("kinds").Whole(static_cast<int64_t>(summary.kinds)).Key("latest").BeginObject();
  json->Key("rule").Text(summary.latest.rule).Key("step").Whole(summary.latest.step);
  json->Key("message").Text(summary.latest.message).EndObject();
  json->Key("loss_name").Text(summary.loss_name).Key("loss");
  summary.loss ? NumberToJson(*summary.loss, json) : void(json->Null());
  json->Key("sparkline").BeginArray();
  for (const double value : summary.sparkline) NumberToJson(value, json);
  json->EndArray().EndObject();
}

void RowToJson(const Run &run, double now, JsonWriter *json) {
  const ListedRun &row = run.row;
  json->BeginObject().Key("id").Text(run.id).Key("name").Text(row.name);
  json->Key("path").Text(row.path).Key("state").Text(row.state);
  json->Key("steps").Whole(row.steps).Key("last_step").Whole(row.last_step);
  json->Key("workers").Whole(row.workers).Key("problem").Text(row.problem);
  json->Key("age");
  const double age = now - static_cast<double>(row.last_time) / kMicroseconds;
  row.last_time == 0 ? json->Null() : json->Number(std::max(0.0, std::round(age)));
  json->Key("summary");
  run.summary ? SummaryToJson(*run.summary, json) : void(json->Null());
  json->EndObject();
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Escapes the value of a label.
std::string Label(const std::string &text) {
  std::string out;
  for (const char byte : text) {
    if (byte == '\\' || byte == '"') out += '\\';
    out += byte == '\n' ? std::string("\\n") : std::string(1, byte);
  }
  return out;
}

std::string LabelsOf(const Run &run) {
  return "{run=\"" + Label(run.row.name) + "\",id=\"" + run.id + "\"}";
}

// Writes a metric of all runs that have one.
template <class Get>
void AddMetric(const std::vector<RunPtr> &runs, const std::string &name, const char *help,
               const Get &get, std::string *out) {
  *out += "# TYPE smdebug_run_" + name + " gauge\n# HELP smdebug_run_" + name + " " + help + "\n";
  for (const RunPtr &run : runs) {
    const std::optional<double> value = get(*run);
    if (!value) continue;
    const std::string number = std::isnan(*value)   ? "NaN"
                               : std::isinf(*value) ? (*value > 0 ? "+Inf" : "-Inf")
                                                    : Shortest(*value);
    out->append("smdebug_run_").append(name).append(LabelsOf(*run));
    out->append(" ").append(number).append("\n");
  }
}

}  // namespace

Response AnswerRuns(const ApiContext &context, const Request &request) {
  std::vector<RunPtr> runs = context.runs.All();
  const auto version = static_cast<int64_t>(context.runs.Version());
  const size_t all = runs.size();
  Filter(request.Text("regex"), &runs);
  const std::string column = request.Text("sort");
  CheckColumn(column);
  const auto matching = static_cast<int64_t>(runs.size());
  const int64_t ranked =
      NeedsSummaries(column) ? RankBySummaries(column, runs, &context.runs) : matching;
  Sort(column, request.Text("order") == "descending", &runs);
  const auto first = static_cast<size_t>(request.Whole("first", 0, 0, INT32_MAX));
  const auto count = static_cast<size_t>(request.Whole("count", 50, 0, kMostRows));
  const size_t begin = std::min(first, runs.size());
  const size_t end = std::min(begin + count, runs.size());
  JsonWriter json;
  json.BeginObject().Key("version").Whole(version).Key("all").Whole(static_cast<int64_t>(all));
  json.Key("matching").Whole(matching).Key("ranked").Whole(ranked).Key("rows").BeginArray();
  std::vector<std::string> ids;
  const double now = Now();
  for (size_t i = begin; i < end; ++i) {
    RowToJson(*runs[i], now, &json);
    ids.push_back(runs[i]->id);
  }
  context.runs.Want(ids);
  json.EndArray().Key("problems").Texts(context.runs.Problems());
  return JsonResponse(json.EndObject().Take());
}

// Another program that asks again and again sees what a page would show.
void RankAll(const ApiContext &context) {
  RankBySummaries("findings", context.runs.All(), &context.runs);
}

Response AnswerFindings(const ApiContext &context, const Request &) {
  RankAll(context);
  JsonWriter json;
  json.BeginObject().Key("runs").BeginArray();
  for (const std::shared_ptr<OpenRun> &open : context.runs.Opened()) {
    const Judge::State state = open->GetJudge().Now();
    const std::shared_ptr<const StepTable> steps = open->Steps();
    json.BeginObject().Key("id").Text(open->Id()).Key("name").Text(open->Name());
    json.Key("last_step").Whole(steps->Last()).Key("evaluated").Whole(state.evaluated_to);
    json.Key("ended").Bool(steps->has_ended);
    json.Key("count").Whole(static_cast<int64_t>(state.findings)).Key("findings").BeginArray();
    for (const Finding &finding : state.first) ToJson(finding, &json);
    cli::ToJson(state.causes, &json.EndArray().Key("causes"));
    json.EndObject();
  }
  return JsonResponse(json.EndArray().EndObject().Take());
}

Response AnswerMetrics(const ApiContext &context, const Request &) {
  RankAll(context);
  const std::vector<RunPtr> runs = context.runs.All();
  std::string out;
  const auto whole = [](int64_t number) {
    return std::optional<double>(static_cast<double>(number));
  };
  AddMetric(
      runs, "steps", "Steps that were recorded.",
      [&](const Run &run) { return whole(run.row.steps); }, &out);
  AddMetric(
      runs, "last_step", "The last global step.",
      [&](const Run &run) { return whole(run.row.last_step); }, &out);
  AddMetric(
      runs, "running", "1 if the job is running.",
      [&](const Run &run) { return whole(run.row.state == "running" ? 1 : 0); }, &out);
  AddMetric(
      runs, "last_step_time_seconds", "When the last step was recorded.",
      [](const Run &run) -> std::optional<double> {
        if (run.row.last_time == 0) return std::nullopt;
        return static_cast<double>(run.row.last_time) / kMicroseconds;
      },
      &out);
  AddMetric(
      runs, "loss", "The last recorded loss, if the server has read the run.",
      [](const Run &run) { return run.summary ? run.summary->loss : std::nullopt; }, &out);
  AddMetric(
      runs, "findings", "The number of findings, if the server has evaluated the run.",
      [&](const Run &run) -> std::optional<double> {
        if (!run.summary) return std::nullopt;
        return static_cast<double>(run.summary->findings);
      },
      &out);
  out +=
      "# TYPE smdebug_serve_clients gauge\n# HELP smdebug_serve_clients Clients that watch.\n"
      "smdebug_serve_clients " +
      std::to_string(context.clients()) + "\n# EOF\n";
  return {200, "application/openmetrics-text; version=1.0.0; charset=utf-8", std::move(out)};
}

}  // namespace smdebug::cli::serve
