// Records the scenario.
#pragma once

#include <smdebug.hpp>
#include <string>
#include <vector>

#include "cpp_json.h"

smdebug::Mode ModeNamed(const std::string &name);

// Creates a save config from intervals by mode.  Returns nothing for NULL.
smdebug::SaveConfig SaveConfigOf(const cJSON *every);

smdebug::RuleSet RuleSetOf(const cJSON *settings);
const char *NameOf(smdebug::Action action);
// Appends findings, results or causes to a list.
void Append(const Json &list, const std::vector<smdebug::Finding> &findings);
void Append(const Json &list, const std::vector<smdebug::RuleResult> &results);
void Append(const Json &list, const std::vector<smdebug::Cause> &causes);

// Records the trial into `out_dir`; returns what the rules of each worker's hook reported.
Json Record(const cJSON *scenario, const std::string &out_dir);
