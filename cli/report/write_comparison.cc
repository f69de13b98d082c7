#include <algorithm>
#include <ostream>
#include <set>

#include "comparison.h"
#include "html.h"
#include "limits.h"
#include "page.h"
#include "request.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

bool AreUnique(const std::vector<std::string> &names) {
  return std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

// Returns the names of the trials; if they are not unique, paths, with numbers if needed.
std::vector<std::string> NamesOf(const std::vector<ReportRequest> &requests) {
  std::vector<std::string> names;
  for (const ReportRequest &request : requests) names.push_back(request.trial.Name());
  if (AreUnique(names)) return names;
  names.clear();
  for (const ReportRequest &request : requests) names.push_back(request.trial.Path());
  if (AreUnique(names)) return names;
  for (size_t i = 0; i < names.size(); ++i) names[i] += " (" + std::to_string(i + 1) + ")";
  return names;
}

ComparedRun ReadRun(const ReportRequest &request, const std::string &name, size_t runs,
                    Problems *problems) {
  const Trial &trial = request.trial;
  ComparedRun run;
  run.name = name;
  run.path = trial.Path();
  run.state = trial.HasEnded() ? "ended" : "not ended";
  if (!trial.Failure().empty()) run.state = "failed";
  run.rules = EvaluateRules(request, problems);
  run.inventory = TakeInventory(trial, trial.TensorNames(), problems);
  run.curves = ReadCurves(trial, run.inventory, kMostComparedReads / runs, problems);
  const RunFacts facts = ReadRunFacts(trial, request.options, problems);
  run.settings = SettingsOf(trial, run.inventory, facts, problems);
  return run;
}

std::string DataJson(const Curves &curves) {
  JsonWriter json;
  ToJson(curves.charts, &json.BeginObject().Key("charts"));
  json.Key("hidden_charts").Whole(static_cast<int64_t>(curves.hidden));
  return json.EndObject().Take();
}

std::string PathsHtml(const std::vector<ComparedRun> &runs) {
  std::string html;
  for (const ComparedRun &run : runs) {
    html += Fact(Html(run.name), "<code>" + Html(run.path) + "</code>");
  }
  return "<dl class=\"facts\">" + html + "</dl>\n";
}

}  // namespace

ReportSummary WriteComparison(const std::vector<ReportRequest> &requests, std::ostream &out) {
  const std::vector<std::string> names = NamesOf(requests);
  std::vector<ComparedRun> runs;
  std::string told;
  for (size_t i = 0; i < requests.size(); ++i) {
    Problems problems(requests[i].trial, requests[i].damage);
    runs.push_back(ReadRun(requests[i], names[i], requests.size(), &problems));
    told += ProblemsHtml(problems);
  }
  std::vector<Curves> all;
  ReportSummary summary;
  for (ComparedRun &run : runs) {
    all.push_back(run.curves);
    summary.findings += run.rules.CountFindings();
    summary.rules_with_findings += run.rules.CountRules(Level::kFinding);
    summary.rules_worth_a_look += run.rules.CountRules(Level::kWorthALook);
  }
  const Curves curves = Overlay(std::move(all), names);
  std::string links = LinkHtml("rules", "Findings");
  std::string sections = SectionHtml("rules", "Findings side by side", FindingsTableHtml(runs));
  if (!curves.charts.empty()) {
    links += LinkHtml("curves", "Losses and metrics");
    sections += SectionHtml("curves", "Losses and metrics",
                            "<div class=\"drawn\" data-part=\"curves\"></div>\n");
  }
  links += LinkHtml("configuration", "Configuration");
  sections +=
      SectionHtml("configuration", "What differs in the configuration", DifferencesHtml(runs));
  const std::string title = Count(runs.size(), "run") + ": " + Join(names, ", ");
  out << FillIn(kPage, {{"title", Html(title)},
                        {"style", std::string(kChartStyle) + std::string(kStyle)},
                        {"name", Html(title)},
                        {"headline", ComparisonHeadlineHtml(runs)},
                        {"problems", told},
                        {"facts", PathsHtml(runs)},
                        {"links", links},
                        {"sections", sections},
                        {"made", FootText()},
                        {"data", JsonInHtml(DataJson(curves))},
                        {"script", std::string(kChartScript) + std::string(kScript)}});
  return summary;
}

}  // namespace smdebug::cli::report
