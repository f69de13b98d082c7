// The findings and results of rules, as HTML without scripts.
#pragma once

#include <string>

#include "json_writer.h"
#include "rule_report.h"

namespace smdebug::cli::report {

// Reports whether a rule had the tensors and the data that it needs.
bool WasEvaluated(const RuleReport &report);

// Returns a summary box with the culprit, or the statement that there is none.
std::string HeadlineHtml(const RuleReport &report);

// Returns the summary in a few words, for the title of the window.
std::string TitleText(const RuleReport &report);

// Returns each rule with findings, then `more` findings, then the other rules.
std::string RulesHtml(const RuleReport &report, const std::string &more);

// Writes the data that scripts draw.
void ToJson(const RuleReport &report, JsonWriter *json);

}  // namespace smdebug::cli::report
