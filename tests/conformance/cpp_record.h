// The first half of the scenario: recording.
#pragma once

#include <smdebug.hpp>
#include <string>
#include <vector>

#include "cpp_json.h"

smdebug::Mode ModeNamed(const std::string &name);

// Of intervals by mode; NULL has none.
smdebug::SaveConfig SaveConfigOf(const cJSON *every);

smdebug::RuleSet RuleSetOf(const cJSON *settings);
const char *NameOf(smdebug::Action action);
// Appends findings, or results, to a list.
void Append(const Json &list, const std::vector<smdebug::Finding> &findings);
void Append(const Json &list, const std::vector<smdebug::RuleResult> &results);

// Records the trial into `out_dir`; returns what the rules of each worker's hook reported.
Json Record(const cJSON *scenario, const std::string &out_dir);
