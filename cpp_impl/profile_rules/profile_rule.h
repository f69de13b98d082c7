// The interface of a rule over profiles.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile_rules/json_tree.h"
#include "profile_rules/name_table.h"
#include "profile_rules/span.h"
#include "rules/finding.h"
#include "rules/support/parameters.h"

namespace smdebug::profile_rules {

class Summary;

// A file of the original's ProfilerReport.
struct RuleReport {
  int64_t triggered = 0;
  int64_t violations = 0;
  int64_t datapoints = 0;
  Json details = Json::Object();
};

// A range of time that is evaluated at once, in microseconds.
struct Scan {
  int64_t begin = 0;
  int64_t first_time = 0;  // of the profile
};

// Observes the samples and spans of one profile.  For one thread at a time.
class ProfileRule {
 public:
  virtual ~ProfileRule() = default;

  virtual void Observe(const Sample &sample) { (void)sample; }
  virtual void Observe(const Span &span) { (void)span; }
  // Returns true if what the scan showed, with what was observed before, is a finding.
  virtual bool EndScan(const Scan &scan) {
    (void)scan;
    return false;
  }
  // Evaluates the whole profile.
  virtual void Finish(const Summary &summary) { (void)summary; }

  // Brings Report() up to date.
  virtual void WriteReport() {}
  const RuleReport &Report() const { return report_; }

  // Reports whether there was enough to evaluate; if not, Missing() says what the rule needs.
  bool HasEvaluated() const { return has_evaluated_; }
  virtual std::string_view Missing() const { return "more data"; }
  std::vector<rules::Finding> &Findings() { return findings_; }

 protected:
  RuleReport &MutableReport() { return report_; }
  void NoteEvaluated() { has_evaluated_ = true; }

 private:
  RuleReport report_;
  bool has_evaluated_ = false;
  std::vector<rules::Finding> findings_;
};

// Describes a rule, as rules::RuleSpec does those over tensors.
struct ProfileRuleSpec {
  using Make = Result<std::unique_ptr<ProfileRule>> (*)(const rules::Parameters &parameters,
                                                        const NameTable *names);

  std::string_view name;
  std::string_view summary;  // when the rule reports a finding, in one sentence
  std::string_view advice;   // what to do then
  std::span<const rules::ParameterSpec> parameters;
  Make aws;  // NULL: not a rule of the original
  Make calibrated;
};

}  // namespace smdebug::profile_rules
