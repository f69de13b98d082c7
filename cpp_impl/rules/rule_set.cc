#include "rules/rule_set.h"

#include "base/strings.h"

namespace smdebug::rules {

Status RuleSet::CanStillChange(std::string_view what) const {
  if (!is_in_use_ && last_step_ < 0) return Status::Ok();
  return WrongState(
      StrCat("the rule set is attached or has begun to evaluate; ", what, " before that"));
}

RuleSet::Summary RuleSet::SummaryOf(const Rule &rule) {
  Summary summary;
  summary.rule = rule.Name();
  summary.needs_tensors = !rule.NeedsTimes() && !rule.ReadsSource();
  summary.missing = rule.Missing();
  return summary;
}

Status RuleSet::Add(const RuleFactory &make, Action action) {
  std::unique_ptr<Rule> rule = make();
  const MutexLock lock(mutex_);
  SMD_RETURN_IF_ERROR(CanStillChange("add rules"));
  summaries_.reserve(summaries_.size() + 1);
  Summary summary = SummaryOf(*rule);
  entries_.push_back({make, std::move(rule), action});
  summaries_.push_back(std::move(summary));
  names_.clear();
  return Status::Ok();
}

Status RuleSet::AddMissing(const std::vector<RuleFactory> &makes, Action action) {
  std::vector<std::unique_ptr<Rule>> rules;
  rules.reserve(makes.size());
  for (const RuleFactory &make : makes) rules.push_back(make());
  const MutexLock lock(mutex_);
  SMD_RETURN_IF_ERROR(CanStillChange("add rules"));
  entries_.reserve(entries_.size() + makes.size());
  summaries_.reserve(entries_.size() + makes.size());
  const size_t held = entries_.size();
  for (size_t i = 0; i < makes.size(); ++i) {
    bool is_held = false;
    for (size_t j = 0; j < held; ++j) {
      if (summaries_[j].rule != rules[i]->Name()) continue;
      is_held = true;
      entries_[j].action = std::max(entries_[j].action, action);
    }
    if (is_held) continue;
    summaries_.push_back(SummaryOf(*rules[i]));
    entries_.push_back({makes[i], std::move(rules[i]), action});
  }
  names_.clear();
  return Status::Ok();
}

Status RuleSet::SetSaveConfig(config::SaveConfig saves) {
  const MutexLock lock(mutex_);
  SMD_RETURN_IF_ERROR(CanStillChange("set its save config"));
  saves_ = std::move(saves);
  return Status::Ok();
}

Status RuleSet::Reset() {
  const MutexLock lock(mutex_);
  if (is_in_use_) {
    return WrongState("the rule set is being evaluated or attached to a hook; it cannot be reset");
  }
  std::vector<Entry> entries;
  std::vector<Summary> summaries;
  for (const Entry &entry : entries_) {
    entries.push_back({entry.make, entry.make(), entry.action});
    summaries.push_back(SummaryOf(*entries.back().rule));
  }
  entries_ = std::move(entries);
  summaries_ = std::move(summaries);
  evidence_ = EvidenceLog();
  names_.clear();
  job_.reset();
  last_step_ = -1;
  last_place_ = {-1, Mode::kGlobal, -1};
  ended_at_ = -1;
  return Status::Ok();
}

void RuleSet::Summary::Count(const Finding &finding) {
  if (finding.level == Level::kFinding) {
    if (findings++ == 0) first = finding;
  } else if (looks++ == 0 && findings == 0) {
    first = finding;
  }
}

RuleResult RuleSet::ResultOf(const Summary &summary) {
  RuleResult result;
  result.rule = summary.rule;
  result.finding_count = summary.findings;
  result.look_count = summary.looks;
  if (summary.findings > 0) {
    result.status = RuleStatus::kHasFindings;
    result.first = summary.first;
    result.message =
        StrCat(summary.findings,
               summary.findings == 1 ? " finding: " : " findings, first: ", summary.first.message);
  } else if (summary.looks > 0) {
    result.status = RuleStatus::kWorthALook;
    result.first = summary.first;
    result.message = summary.looks == 1 ? StrCat("worth a look: ", summary.first.message)
                                        : StrCat("worth a look ", summary.looks,
                                                 " times, first: ", summary.first.message);
  } else if (!summary.has_seen_tensor && summary.needs_tensors) {
    result.status = RuleStatus::kNoTensors;
    result.message = "no matching tensors";
  } else if (!summary.has_evaluated) {
    result.status = RuleStatus::kNotEnoughData;
    result.message = StrCat("not enough data: the rule needs ", summary.missing);
  } else {
    result.message = "nothing found";
  }
  return result;
}

std::vector<RuleResult> RuleSet::Results() const {
  std::vector<RuleResult> results;
  const MutexLock lock(mutex_);
  results.reserve(summaries_.size());
  for (const Summary &summary : summaries_) results.push_back(ResultOf(summary));
  return results;
}

std::vector<Evidence> RuleSet::FoldedFindings() const {
  const MutexLock lock(mutex_);
  return evidence_.All();
}

}  // namespace smdebug::rules
