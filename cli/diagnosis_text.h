// Prints the likely causes of what rules have found.
#pragma once

#include <string>
#include <vector>

#include "json_writer.h"
#include "rules_text.h"
#include "saved.h"

namespace smdebug::cli {

// Returns, for example, "UpdateNotApplied (not updated) from step 12, fc1.weight and 2 tensors
// more".
std::string EvidenceText(const Evidence &evidence);

// Returns "likely cause", or "possible cause" if the confidence is below a half.
std::string LeadOf(const Cause &cause, bool begins_sentence);

// Returns "87 %".
std::string ConfidenceText(double confidence);

// Prints the causes as the last lines of an output; nothing if there are none.  Below each come the
// findings that `folded` holds; if it is NULL, where the evidence begins.
void PrintDiagnosis(const std::vector<Cause> &causes, FindingPrinter *folded);

// Writes the causes as an array.
void ToJson(const std::vector<Cause> &causes, JsonWriter *json);

}  // namespace smdebug::cli
