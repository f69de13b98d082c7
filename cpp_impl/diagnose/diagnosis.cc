#include "diagnose/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace smdebug::diagnose {
namespace {

// The same numbers as in tests/rules/fit_causes.py.
constexpr double kHundredths = 100;
constexpr double kLeastChance = 0.1;
constexpr double kMostOdds = 12;  // logarithm
constexpr size_t kMostCauses = 3;

constexpr double kLeastSupport = 0.05;   // of a group, to be evidence
constexpr double kLeastRelevance = 0.5;  // of a rule without data, to be worth recording
constexpr size_t kMostMissing = 3;

bool Applies(const Row &row, const Group &group) {
  return row.rule == group.first.rule && row.check == group.first.check && group.Has(row.trait);
}

bool Applies(const Row &row, const Findings &findings) {
  if (row.rule.empty()) return findings.Has(row.trait);
  return std::any_of(findings.groups.begin(), findings.groups.end(),
                     [&](const Group &group) { return Applies(row, group); });
}

double WeightOf(const Row &row, size_t cause) { return row.weights[cause] / kHundredths; }

// Returns how much more a row speaks for a cause than for what else is likely.
double SupportOf(const Row &row, size_t cause, const Chances &chances) {
  double expected = 0;
  for (size_t i = 0; i < chances.size(); ++i) {
    if (i != cause) expected += chances[i] * WeightOf(row, i);
  }
  const double others = 1 - chances[cause];
  // With no other cause in sight, all others are equally likely.
  if (others < 1e-6) return WeightOf(row, cause);
  return WeightOf(row, cause) - expected / others;
}

std::vector<Group> EvidenceFor(size_t cause, const Findings &findings, const Chances &chances,
                               const Table &table) {
  std::vector<std::pair<double, const Group *>> ranked;
  for (const Group &group : findings.groups) {
    double support = 0;
    for (const Row &row : table.rows) {
      if (Applies(row, group)) support += SupportOf(row, cause, chances);
    }
    ranked.emplace_back(support, &group);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<Group> evidence;
  for (const auto &[support, group] : ranked) {
    if (support >= kLeastSupport) evidence.push_back(*group);
  }
  return evidence;
}

std::vector<std::string> MissingFor(size_t cause, const std::vector<rules::RuleResult> &results,
                                    const Table &table) {
  std::map<std::string_view, double> relevance;
  for (const Row &row : table.rows) {
    if (row.trait != Trait::kFound) continue;
    double &most = relevance[row.rule];
    most = std::max(most, std::abs(WeightOf(row, cause)));
  }
  std::vector<std::pair<double, std::string>> ranked;
  for (const rules::RuleResult &result : results) {
    const bool lacks_data = result.status == rules::RuleStatus::kNoTensors ||
                            result.status == rules::RuleStatus::kNotEnoughData;
    const auto known = relevance.find(result.rule);
    if (!lacks_data || known == relevance.end() || known->second < kLeastRelevance) continue;
    ranked.emplace_back(known->second, result.rule);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  if (ranked.size() > kMostMissing) ranked.resize(kMostMissing);
  std::vector<std::string> names;
  names.reserve(ranked.size());
  for (auto &[most, name] : ranked) names.push_back(std::move(name));
  return names;
}

}  // namespace

Chances ChancesOf(const Findings &findings, const Table &table) {
  Chances sums(table.causes.size() + 1);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = table.bias[i] / kHundredths;
  for (const Row &row : table.rows) {
    if (!Applies(row, findings)) continue;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += WeightOf(row, i);
  }
  const double largest = *std::max_element(sums.begin(), sums.end());
  double total = 0;
  for (double &each : sums) total += each = std::exp((each - largest) / table.temperature);
  for (double &each : sums) each /= total;
  return sums;
}

double ConfidenceOf(double chance, const Table &table) {
  const double odds = std::clamp(std::log(chance / (1 - chance)), -kMostOdds, kMostOdds);
  return 1 / (1 + std::exp(-table.slope * odds - table.offset));
}

std::vector<LikelyCause> Diagnose(const Findings &findings,
                                  const std::vector<rules::RuleResult> &results,
                                  const Table &table) {
  if (!findings.has_findings) return {};
  const Chances chances = ChancesOf(findings, table);
  std::vector<size_t> order;
  for (size_t i = 0; i < table.causes.size(); ++i) {
    if (chances[i] >= kLeastChance) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return chances[a] > chances[b]; });
  std::vector<LikelyCause> causes;
  for (const size_t i : order) {
    if (causes.size() == kMostCauses) break;
    std::vector<Group> evidence = EvidenceFor(i, findings, chances, table);
    if (evidence.empty()) continue;  // only how often such causes are speaks for it
    causes.push_back({table.causes[i], ConfidenceOf(chances[i], table), std::move(evidence),
                      MissingFor(i, results, table)});
  }
  return causes;
}

}  // namespace smdebug::diagnose
