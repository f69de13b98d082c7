#include <algorithm>
#include <ostream>

#include "booster.h"
#include "configuration_html.h"
#include "curves.h"
#include "diagnosis_html.h"
#include "histograms.h"
#include "html.h"
#include "limits.h"
#include "page.h"
#include "predictions.h"
#include "profile_html.h"
#include "request.h"
#include "rules_html.h"
#include "statistics.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

// All contents of the page.
struct Contents {
  RuleReport rules;
  Inventory inventory;
  RunFacts facts;
  Curves curves;
  Statistics statistics;
  std::vector<Histograms> histograms;
  Booster booster;
  std::optional<PredictionReport> predictions;
  std::optional<ProfileReport> profile;
};

Contents Gather(const ReportRequest &request, Problems *problems) {
  const Trial &trial = request.trial;
  Contents contents;
  contents.profile = ReadProfile(request, problems);
  contents.rules = EvaluateRules(request, problems);
  contents.inventory = TakeInventory(trial, trial.TensorNames(), problems);
  contents.facts = ReadRunFacts(trial, request.options, problems);
  const Inventory &inventory = contents.inventory;
  contents.curves = ReadCurves(trial, inventory, kMostCurveReads, problems);
  contents.statistics = ReadStatistics(trial, inventory, contents.rules, problems);
  contents.histograms = ReadHistograms(trial, inventory, contents.rules, problems);
  contents.booster = ReadBooster(inventory, problems);
  problems->Try([&] { contents.predictions = ReadPredictions(inventory); });
  return contents;
}

// Writes the first workers, with the number of tensors and findings of each.
void WorkersToJson(const Inventory &inventory, const RuleReport &report, JsonWriter *json) {
  json->BeginArray();
  for (size_t i = 0; i < std::min(inventory.workers.size(), kMostWorkers); ++i) {
    const std::string &worker = inventory.workers[i];
    int64_t count = 0;
    for (const RecordedTensor &recorded : inventory.tensors) {
      count += std::count(recorded.workers.begin(), recorded.workers.end(), worker);
    }
    json->BeginObject().Key("name").Text(Brief(worker)).Key("tensors").Whole(count);
    const auto findings = report.count_by_worker.find(worker);
    const bool has_findings = findings != report.count_by_worker.end();
    json->Key("findings").Whole(has_findings ? static_cast<int64_t>(findings->second) : 0);
    json->EndObject();
  }
  json->EndArray();
}

std::string DataJson(const Contents &contents) {
  const Inventory &inventory = contents.inventory;
  JsonWriter json;
  json.BeginObject().Key("steps").BeginObject();
  json.Key("first").Whole(inventory.steps.empty() ? 0 : inventory.steps.front());
  json.Key("last").Whole(inventory.steps.empty() ? 0 : inventory.steps.back()).EndObject();
  WorkersToJson(inventory, contents.rules, &json.Key("workers"));
  ToJson(contents.rules, &json.Key("rules"));
  ToJson(contents.curves.charts, &json.Key("charts"));
  json.Key("hidden_charts").Whole(static_cast<int64_t>(contents.curves.hidden));
  ToJson(contents.statistics, &json.Key("statistics"));
  ToJson(contents.histograms, &json.Key("histograms"));
  ToJson(contents.booster, &json.Key("booster"));
  json.Key("predictions");
  contents.predictions ? ToJson(*contents.predictions, &json) : void(json.Null());
  if (contents.profile) json.Key("profile").Raw(contents.profile->charts);
  return json.EndObject().Take();
}

// A part of the page that scripts fill, with its entry in the table of contents.
struct Section {
  const char *id;
  const char *title;
  std::string html;
  bool is_there;
};

