// Folds the findings and clues of a rule set: one entry for each rule, check and tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/finding.h"

namespace smdebug::rules {

// The findings, or the clues, of one check of a rule in one tensor.
struct Evidence {
  Finding first;
  int64_t count = 0;
  bool is_clue = false;
  bool is_sure = false;  // one of them is more than worth a look
};

// Keeps the first findings, in the order in which they came.  For one thread.
class EvidenceLog {
 public:
  void Note(const Finding &finding) { Note(finding, false); }
  // The checks of a rule's clues have other names than those of its findings.
  void NoteClue(const Finding &clue) { Note(clue, true); }
  const std::vector<Evidence> &All() const { return all_; }

 private:
  void Note(const Finding &finding, bool is_clue);

  std::vector<Evidence> all_;
  std::unordered_map<std::string, size_t> places_;  // keyed by rule, check and tensor
};

}  // namespace smdebug::rules
