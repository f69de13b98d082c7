#include "rules_html.h"

#include <algorithm>
#include <cmath>

#include "check_words.h"
#include "compact.h"
#include "html.h"
#include "limits.h"
#include "numbers.h"
#include "rule_advice.h"
#include "sampling.h"
#include "saved.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

std::string StepText(const Finding &finding) {
  return cli::StepText(finding.step, finding.mode, finding.mode_step);
}

std::string NumberHtml(double number) { return std::isnan(number) ? "" : Short(number); }

// Returns "2 rules with findings, 15 passed, 3 without matching tensors, 1 without enough data".
std::string CountsText(const RuleReport &report) {
  size_t passed = 0;
  size_t without_tensor = 0;
  size_t without_data = 0;
  for (const RuleResult &result : report.others) {
    if (result.status == RuleStatus::kPassed) ++passed;
    if (result.status == RuleStatus::kNoTensors) ++without_tensor;
    if (result.status == RuleStatus::kNotEnoughData) ++without_data;
  }
  const size_t found = report.CountRules(Level::kFinding);
  const size_t looks = report.CountRules(Level::kWorthALook);
  std::vector<std::string> parts;
  const auto add = [&parts](size_t count, const char *what) {
    parts.push_back((parts.empty() ? Count(count, "rule") : std::to_string(count)) + what);
  };
  if (found > 0) add(found, " with findings");
  if (looks > 0) add(looks, " with something worth a look");
  add(passed, " passed");
  if (without_tensor > 0) {
    parts.push_back(std::to_string(without_tensor) + " without matching tensors");
  }
  if (without_data > 0) parts.push_back(std::to_string(without_data) + " without enough data");
  if (!report.skipped.empty()) {
    parts.push_back(std::to_string(report.skipped.size()) + " skipped");
  }
  return Join(parts, ", ");
}

std::string CodeHtml(const std::string &text) {
  return text.empty() ? "" : "<code>" + Html(text) + "</code>";
}

std::string MeasureHtml(double number, const Measure &measure) {
  const std::string html = NumberHtml(number);
  return html.empty() || measure.unit.empty() ? html : html + " " + std::string(measure.unit);
}

std::string FactsOf(const Finding &finding) {
  const Measure measure = MeasureOf(finding.rule, finding.check);
  return "<dl class=\"facts\">" + Fact("Tensor", CodeHtml(finding.tensor)) +
         Fact("Step", StepText(finding)) + Fact("Value", MeasureHtml(finding.value, measure)) +
         Fact("Limit", MeasureHtml(finding.limit, measure)) +
         Fact("Check", Html(CheckWords(finding.check))) + Fact("Worker", CodeHtml(finding.worker)) +
         "</dl>";
}

std::string FindingsTable(const RuleFindings &rule) {
  std::string rows;
  for (const Finding &finding : rule.findings) {
    rows += "<tr><td class=\"number\">" + StepText(finding) + "</td><td>" +
            CodeHtml(finding.tensor) + "</td><td class=\"number\">" + NumberHtml(finding.value) +
            "</td><td class=\"number\">" + NumberHtml(finding.limit) + "</td><td>" +
            Html(finding.worker) + "</td><td>" + Html(finding.message) + "</td></tr>\n";
  }
  const size_t shown = rule.findings.size();
  const std::string summary = shown == rule.steps.size()
                                  ? "All " + Count(rule.steps.size(), "finding")
                                  : "The first " + std::to_string(shown) + " of " +
                                        std::to_string(rule.steps.size()) + " findings";
  return "<details><summary>" + summary +
         "</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Findings "
         "of " +
         Html(rule.rule) +
         "\"><table><thead><tr><th>Step</th><th>Tensor</th><th>Value</th><th>Limit</th>"
         "<th>Worker</th><th>What</th></tr></thead><tbody>\n" +
         rows + "</tbody></table></div></details>";
}

std::string AdviceHtml(const std::string &rule) {
  const std::string_view advice = AdviceFor(rule);
  if (advice.empty()) return "";
  return "<p class=\"advice\"><b>What to do:</b> " + Html(advice) + "</p>\n";
}

std::string RuleHtml(const RuleFindings &rule, size_t number) {
  const std::string id = std::to_string(number);
  const Finding &first = rule.findings.front();
  const bool is_finding = rule.GetLevel() == Level::kFinding;
  const std::string count = is_finding ? Count(rule.steps.size(), "finding")
                                       : "worth a look, " + Count(rule.steps.size(), "time");
  return std::string("<article class=\"card finding") + (is_finding ? "" : " look") +
         "\" id=\"finding-" + id + "\"><h3><span class=\"badge\">" + id + "</span> " +
         Html(rule.rule) + " <span class=\"count\">" + count +
         "</span></h3>\n<div class=\"sides\"><div><p class=\"message\">" + Html(first.message) +
         "</p>\n" + FactsOf(first) + "<p class=\"note\">The rule: " + Html(rule.summary) +
         ".</p>\n" + AdviceHtml(rule.rule) + "</div><div class=\"culprit-curve\" data-rule=\"" +
         std::to_string(number - 1) + "\"></div></div>\n" +
         (rule.steps.size() > 1 ? FindingsTable(rule) : "") + "</article>\n";
}