std::string StatisticsNote(const Statistics &statistics) {
  std::string note =
      "Each row of the heat map is a tensor, each column a step. The scale is logarithmic.";
  if (statistics.steps.size() < statistics.all_steps) {
    note += " It shows " + std::to_string(statistics.steps.size()) + " of " +
            Count(statistics.all_steps, "step") + ", including those with findings.";
  }
  if (statistics.layers.size() < statistics.all_layers) {
    note += " It shows " + std::to_string(statistics.layers.size()) + " of " +
            Count(statistics.all_layers, "tensor") + ", including those with findings.";
  }
  return note;
}

std::string NoteHtml(const std::string &note) { return "<p class=\"note\">" + note + "</p>\n"; }

std::vector<Section> SectionsOf(const Contents &contents) {
  const bool has_layers = !contents.statistics.names.empty();
  const bool has_booster =
      !contents.booster.importances.empty() || !contents.booster.trees.steps.empty();
  const bool has_profile = contents.profile.has_value();
  const std::string profile = has_profile ? ProfileHtml(*contents.profile) : "";
  const bool has_workers = contents.inventory.workers.size() > 1;
  return {
      {"curves", "Losses and metrics", "", !contents.curves.charts.empty()},
      {"profile", "Where the time goes", profile, has_profile},
      {"layers", "Layers over the steps", NoteHtml(StatisticsNote(contents.statistics)),
       has_layers},
      {"histograms", "Histograms over the steps", "", !contents.histograms.empty()},
      {"workers", "Workers side by side", "", has_workers},
      {"booster", "Features and trees", "", has_booster},
      {"predictions", "Predictions", "", contents.predictions.has_value()},
  };
}

}  // namespace

ReportSummary WriteReport(const ReportRequest &request, std::ostream &out) {
  Problems problems(request.trial, request.damage);
  const Contents contents = Gather(request, &problems);
  const std::string configuration =
      ConfigurationHtml(request, contents.inventory, contents.facts,
                        contents.rules.found.size() + contents.rules.others.size(), &problems);

  // Adds messages that the trial logged meanwhile, for example that rules skipped a tensor.
  const std::vector<std::string> &told = problems.Sentences();
  for (const std::string &sentence : request.damage.Sentences()) {
    if (std::find(told.begin(), told.end(), sentence) == told.end()) problems.Add(sentence);
  }

  const std::optional<ProfileReport> &profile = contents.profile;
  const std::string of_profile = profile ? ProfileFindingsHtml(*profile) : "";
  std::string links = LinkHtml("rules", "Findings");
  std::string sections = SectionHtml(
      "rules", "Findings", "<div id=\"timeline\"></div>\n" + RulesHtml(contents.rules, of_profile));
  for (const Section &section : SectionsOf(contents)) {
    if (!section.is_there) continue;
    links += LinkHtml(section.id, section.title);
    sections += SectionHtml(
        section.id, section.title,
        section.html + "<div class=\"drawn\" data-part=\"" + section.id + "\"></div>\n");
  }
  links += LinkHtml("configuration", "Configuration");
  sections += SectionHtml("configuration", "Configuration", configuration);

  out << FillIn(kPage,
                {{"title", Html(TitleText(contents.rules) + " · " + request.trial.Name())},
                 {"style", std::string(kChartStyle) + std::string(kStyle)},
                 {"name", Html(request.trial.Name())},
                 {"headline", DiagnosisHtml(contents.rules.causes) + HeadlineHtml(contents.rules) +
                                  (profile ? ProfileHeadlineHtml(*profile) : "")},
                 {"problems", ProblemsHtml(problems)},
                 {"facts", TrialFactsHtml(request.trial, contents.inventory, contents.facts)},
                 {"links", links},
                 {"sections", sections},
                 {"made", FootText()},
                 {"data", JsonInHtml(DataJson(contents))},
                 {"script", std::string(kChartScript) + std::string(kScript)}});
  return {contents.rules.CountFindings(), contents.rules.CountRules(Level::kFinding),
          contents.rules.CountRules(Level::kWorthALook), profile ? profile->findings.size() : 0};
}

}  // namespace smdebug::cli::report
