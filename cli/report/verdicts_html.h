// What the rules say, as HTML that needs no script.
#pragma once

#include <string>

#include "json_writer.h"
#include "judgement.h"

namespace smdebug::cli::report {

// The whole in one box: the culprit, or that there is none.
std::string HeadlineHtml(const Judgement &judgement);

// The same in a few words, for the title of a window.
std::string TitleText(const Judgement &judgement);

// Each rule with findings, then the others.
std::string VerdictsHtml(const Judgement &judgement);

// What scripts draw of it.
void ToJson(const Judgement &judgement, JsonWriter *json);

}  // namespace smdebug::cli::report
