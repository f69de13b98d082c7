#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "diagnosis_text.h"
#include "html.h"
#include "numbers.h"
#include "rule_advice.h"
#include "rules_html.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

// Returns a table with a column for each run.
std::string TableHtml(const char *label, const std::vector<ComparedRun> &runs,
                      const std::string &rows) {
  std::string heads;
  for (size_t i = 0; i < runs.size(); ++i) {
    heads += "<th scope=\"col\"><span class=\"run r" + std::to_string(i % 8) +
             "\" aria-hidden=\"true\"></span> " + Html(runs[i].name) + "</th>";
  }
  return std::string("<div class=\"card\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" ") +
         "aria-label=\"" + label + "\"><table class=\"runs\"><thead><tr><td></td>" + heads +
         "</tr></thead><tbody>\n" + rows + "</tbody></table></div></div>\n";
}

std::string RowHtml(const std::string &heading, const std::vector<std::string> &cells,
                    const char *kind = "") {
  std::string html = std::string("<tr") + kind + "><th scope=\"row\">" + heading + "</th>";
  for (const std::string &cell : cells) html += "<td>" + cell + "</td>";
  return html + "</tr>\n";
}

template <class CellOf>
std::vector<std::string> CellsOf(const std::vector<ComparedRun> &runs, const CellOf &cell_of) {
  std::vector<std::string> cells;
  cells.reserve(runs.size());
  for (const ComparedRun &run : runs) cells.push_back(cell_of(run));
  return cells;
}

std::string CauseHtml(const ComparedRun &run) {
  if (run.rules.causes.empty()) return "–";
  const Cause &cause = run.rules.causes.front();
  return "<b>" + Html(cause.title) + "</b> (" + ConfidenceText(cause.confidence) + ")";
}

// Returns the last value of the first loss, and its step.
std::string LastLossHtml(const ComparedRun &run) {
  for (const Chart &chart : run.curves.charts) {
    if (!chart.is_loss || chart.lines.empty()) continue;
    const Line &line = chart.lines.front();
    if (line.values.empty() || !line.values.back()) continue;
    const double last = *line.values.back();
    return (std::isnan(last) ? "NaN" : Html(Short(last))) + " <span class=\"count\">" +
           Html(line.tensor) + ", step " + std::to_string(line.steps.back()) + "</span>";
  }
  return "–";
}

std::string StateHtml(const ComparedRun &run) {
  return run.state + ", " + Count(run.inventory.steps.size(), "step");
}

const RuleFindings *FindingsOf(const ComparedRun &run, const std::string &rule) {
  const auto found = std::find_if(run.rules.found.begin(), run.rules.found.end(),
                                  [&](const RuleFindings &each) { return each.rule == rule; });
  return found == run.rules.found.end() ? nullptr : &*found;
}

// Returns the first finding of a rule in a run, or why there is none.
std::string FindingHtml(const ComparedRun &run, const std::string &rule) {
  if (const RuleFindings *const found = FindingsOf(run, rule)) {
    const Finding &first = found->findings.front();
    const bool is_finding = found->GetLevel() == Level::kFinding;
    const std::string where =
        first.tensor.empty() ? "" : " in <code>" + Html(first.tensor) + "</code>";
    return std::string("<span class=\"status ") + (is_finding ? "bad\">✕ " : "look\">! ") +
           "from step " + std::to_string(first.step) + "</span>" + where +
           ", <span class=\"count\">" +
           Count(found->steps.size(), is_finding ? "finding" : "time") + "</span>";
  }
  for (const RuleResult &result : run.rules.others) {
    if (result.rule != rule) continue;
    if (result.status == RuleStatus::kPassed) return "<span class=\"status good\">✓ passed</span>";
    if (result.status == RuleStatus::kNoTensors) return "no tensors";
    return "not enough data";
  }
  return "skipped";
}

// Returns the rules with findings in any run, those of most runs first.
std::vector<std::string> RulesOf(const std::vector<ComparedRun> &runs) {
  std::vector<std::string> rules;
  std::map<std::string, size_t> counts;
  for (const ComparedRun &run : runs) {
    for (const RuleFindings &each : run.rules.found) {
      if (counts[each.rule]++ == 0) rules.push_back(each.rule);
    }
  }
  std::stable_sort(rules.begin(), rules.end(), [&](const std::string &a, const std::string &b) {
    return counts[a] > counts[b];
  });
  return rules;
}

}  // namespace

std::string ComparisonHeadlineHtml(const std::vector<ComparedRun> &runs) {
  const auto bad = static_cast<size_t>(std::count_if(runs.begin(), runs.end(), [](const auto &run) {
    return run.rules.CountRules(Level::kFinding) > 0;
  }));
  std::string causes;
  for (const ComparedRun &run : runs) {
    if (run.rules.causes.empty()) continue;
    const Cause &cause = run.rules.causes.front();
    causes += "<li><b>" + Html(run.name) + "</b>: " + LeadOf(cause, false) + ": " +
              Html(cause.title) + " (" + ConfidenceText(cause.confidence) + "). " +
              Html(cause.advice) + "</li>";
  }
  const std::string heading =
      bad == 0 ? "No findings in " + Count(runs.size(), "run")
               : std::to_string(bad) + " of " + Count(runs.size(), "run") + " with findings";
  const bool was_evaluated = std::any_of(
      runs.begin(), runs.end(), [](const ComparedRun &run) { return WasEvaluated(run.rules); });
  if (!was_evaluated) return BoxHtml("idle", "–", "No rule could be evaluated", "", "");
  return BoxHtml(bad == 0 ? "good" : "bad", bad == 0 ? "✓" : "✕", heading, "",
                 causes.empty() ? "" : "<ul>" + causes + "</ul>");
}

std::string FindingsTableHtml(const std::vector<ComparedRun> &runs) {
  std::string rows = RowHtml("State", CellsOf(runs, StateHtml)) +
                     RowHtml("Last loss", CellsOf(runs, LastLossHtml)) +
                     RowHtml("Likely cause", CellsOf(runs, CauseHtml));
  for (const std::string &rule : RulesOf(runs)) {
    const std::string_view advice = AdviceFor(rule);
    const std::string heading =
        Html(rule) + (advice.empty() ? "" : "<p class=\"count\">" + Html(advice) + "</p>");
    rows += RowHtml(heading,
                    CellsOf(runs, [&](const ComparedRun &run) { return FindingHtml(run, rule); }));
  }
  return TableHtml("Findings of the runs", runs, rows);
}

std::string DifferencesHtml(const std::vector<ComparedRun> &runs) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> values;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const Setting &setting : runs[run].settings) {
      const auto [place, is_new] = values.try_emplace(setting.name, runs.size(), "–");
      if (is_new) names.push_back(setting.name);
      place->second[run] = setting.html;
    }
  }
  std::string rows;
  size_t equal = 0;
  for (const std::string &name : names) {
    const std::vector<std::string> &cells = values[name];
    const bool is_equal = std::equal(cells.begin() + 1, cells.end(), cells.begin());
    is_equal ? void(++equal) : void(rows += RowHtml("<code>" + Html(name) + "</code>", cells));
  }
  const std::string note =
      "<p class=\"note\">" +
      (equal > 0 ? Count(equal, "setting") + (equal == 1 ? " is" : " are") + " equal in all runs."
                 : "No setting is equal in all runs.") +
      "</p>\n";
  if (rows.empty()) return "<p class=\"note\">The configurations do not differ.</p>\n";
  return TableHtml("Differences of the configurations", runs, rows) + note;
}

}  // namespace smdebug::cli::report
