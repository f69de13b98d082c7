// The profile of a trial's job: where the time of its steps goes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "problems.h"
#include "request.h"

namespace smdebug::cli::report {

struct ProfileReport {
  std::string name;  // the path as requested, or the name of the folder that was found
  std::vector<ProfilePhase> phases;
  std::vector<Finding> findings;  // those of a rule follow each other
  std::vector<RuleResult> results;
  std::string charts;  // JSON, see smd_profile_rules_charts()

  // Returns the number of rules with that status.
  size_t CountRules(RuleStatus status) const;
};

// Returns the profile inside or beside the folder of a trial: a folder "profiler" or
// "profiler-output" that holds "system" or "framework".  Returns "" if there is none, and for
// buckets.
std::string FindProfile(const std::string &trial_path);

// Evaluates a profile by the rules' defaults in `profile`, with those of `options` that name a
// server.  Adds what it could not read to `skipped`.  Fails as smdebug::ProfileRules::Evaluate().
ProfileReport EvaluateProfile(const std::string &path, const std::string &profile,
                              const std::map<std::string, std::string> &options,
                              std::vector<std::string> *skipped);

// Evaluates the requested profile, or the one that FindProfile() returns; nothing if there is none.
// A profile that was not requested and cannot be read is a problem.  Fails as
// smdebug::ProfileRules::Evaluate() for a requested one.
std::optional<ProfileReport> ReadProfile(const ReportRequest &request, Problems *problems);

}  // namespace smdebug::cli::report
