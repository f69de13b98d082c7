#include "profile_html.h"

#include <algorithm>
#include <cstdio>

#include "html.h"
#include "limits.h"
#include "text.h"

namespace smdebug::cli::report {
namespace {

std::string Cell(const char *format, double number) {
  char text[64];
  (void)std::snprintf(text, sizeof(text), format, number);
  return std::string("<td class=\"number\">") + text + "</td>";
}

std::string CodeFact(std::string_view name, const std::string &text) {
  return Fact(name, text.empty() ? "" : "<code>" + Html(text) + "</code>");
}

std::string PhaseRow(const ProfilePhase &phase) {
  const bool is_beside = phase.kind == "overlap";
  return "<tr><th scope=\"row\">" + Html(phase.name) + (is_beside ? " (beside)" : "") + "</th>" +
         Cell("%.1f %%", phase.share * 100) + Cell("%.3f", phase.p50_us / 1e3) +
         Cell("%.3f", phase.p95_us / 1e3) + Cell("%.3f", phase.p99_us / 1e3) +
         Cell("%.3f", phase.max_us / 1e3) + "</tr>\n";
}

std::string WorkerTable(const ProfileReport &report, const std::string &worker) {
  std::string rows;
  size_t steps = 0;
  for (const ProfilePhase &phase : report.phases) {
    if (phase.worker != worker || phase.kind == "phase") continue;
    if (phase.kind == "step") steps = static_cast<size_t>(phase.count);
    rows += PhaseRow(phase);
  }
  if (rows.empty()) return "";
  return "<div class=\"card\"><h3>A step of " + Html(worker) + " <span class=\"count\">" +
         Count(steps, "step") +
         "</span></h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Parts "
         "of a step of " +
         Html(worker) +
         "\"><table class=\"phases\"><thead><tr><th>Part</th><th>Share</th><th>p50 ms</th>"
         "<th>p95 ms</th><th>p99 ms</th><th>Longest ms</th></tr></thead><tbody>\n" +
         rows + "</tbody></table></div></div>\n";
}

// Returns the workers with steps, in the order of the table.
std::vector<std::string> WorkersOf(const ProfileReport &report) {
  std::vector<std::string> workers;
  for (const ProfilePhase &phase : report.phases) {
    if (phase.kind == "step") workers.push_back(phase.worker);
  }
  return workers;
}

std::string FindingHtml(const Finding &finding) {
  return "<p class=\"message\">" + Html(finding.message) + "</p>\n<dl class=\"facts\">" +
         CodeFact("Culprit", finding.tensor) +
         Fact("Step", finding.step < 0 ? "" : std::to_string(finding.step)) +
         CodeFact("Node", finding.worker) + "</dl>\n";
}

using Findings = std::vector<Finding>::const_iterator;
std::string RuleHtml(Findings begin, Findings end, size_t number) {
  const auto count = static_cast<size_t>(end - begin);
  const auto shown = begin + static_cast<ptrdiff_t>(std::min(count, kMostFindingsOfRule));
  std::string others;
  for (auto each = begin + 1; each < shown; ++each) others += FindingHtml(*each);
  const std::string advice = Html(smd_profile_rule_advice(begin->rule.c_str()));
  return "<article class=\"card finding look\" id=\"profile-finding-" + std::to_string(number) +
         "\"><h3><span class=\"badge\">P" + std::to_string(number) + "</span> " +
         Html(begin->rule) + " <span class=\"count\">" + Count(count, "finding") +
         " of the profile</span></h3>\n" + FindingHtml(*begin) +
         (advice.empty() ? "" : "<p class=\"advice\"><b>What to do:</b> " + advice + "</p>\n") +
         (others.empty() ? ""
                         : "<details><summary>" +
                               Count(static_cast<size_t>(shown - begin) - 1, "further finding") +
                               "</summary>" + others + "</details>") +
         "</article>\n";
}

}  // namespace

std::string ProfileHeadlineHtml(const ProfileReport &report) {
  if (report.findings.empty()) return "";
  const Finding &first = report.findings.front();
  const std::string culprit =
      first.tensor.empty() ? "" : " in <code>" + Html(first.tensor) + "</code>";
  return BoxHtml("look", "!", "Where the time goes: " + Html(first.rule) + culprit,
                 Html(first.message),
                 Count(report.findings.size(), "finding") + " of " +
                     Count(report.results.size(), "rule") + " over the profile");
}

std::string ProfileFindingsHtml(const ProfileReport &report) {
  std::string html;
  size_t number = 0;
  for (auto begin = report.findings.begin(); begin != report.findings.end();) {
    const auto end = std::find_if(begin, report.findings.end(),
                                  [&](const Finding &each) { return each.rule != begin->rule; });
    html += RuleHtml(begin, end, ++number);
    begin = end;
  }
  return html;
}

std::string ProfileHtml(const ProfileReport &report) {
  const std::vector<std::string> workers = WorkersOf(report);
  const size_t shown = std::min(workers.size(), kMostWorkers);
  std::string html =
      "<p class=\"note\">Of the profile in <code>" + Html(report.name) +
      "</code>. A step lasts from its beginning to that of the next one. Its parts "
      "add up to it; what is beside them overlaps them. Of " +
      Count(report.results.size(), "rule") + " over the profile, " +
      std::to_string(report.CountRules(RuleStatus::kPassed)) + " found nothing, and " +
      std::to_string(report.CountRules(RuleStatus::kNotEnoughData)) + " had not enough data.</p>\n";
  for (size_t i = 0; i < shown; ++i) html += WorkerTable(report, workers[i]);
  if (shown < workers.size()) {
    html += "<p class=\"note\">Tables of " + Count(workers.size() - shown, "more worker") +
            " are not shown.</p>\n";
  }
  return html;
}

}  // namespace smdebug::cli::report
