#include "rules/evidence.h"

#include "base/strings.h"

namespace smdebug::rules {
namespace {

// Limits the memory of a job whose tensors have a new name at every step.
constexpr size_t kMostEntries = 4096;

std::string KeyOf(const Finding &finding) {
  // Names come from callers and may contain anything, hence the lengths.
  return StrCat(finding.rule.size(), ":", finding.rule, finding.check.size(), ":", finding.check,
                finding.tensor);
}

}  // namespace

void EvidenceLog::Note(const Finding &finding, bool is_clue) {
  const bool is_sure = !is_clue && finding.level == Level::kFinding;
  std::string key = KeyOf(finding);
  if (const auto known = places_.find(key); known != places_.end()) {
    Evidence &evidence = all_[known->second];
    ++evidence.count;
    evidence.is_sure = evidence.is_sure || is_sure;
    return;
  }
  if (all_.size() >= kMostEntries) return;
  all_.push_back({finding, 1, is_clue, is_sure});
  places_.emplace(std::move(key), all_.size() - 1);
}

}  // namespace smdebug::rules