struct ResultLook {
  const char *kind;
  const char *sign;
  const char *words;
};
ResultLook LookOf(RuleStatus status) {
  switch (status) {
    case RuleStatus::kNoTensors: return {"idle", "–", "no tensors"};
    case RuleStatus::kNotEnoughData: return {"idle", "…", "not enough data"};
    default: return {"good", "✓", "passed"};
  }
}

// Returns a rule's name, which explains itself to the pointer, and the reason if there is one.
std::string NameHtml(const RuleReport &report, const std::string &rule,
                     const std::string &message) {
  const auto summary = report.summaries.find(rule);
  const std::string about = summary == report.summaries.end() ? "" : summary->second;
  std::string reason = message;
  for (const std::string &known : {rule + ": ", std::string("not enough data: ")}) {
    if (reason.starts_with(known)) reason.erase(0, known.size());
  }
  if (!reason.empty()) reason = " (" + Html(reason) + ")";
  return "<b title=\"" + Html(about) + "\">" + Html(rule) + "</b>" + reason;
}

std::string ResultHtml(const std::vector<std::string> &names, const ResultLook &look) {
  if (names.empty()) return "";
  return std::string("<li><span class=\"status ") + look.kind + "\"><span aria-hidden=\"true\">" +
         look.sign + "</span> " + look.words + "</span><span>" + Join(names, ", ") +
         "</span></li>\n";
}

std::string ResultsHtml(const RuleReport &report) {
  std::string rows;
  for (const RuleStatus status :
       {RuleStatus::kPassed, RuleStatus::kNotEnoughData, RuleStatus::kNoTensors}) {
    std::vector<std::string> names;
    for (const RuleResult &result : report.others) {
      const bool has_reason = status == RuleStatus::kNotEnoughData;
      if (result.status != status) continue;
      names.push_back(NameHtml(report, result.rule, has_reason ? result.message : ""));
    }
    rows += ResultHtml(names, LookOf(status));
  }
  std::vector<std::string> skipped;
  for (const SkippedRule &rule : report.skipped) {
    skipped.push_back(NameHtml(report, rule.name, rule.message));
  }
  rows += ResultHtml(skipped, {"idle", "○", "skipped"});
  if (rows.empty()) return "";
  return "<div class=\"card\"><h3>" +
         std::string(report.found.empty() ? "The rules" : "The other rules") +
         "</h3>\n<ul class=\"results\">\n" + rows + "</ul></div>\n";
}

}  // namespace

bool WasEvaluated(const RuleReport &report) {
  for (const RuleResult &result : report.others) {
    if (result.status == RuleStatus::kPassed) return true;
  }
  return !report.found.empty();
}

std::string HeadlineHtml(const RuleReport &report) {
  const std::string counts =
      CountsText(report) + (report.is_aws ? std::string(". ") + kAboutAws : "");
  if (!report.found.empty()) {
    const Finding &culprit = report.found.front().findings.front();
    const std::string where =
        culprit.tensor.empty() ? "" : " in <code>" + Html(culprit.tensor) + "</code>";
    const bool is_finding = culprit.level == Level::kFinding;
    return BoxHtml(is_finding ? "bad" : "look", is_finding ? "✕" : "!",
                   (is_finding ? "" : "Worth a look: ") + Html(culprit.rule) + where + ", step " +
                       std::to_string(culprit.step),
                   Html(culprit.message), counts);
  }
  if (WasEvaluated(report)) return BoxHtml("good", "✓", "No findings", "", counts);
  return BoxHtml("idle", "–", "No rule could be evaluated", "", counts);
}

std::string TitleText(const RuleReport &report) {
  if (report.found.empty()) return WasEvaluated(report) ? "✓" : "–";
  const bool is_finding = report.found.front().GetLevel() == Level::kFinding;
  return (is_finding ? "✕ " : "! ") + report.found.front().rule;
}

std::string RulesHtml(const RuleReport &report, const std::string &more) {
  std::string html;
  for (size_t i = 0; i < report.found.size(); ++i) html += RuleHtml(report.found[i], i + 1);
  return html + more + ResultsHtml(report);
}

void ToJson(const RuleReport &report, JsonWriter *json) {
  json->BeginArray();
  for (const RuleFindings &rule : report.found) {
    json->BeginObject().Key("rule").Text(rule.rule);
    json->Key("level")
        .Text(Name(rule.GetLevel()))
        .Key("count")
        .Whole(static_cast<int64_t>(rule.steps.size()));
    std::vector<int64_t> steps;
    for (const size_t place : EvenPlaces(rule.steps.size(), kMostPoints))
      steps.push_back(rule.steps[place]);
    AddWholes(steps, &json->Key("steps"));
    json->Key("findings").BeginArray();
    for (const Finding &finding : rule.findings) {
      json->BeginObject().Key("step").Whole(finding.step).Key("tensor").Text(Brief(finding.tensor));
      json->Key("worker").Text(Brief(finding.worker)).Key("check").Text(CheckWords(finding.check));
      const bool has_limit = !std::isnan(finding.limit);
      const Measure measure = MeasureOf(finding.rule, finding.check);
      const std::string unit = measure.unit.empty() ? "" : " (" + std::string(measure.unit) + ")";
      json->Key("measure").Text(std::string(measure.what) + unit);
      AddNumber(finding.value, &json->Key("value"));
      AddNumber(has_limit ? MaybeNumber(finding.limit) : std::nullopt, &json->Key("limit"));
      json->EndObject();
    }
    json->EndArray().EndObject();
  }
  json->EndArray();
}

}  // namespace smdebug::cli::report
