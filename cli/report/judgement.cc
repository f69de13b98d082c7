#include "judgement.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "limits.h"
#include "progress.h"

namespace smdebug::cli::report {
namespace {

// All findings of a run, in the order of their steps.
std::vector<Verdict> RunAll(const Trial &trial, Panel *panel, Problems *problems) {
  std::vector<Verdict> findings;
  const std::vector<int64_t> steps = trial.Steps();
  Progress progress("Judging", steps.size());
  // One step a call: one that cannot be read is passed over.
  for (const int64_t step : steps) {
    problems->Try([&] {
      for (Verdict &finding : panel->Run(trial, 0, step + 1)) {
        findings.push_back(std::move(finding));
      }
    });
    progress.Advance();
  }
  return findings;
}

void Add(const Verdict &finding, Judgement *judgement) {
  auto &found = judgement->found;
  auto place = std::find_if(found.begin(), found.end(),
                            [&](const auto &each) { return each.rule == finding.rule; });
  if (place == found.end()) {
    found.push_back({finding.rule, judgement->summaries[finding.rule], {}, {}});
    place = found.end() - 1;
  }
  place->steps.push_back(finding.step);
  ++judgement->count_by_worker[finding.worker];
  judgement->steps_by_tensor[finding.tensor].insert(finding.step);
  if (place->findings.size() < kMostFindingsOfRule) place->findings.push_back(finding);
}

// Whether a rule judges what comes of faults, not the tensors that have them.
bool FindsSymptoms(const std::string &rule) {
  constexpr std::array<std::string_view, 5> kSymptoms = {
      "LossNotDecreasing", "Overfit", "Overtraining", "StalledTrainingRule", "SimilarAcrossRuns"};
  return std::find(kSymptoms.begin(), kSymptoms.end(), rule) != kSymptoms.end();
}

// Of two rules at the same step, the one that names the first of several tensors comes first.
bool ComesFirst(const RuleFindings &a, const RuleFindings &b) {
  const auto order = [](const RuleFindings &each) {
    return std::tuple(FindsSymptoms(each.rule), each.steps.front(), each.rule != "FirstNonFinite");
  };
  return order(a) < order(b);
}

// What `get` gives of each finding, without repetitions: the first findings of all rules first.
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

bool Judgement::HasFinding(const std::string &tensor, int64_t step) const {
  const auto steps = steps_by_tensor.find(tensor);
  return steps != steps_by_tensor.end() && steps->second.count(step) > 0;
}

std::vector<std::string> Judgement::CulpritTensors() const {
  auto tensors = Collect<std::string>(found, [](const auto &each) { return each.tensor; });
  std::erase(tensors, "");
  return tensors;
}

std::vector<int64_t> Judgement::CulpritSteps() const {
  return Collect<int64_t>(found, [](const auto &each) { return each.step; });
}

size_t Judgement::CountFindings() const {
  size_t count = 0;
  for (const RuleFindings &rule : found) count += rule.steps.size();
  return count;
}

Judgement Judge(const ReportRequest &request, Problems *problems) {
  Judgement judgement;
  for (const RuleInfo &rule : BuiltinRules()) judgement.summaries[rule.name] = rule.summary;
  Panel panel(request.profile == "calibrated" ? Profile::kCalibrated : Profile::kAws);
  judgement.unasked = AddRules(request.rules, &panel);
  for (const Verdict &finding : RunAll(request.trial, &panel, problems)) {
    Add(finding, &judgement);
  }
  std::stable_sort(judgement.found.begin(), judgement.found.end(), ComesFirst);
  for (Verdict &outcome : panel.Outcomes()) {
    if (outcome.status != VerdictStatus::kFinding) judgement.outcomes.push_back(std::move(outcome));
  }
  return judgement;
}

}  // namespace smdebug::cli::report
