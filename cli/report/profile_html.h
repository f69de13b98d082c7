// The profile of a trial's job, as HTML without scripts.
#pragma once

#include <string>

#include "profile_report.h"

namespace smdebug::cli::report {

// Returns a box with the first finding; "" without findings.
std::string ProfileHeadlineHtml(const ProfileReport &report);

// Returns each rule with findings.
std::string ProfileFindingsHtml(const ProfileReport &report);

// Returns what was evaluated, and a table of the parts of a step for each worker.
std::string ProfileHtml(const ProfileReport &report);

}  // namespace smdebug::cli::report
