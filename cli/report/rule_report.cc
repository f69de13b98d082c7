#include "rule_report.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "limits.h"
#include "progress.h"
#include "rule_list.h"

namespace smdebug::cli::report {
namespace {

// Returns all findings in the order of their steps.
std::vector<Finding> EvaluateAll(const Trial &trial, RuleSet *set, Problems *problems) {
  std::vector<Finding> findings;
  const std::vector<int64_t> steps = trial.Steps();
  Progress progress("Evaluating", steps.size());
  // Evaluates one step per call, so that an unreadable step is skipped.
  for (const int64_t step : steps) {
    problems->Try([&] {
      for (Finding &finding : set->Evaluate(trial, 0, EndAfter(step))) {
        findings.push_back(std::move(finding));
      }
    });
    progress.Advance();
  }
  return findings;
}

// What a rule with findings also found worth a look adds nothing.
void DropLooksBesideFindings(std::vector<Finding> *findings) {
  std::set<std::string> rules;
  for (const Finding &finding : *findings) {
    if (finding.level == Level::kFinding) rules.insert(finding.rule);
  }
  std::erase_if(*findings, [&](const Finding &finding) {
    return finding.level != Level::kFinding && rules.count(finding.rule) > 0;
  });
}

void Add(const Finding &finding, RuleReport *report) {
  auto &found = report->found;
  auto place = std::find_if(found.begin(), found.end(),
                            [&](const auto &each) { return each.rule == finding.rule; });
  if (place == found.end()) {
    found.push_back({finding.rule, report->summaries[finding.rule], {}, {}});
    place = found.end() - 1;
  }
  place->steps.push_back(finding.step);
  ++report->count_by_worker[finding.worker];
  report->steps_by_tensor[finding.tensor].insert(finding.step);
  if (place->findings.size() < kMostFindingsOfRule) place->findings.push_back(finding);
}

// Returns true if a rule checks symptoms, not the tensors that cause them.
bool FindsSymptoms(const std::string &rule) {
  constexpr std::array<std::string_view, 5> kSymptoms = {
      "LossNotDecreasing", "Overfit", "Overtraining", "StalledTrainingRule", "SimilarAcrossRuns"};
  return std::find(kSymptoms.begin(), kSymptoms.end(), rule) != kSymptoms.end();
}

// Sorts causes before symptoms, then by first step.  At equal steps FirstNonFinite precedes the
// others, since it names the first of several tensors.
bool ComesFirst(const RuleFindings &a, const RuleFindings &b) {
  const auto order = [](const RuleFindings &each) {
    return std::tuple(each.GetLevel(), FindsSymptoms(each.rule), each.steps.front(),
                      each.rule != "FirstNonFinite");
  };
  return order(a) < order(b);
}

// Returns `get` of each finding without repetitions, the first findings of all rules first.
template <class T, class Get>
std::vector<T> Collect(const std::vector<RuleFindings> &found, const Get &get) {
  std::vector<T> all;
  std::set<T> known;
  for (size_t i = 0; i < kMostFindingsOfRule; ++i) {
    for (const RuleFindings &rule : found) {
      if (i >= rule.findings.size()) continue;
      const T &each = get(rule.findings[i]);
      if (known.insert(each).second) all.push_back(each);
    }
  }
  return all;
}

}  // namespace

bool RuleReport::HasFinding(const std::string &tensor, int64_t step) const {
  const auto steps = steps_by_tensor.find(tensor);
  return steps != steps_by_tensor.end() && steps->second.count(step) > 0;
}

std::vector<std::string> RuleReport::CulpritTensors() const {
  auto tensors = Collect<std::string>(found, [](const auto &each) { return each.tensor; });
  std::erase(tensors, "");
  return tensors;
}

std::vector<int64_t> RuleReport::CulpritSteps() const {
  return Collect<int64_t>(found, [](const auto &each) { return each.step; });
}

size_t RuleReport::CountFindings() const {
  size_t count = 0;
  for (const RuleFindings &rule : found) {
    if (rule.GetLevel() == Level::kFinding) count += rule.steps.size();
  }
  return count;
}

size_t RuleReport::CountRules(Level level) const {
  const auto has_level = [level](const RuleFindings &each) { return each.GetLevel() == level; };
  return static_cast<size_t>(std::count_if(found.begin(), found.end(), has_level));
}

RuleReport EvaluateRules(const ReportRequest &request, Problems *problems) {
  RuleReport report;
  for (const RuleInfo &rule : BuiltinRules()) report.summaries[rule.name] = rule.summary;
  report.is_aws = request.profile == "aws";
  RuleSet set = MakeRuleSet(request.profile, request.rules, &report.skipped);
  std::vector<Finding> findings = EvaluateAll(request.trial, &set, problems);
  DropLooksBesideFindings(&findings);
  for (const Finding &finding : findings) Add(finding, &report);
  std::stable_sort(report.found.begin(), report.found.end(), ComesFirst);
  if (request.rules.empty()) report.causes = set.Diagnose();
  for (RuleResult &result : set.Results()) {
    if (!result.first) report.others.push_back(std::move(result));
  }
  return report;
}

}  // namespace smdebug::cli::report
