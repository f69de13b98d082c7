// Evaluates rules over a profile.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.h"
#include "base/log.h"
#include "base/result.h"
#include "profile_rules/profile_reader.h"
#include "profile_rules/profile_rule.h"
#include "profile_rules/summary.h"
#include "rules/finding.h"
#include "storage/store_options.h"

namespace smdebug::profile_rules {

// Which rules, and how.
struct JudgementOptions {
  rules::Profile profile = rules::kDefaultProfile;
  std::vector<std::string> rules;                              // none: all of the profile
  std::map<std::string, rules::Parameters::Given> parameters;  // by rule
  int64_t scan_interval = 60'000'000;                          // microseconds
  storage::StoreOptions store;
  Logger logger;

  // Takes "scan_interval_us", "rule", "s3_..." and "<Rule>_<parameter>".  Fails with
  // INVALID_ARGUMENT (unknown name) or INVALID_CONFIG (bad value).
  Status Set(std::string_view name, std::string_view value);
};

// For one thread at a time.
class Judgement {
 public:
  // Fails as the store does, with NOT_FOUND if there is no profile, and with INVALID_CONFIG for
  // bad parameters.
  static Result<std::unique_ptr<Judgement>> Open(std::string_view path,
                                                 const JudgementOptions &options);

  // Evaluates what was recorded between two times, both included, as one more scan.  Returns the
  // names of the rules that fired in it.  Fails as the store does.
  Result<std::vector<std::string>> ScanBetween(int64_t begin, int64_t end);
  // Evaluates the whole profile, window by window.  Reads each file once.
  void Run();
  // Evaluates `rule` as one that has observed everything so far; for rules over whole profiles.
  void Finish();

  // In the order of the rules.
  const std::vector<rules::Finding> &Findings() const { return findings_; }
  const std::vector<rules::RuleResult> &Results() const { return results_; }
  // Returns the original's report of a rule, as JSON.  Fails with INVALID_ARGUMENT if the rule was
  // not evaluated.
  Result<std::string> ReportOf(std::string_view rule);

  const Summary &GetSummary() const { return summary_; }
  const NameTable &Names() const { return *names_; }
  ProfileReader &Reader() { return reader_; }
  const ProcessMark &Mark() const { return mark_; }

 private:
  struct Entry {
    const ProfileRuleSpec *spec;
    std::unique_ptr<ProfileRule> rule;
    std::string parameters;  // as reports write them
  };

  Judgement(std::unique_ptr<NameTable> names, ProfileReader reader,
            const JudgementOptions &options);

  Status AddRules(const JudgementOptions &options);
  void Observe(const Events &events);
  std::vector<std::string> EndScan(int64_t begin);
  void Conclude();

  ProcessMark mark_;
  std::unique_ptr<NameTable> names_;
  ProfileReader reader_;
  const int64_t scan_interval_;
  std::vector<Entry> entries_;
  Summary summary_;
  std::vector<rules::Finding> findings_;
  std::vector<rules::RuleResult> results_;
};

}  // namespace smdebug::profile_rules
