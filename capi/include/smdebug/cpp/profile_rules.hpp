// Rules over profiles, see smdebug/profile_rules.h.
#ifndef SMDEBUG_CPP_PROFILE_RULES_HPP
#define SMDEBUG_CPP_PROFILE_RULES_HPP

#include <string>
#include <vector>

#include "smdebug/cpp/finding.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/types.hpp"
#include "smdebug/profile_rules.h"

namespace smdebug {

// A row of the table of phases.  smd_profile_phase.
struct ProfilePhase {
  std::string worker;
  std::string name;
  std::string kind;  // "step", "part", "overlap" or "phase"
  int64_t count = 0;
  double share = 0;
  double total_us = 0;
  double p50_us = 0;
  double p95_us = 0;
  double p99_us = 0;
  double max_us = 0;
};

// An evaluation of rules over one profile, for one thread at a time.
class ProfileRules {
 public:
  using Owner = detail::Handle<smd_profile_rules, smd_profile_rules_free>;

  // smd_profile_rules_new().
  explicit ProfileRules(const CString &path, const CString &profile = nullptr)
      : handle_(detail::Make<Owner>(smd_profile_rules_new, path.Get(), profile.Get())) {}

  // smd_profile_rules_set().
  ProfileRules &Set(const CString &name, const CString &value) {
    detail::Check(smd_profile_rules_set(Get(), name.Get(), value.Get()));
    return *this;
  }
  // smd_profile_rules_evaluate().
  void Evaluate() { detail::Check(smd_profile_rules_evaluate(Get())); }

  // smd_profile_rules_findings().
  std::vector<Finding> Findings() const {
    return detail::MakeVector<detail::FindingList>(smd_profile_rules_findings, Get());
  }
  // smd_profile_rules_results().
  std::vector<RuleResult> Results() const {
    return detail::MakeVector<detail::RuleResultList>(smd_profile_rules_results, Get());
  }
  // smd_profile_rules_report().
  std::string Report(const CString &rule) {
    return detail::MakeString(smd_profile_rules_report, Get(), rule.Get());
  }
  // smd_profile_rules_charts().
  std::string Charts() { return detail::MakeString(smd_profile_rules_charts, Get()); }
  // smd_profile_rules_write_timeline().
  void WriteTimeline(const CString &out_path) {
    detail::Check(smd_profile_rules_write_timeline(Get(), out_path.Get()));
  }

  // smd_profile_phase_get().
  std::vector<ProfilePhase> Phases() const {
    std::vector<ProfilePhase> phases;
    for (size_t i = 0; i < smd_profile_phase_count(Get()); ++i) {
      const smd_profile_phase &from = *smd_profile_phase_get(Get(), i);
      phases.push_back({from.worker, from.name, from.kind, from.count, from.share, from.total_us,
                        from.p50_us, from.p95_us, from.p99_us, from.max_us});
    }
    return phases;
  }

  smd_profile_rules *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_PROFILE_RULES_HPP
